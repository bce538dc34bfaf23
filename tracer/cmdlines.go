package tracer

import (
	"fmt"
	"slices"
	"strconv"

	"ftracelab/workload/machine"
)

// cmdlines remembers the names of tasks that were traced, as saved_cmdlines
// shows them. A record holds only a pid; its name is looked up when it is
// printed.
//
// Departure: the kernel keeps the latest 6552 pids (a page of names) and
// forgets the older; the emulation keeps all.
//
// Kernel: trace_save_cmdline, kernel/trace/trace_sched_switch.c.
type cmdlines struct {
	comms map[int32]string
	tgids map[int32]int32
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
	if ft.top.opts.Has(OptRecordCmd) {
		ft.cmdlines.setComm(int32(t.PID), t.Comm)
	}
	if ft.recordTGID {
		ft.cmdlines.setTGID(int32(t.PID), int32(t.TGID))
	}
}

func (s *cmdlines) setComm(pid int32, comm string) {
	if s.comms[pid] == comm {
		return
	}
	if s.comms == nil {
		s.comms = map[int32]string{}
	}
	s.comms[pid] = comm
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
	if pid == 0 {
		return "<idle>"
	}
	if comm, ok := s.comms[pid]; ok {
		return comm
	}
	return "<...>"
}

// show is the text of saved_cmdlines.
func (s *cmdlines) show() string {
	pids := make([]int32, 0, len(s.comms))
	for pid := range s.comms {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	var text []byte
	for _, pid := range pids {
		text = strconv.AppendInt(text, int64(pid), 10)
		text = fmt.Appendf(text, " %s\n", s.comms[pid])
	}
	return string(text)
}
