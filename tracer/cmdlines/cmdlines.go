// Package cmdlines remembers the names and thread groups of tasks that were traced, which
// no record holds: saved_cmdlines and saved_tgids.
//
// Kernel: kernel/trace/trace_sched_switch.c.
package cmdlines

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"syscall"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
)

// Cmdlines remembers the names of the tasks that were traced latest, as
// saved_cmdlines shows them. A record holds only a pid; its name is looked up
// when it is printed.
//
// Kernel: struct saved_cmdlines_buffer, kernel/trace/trace_sched_switch.c.
type Cmdlines struct {
	slots [pidSlots]int32 // by the low bits of the pid: 1 + where its name is; 0: nowhere
	pids  []int32         // -1: no task
	comms []string
	last  int // the place given out last

	tgids map[int32]int32

	// Names and TGIDs say whether Remember keeps them: options/record-cmd, and whether an
	// instance has options/record-tgid.
	Names, TGIDs bool
	recorded     []bool // by CPU: something was, since its last switch
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

// New makes room for the usual number of names, on a machine with so many CPUs.
func New(cpus int) *Cmdlines {
	s := withRoom(defaultCmdlines)
	s.recorded = make([]bool, cpus)
	return s
}

// withRoom makes room for at least n names.
func withRoom(n int) *Cmdlines {
	pages := pageSize
	for pages < cmdlinesHeader+n*cmdlineSize {
		pages *= 2
	}
	n = (pages - cmdlinesHeader) / cmdlineSize
	s := &Cmdlines{pids: make([]int32, n), comms: make([]string, n)}
	for at := range s.pids {
		s.pids[at] = -1
	}
	return s
}

// Remember keeps the name and the thread group of t, as far as they are asked for. The idle
// task needs no entry: it is known.
//
// Kernel: tracing_record_taskinfo, kernel/trace/trace_sched_switch.c.
func (s *Cmdlines) Remember(t *machine.Task) {
	if t.PID == 0 {
		return
	}
	if s.Names {
		s.SetComm(int32(t.PID), t.Comm)
	}
	if s.TGIDs {
		s.setTGID(int32(t.PID), int32(t.TGID))
	}
}

// Recorded is Remember for the current task of a CPU on which something was recorded.
func (s *Cmdlines) Recorded(c *machine.CPU) {
	s.recorded[c.ID] = true
	s.Remember(c.Current)
}

// Switch keeps the names of the tasks of a switch if something was recorded on the CPU
// since the last one. So they stay the same while nothing is recorded: trace-cmd reads
// them twice.
//
// Kernel: tracing_record_taskinfo_sched_switch, kernel/trace/trace_sched_switch.c, and
// trace_taskinfo_save, kernel/trace/trace.c.
func (s *Cmdlines) Switch(c *machine.CPU, prev, next *machine.Task) {
	if !s.recorded[c.ID] {
		return
	}
	s.recorded[c.ID] = false
	s.Remember(prev)
	s.Remember(next)
}

// SetComm keeps a name in the place of its pid, or in the next one.
//
// Kernel: trace_save_cmdline, kernel/trace/trace_sched_switch.c.
func (s *Cmdlines) SetComm(pid int32, comm string) {
	slot := &s.slots[pid&(pidSlots-1)]
	if *slot == 0 {
		s.last = (s.last + 1) % len(s.pids)
		*slot = int32(1 + s.last)
	}
	s.pids[*slot-1], s.comms[*slot-1] = pid, comm
}

func (s *Cmdlines) setTGID(pid, tgid int32) {
	if s.tgids[pid] == tgid {
		return
	}
	if s.tgids == nil {
		s.tgids = map[int32]int32{}
	}
	s.tgids[pid] = tgid
}

// TGID returns the thread group recorded for pid, 0 if none was.
//
// Kernel: trace_find_tgid, kernel/trace/trace_sched_switch.c.
func (s *Cmdlines) TGID(pid int32) int32 { return s.tgids[pid] }

// Comm returns the name recorded for pid, "<...>" if none was.
//
// Kernel: trace_find_cmdline, kernel/trace/trace_sched_switch.c.
func (s *Cmdlines) Comm(pid int32) string {
	switch {
	case pid == 0:
		return "<idle>"
	case pid < 0:
		return "<XXX>"
	}
	if at := s.slots[pid&(pidSlots-1)] - 1; at >= 0 && s.pids[at] == pid {
		return s.comms[at]
	}
	return "<...>"
}

// show is the text of saved_cmdlines.
//
// Kernel: saved_cmdlines_show, kernel/trace/trace_sched_switch.c.
func (s *Cmdlines) show() string {
	var text []byte
	for _, pid := range s.pids {
		if pid != -1 {
			text = strconv.AppendInt(text, int64(pid), 10)
			text = fmt.Appendf(text, " %s\n", s.Comm(pid))
		}
	}
	return string(text)
}

// showTGIDs is the text of saved_tgids.
//
// Kernel: saved_tgids_show, kernel/trace/trace_sched_switch.c.
func (s *Cmdlines) showTGIDs() ([]byte, error) {
	var text []byte
	for _, pid := range slices.Sorted(maps.Keys(s.tgids)) {
		text = fmt.Appendf(text, "%d %d\n", pid, s.tgids[pid])
	}
	return text, nil
}

// Host makes files under tracing's lock.
type Host interface {
	Value(name string, mode fs.FileMode, show func() string, store func(string) error) tracefile.Node
	Seq(name string, mode fs.FileMode, show func() ([]byte, error)) *tracefile.File
}

// Files are the files of the saved names.
func (s *Cmdlines) Files(h Host) []tracefile.Node {
	return []tracefile.Node{
		h.Seq("saved_cmdlines", 0o440, func() ([]byte, error) { return []byte(s.show()), nil }),
		h.Value("saved_cmdlines_size", 0o640, func() string { return strconv.Itoa(len(s.pids)) + "\n" }, s.resize),
		h.Seq("saved_tgids", 0o440, s.showTGIDs),
	}
}

// resize is a write to saved_cmdlines_size. The names are forgotten.
//
// Kernel: tracing_saved_cmdlines_size_write,
// kernel/trace/trace_sched_switch.c.
func (s *Cmdlines) resize(text string) error {
	n, err := tracefile.ParseUserUlong(text, 10)
	if err != nil {
		return fmt.Errorf("saved_cmdlines_size: %w", err)
	}
	if n == 0 || n > pidSlots {
		return fmt.Errorf("saved_cmdlines_size %d: want 1 to %d: %w", n, pidSlots, syscall.EINVAL)
	}
	fresh := withRoom(int(n))
	s.slots, s.pids, s.comms, s.last = fresh.slots, fresh.pids, fresh.comms, 0
	return nil
}
