package bridge

import (
	"os"
	"sync"
	"time"

	"ftracelab/tracefsfs/fusefs"
	"ftracelab/workload"
)

// states are what threads were doing when they were last looked at.
type states struct {
	mu  sync.Mutex
	was map[int]state // by the host's number
}

type state struct {
	workload.GuestState
	since time.Time
}

// longTime is how long a thread has to be in a call that does not exist to wait before it is
// taken to wait there: it may be in the middle of it, or be about to be told of.
const longTime = 20 * time.Millisecond

// maxStates bounds how many threads are remembered.
const maxStates = 1000

// state is workload.Guests.State.
//
// Kernel: proc_pid_syscall, fs/proc/base.c.
func (b *Bridge) state(guest int) (now workload.GuestState, known bool) {
	host := b.pids.hostOf(guest)
	switch host {
	case 0:
		return now, false
	case int(b.telling.Load()): // it waits only for being told of
		return now, true
	}
	text, err := os.ReadFile(proc(host, "syscall"))
	if err != nil {
		return now, false
	}
	nr, args, waits := fusefs.ParseSyscall(string(text))
	if !waits { // "running", or -1: it is stopped, ends, or waits for memory
		return now, string(text) == "running\n"
	}
	now = workload.GuestState{Waits: true, NR: nr, Args: args}
	if !workload.GuestWaits(nr) {
		now.Waits = b.states.long(host, now, time.Now())
	}
	return now, true
}

// long reports whether a thread has been in the same call for a long time.
func (s *states) long(host int, now workload.GuestState, at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, ok := s.was[host]
	if ok && was.GuestState == now {
		return at.Sub(was.since) >= longTime
	}
	if s.was == nil || len(s.was) >= maxStates {
		s.was = map[int]state{}
	}
	s.was[host] = state{now, at}
	return false
}
