package tracer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/option"
	"ftracelab/workload/machine"
)

// cmdlines remembers the names of the tasks that were traced latest, as
// saved_cmdlines shows them. A record holds only a pid; its name is looked up
// when it is printed.
//
// Kernel: struct saved_cmdlines_buffer, kernel/trace/trace_sched_switch.c.
type cmdlines struct {
	slots [pidSlots]int32 // by the low bits of the pid: where its name is; -1: nowhere
	pids  []int32         // -1: no task
	comms []string
	last  int // the place given out last

	tgids map[int32]int32
}

// pidSlots is how many pids are told apart when they are looked up.
//
// Kernel: PID_MAX_DEFAULT, include/linux/threads.h.
const pidSlots = 0x8000

// Sizes that decide how many names there is room for: the kernel takes as many
// as fill the pages it needs anyway.
//
// Kernel: allocate_cmdlines_buffer, kernel/trace/trace_sched_switch.c.
const (
	defaultCmdlines = 128
	cmdlinesHeader  = 131096 // sizeof(struct saved_cmdlines_buffer)
	cmdlineSize     = 16 + 4 // a name and a pid
	pageSize        = 4096
)

// newCmdlines makes room for at least n names.
func newCmdlines(n int) *cmdlines {
	pages := pageSize
	for pages < cmdlinesHeader+n*cmdlineSize {
		pages *= 2
	}
	n = (pages - cmdlinesHeader) / cmdlineSize
	s := &cmdlines{pids: make([]int32, n), comms: make([]string, n)}
	for slot := range s.slots {
		s.slots[slot] = -1
	}
	for at := range s.pids {
		s.pids[at] = -1
	}
	return s
}

// remember keeps the name of t for as long as options/record-cmd is on, and its
// thread group while an instance has options/record-tgid. The idle task needs no
// entry: it is known.
//
// Kernel: tracing_record_taskinfo, kernel/trace/trace_sched_switch.c.
func (ft *Ftrace) remember(t *machine.Task) {
	if t.PID == 0 {
		return
	}
	if ft.top.opts.Has(option.RecordCmd) {
		ft.cmdlines.setComm(int32(t.PID), t.Comm)
	}
	if ft.recordTGID {
		ft.cmdlines.setTGID(int32(t.PID), int32(t.TGID))
	}
}

// rememberSwitch keeps the names of the tasks of a switch if something was recorded on
// the CPU since the last one. So they stay the same while nothing is recorded: trace-cmd
// reads them twice.
//
// Kernel: tracing_record_taskinfo_sched_switch, kernel/trace/trace_sched_switch.c, and
// trace_taskinfo_save, kernel/trace/trace.c.
func (ft *Ftrace) rememberSwitch(c *machine.CPU, prev, next *machine.Task) {
	if !ft.recorded[c.ID] {
		return
	}
	ft.recorded[c.ID] = false
	ft.remember(prev)
	ft.remember(next)
}

// setComm keeps a name in the place of its pid, or in the next one.
//
// Kernel: trace_save_cmdline, kernel/trace/trace_sched_switch.c.
func (s *cmdlines) setComm(pid int32, comm string) {
	slot := &s.slots[pid&(pidSlots-1)]
	if *slot < 0 {
		s.last = (s.last + 1) % len(s.pids)
		*slot = int32(s.last)
	}
	s.pids[*slot], s.comms[*slot] = pid, comm
}

func (s *cmdlines) setTGID(pid, tgid int32) {
	if s.tgids[pid] == tgid {
		return
	}
	if s.tgids == nil {
		s.tgids = map[int32]int32{}
	}
	s.tgids[pid] = tgid
}

// tgid returns the thread group recorded for pid, 0 if none was.
//
// Kernel: trace_find_tgid, kernel/trace/trace_sched_switch.c.
func (s *cmdlines) tgid(pid int32) int32 { return s.tgids[pid] }

// comm returns the name recorded for pid, "<...>" if none was.
//
// Kernel: trace_find_cmdline, kernel/trace/trace_sched_switch.c.
func (s *cmdlines) comm(pid int32) string {
	switch {
	case pid == 0:
		return "<idle>"
	case pid < 0:
		return "<XXX>"
	}
	if at := s.slots[pid&(pidSlots-1)]; at >= 0 && s.pids[at] == pid {
		return s.comms[at]
	}
	return "<...>"
}

// show is the text of saved_cmdlines.
//
// Kernel: saved_cmdlines_show, kernel/trace/trace_sched_switch.c.
func (s *cmdlines) show() string {
	var text []byte
	for _, pid := range s.pids {
		if pid != -1 {
			text = strconv.AppendInt(text, int64(pid), 10)
			text = fmt.Appendf(text, " %s\n", s.comm(pid))
		}
	}
	return string(text)
}

// showTGIDs is the text of saved_tgids.
//
// Kernel: saved_tgids_show, kernel/trace/trace_sched_switch.c.
func (s *cmdlines) showTGIDs() ([]byte, error) {
	var text []byte
	for _, pid := range slices.Sorted(maps.Keys(s.tgids)) {
		text = fmt.Appendf(text, "%d %d\n", pid, s.tgids[pid])
	}
	return text, nil
}

// cmdlineFiles are the files of the saved names.
func (ft *Ftrace) cmdlineFiles() []tracefile.Node {
	tr := ft.top
	return []tracefile.Node{
		tr.seq("saved_cmdlines", 0o440, func() ([]byte, error) { return []byte(ft.cmdlines.show()), nil }),
		tr.value("saved_cmdlines_size", 0o640, func() string { return strconv.Itoa(len(ft.cmdlines.pids)) + "\n" }, ft.resizeCmdlines),
		tr.seq("saved_tgids", 0o440, func() ([]byte, error) { return ft.cmdlines.showTGIDs() }),
	}
}

// resizeCmdlines is a write to saved_cmdlines_size. The names are forgotten.
//
// Kernel: tracing_saved_cmdlines_size_write,
// kernel/trace/trace_sched_switch.c.
func (ft *Ftrace) resizeCmdlines(s string) error {
	n, err := tracefile.ParseUserUlong(s, 10)
	if err != nil {
		return fmt.Errorf("saved_cmdlines_size: %w", err)
	}
	if n == 0 || n > pidSlots {
		return fmt.Errorf("saved_cmdlines_size %d: want 1 to %d: %w", n, pidSlots, syscall.EINVAL)
	}
	tgids := ft.cmdlines.tgids
	*ft.cmdlines = *newCmdlines(int(n))
	ft.cmdlines.tgids = tgids
	return nil
}
