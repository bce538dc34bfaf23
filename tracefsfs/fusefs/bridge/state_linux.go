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
	mu    sync.Mutex
	was   map[int]state  // by the host's number
	looks map[int]*aLook // whose findings nobody has been told yet
}

// aLook is what a look at a thread has found once it is done.
type aLook struct {
	now         workload.GuestState
	known, done bool
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

// state is workload.Guests.State. It does not wait, because a process cannot be looked at while
// it executes a program, and may then itself wait for this server. It begins a look, and tells
// the next time what that has found. Until then, the process counts as computing.
func (b *Bridge) state(guest int) (now workload.GuestState, known bool) {
	host := b.pids.hostOf(guest)
	switch host {
	case 0:
		return now, false
	case int(b.telling.Load()): // it waits only for being told of
		return now, true
	}
	return b.states.latest(host, b.look)
}

// latest gives what the last look has found, and begins another one if there was none.
func (s *states) latest(host int, look func(host int) (workload.GuestState, bool)) (now workload.GuestState, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.looks[host]; l != nil {
		if !l.done {
			return now, true
		}
		delete(s.looks, host)
		return l.now, l.known
	}
	if s.looks == nil || len(s.looks) >= maxStates {
		s.looks = map[int]*aLook{}
	}
	l := new(aLook)
	s.looks[host] = l
	go func() {
		now, known := look(host)
		s.mu.Lock()
		defer s.mu.Unlock()
		l.now, l.known, l.done = now, known, true
	}()
	return now, true
}

// forget is called when a thread makes a call: what a look has found before is no longer so.
func (s *states) forget(host int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.looks, host)
}

// look finds out what a thread does. It waits while the thread executes a program.
//
// Kernel: proc_pid_syscall, fs/proc/base.c, which takes exec_update_lock.
func (b *Bridge) look(host int) (now workload.GuestState, known bool) {
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
