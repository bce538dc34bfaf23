package workload_test

import (
	"slices"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/workload"
)

// A guest that has nothing to do is in the call in which its process waits, or computes as
// that does; and what it then has to do is done at once.
func TestGuestRests(t *testing.T) {
	m, g := guestsBeside(t, machine.Config{CPUs: 2}, "quiet") // nobody takes the CPUs
	log := logGuests(t, m)
	var now workload.GuestState
	known := true
	g.State = func(int) (workload.GuestState, bool) { return now, known }
	g.Add(4711, "server", 0)
	const openat = 257
	task := m.Task(4711)
	for _, c := range []struct {
		name   string
		now    workload.GuestState
		known  bool
		want   []string
		nr     int64
		asleep bool
	}{
		{"epoll_wait", workload.GuestState{Waits: true, NR: 232, Args: [6]uint64{5}}, true, []string{"4711 calls 257", "4711 calls 232"}, 232, true},
		{"computes", workload.GuestState{}, true, []string{"4711 calls 257"}, 0, false},
		{"no sleep of close", workload.GuestState{Waits: true, NR: 3}, true, []string{"4711 calls 257", "4711 calls 61"}, 61, true},
		{"computes again", workload.GuestState{}, true, []string{"4711 calls 257"}, 0, false},
		{"nobody knows", workload.GuestState{}, false, []string{"4711 calls 257", "4711 calls 61"}, 61, true},
	} {
		now, known, *log = c.now, c.known, nil
		g.Call(4711, workload.Syscall{NR: openat, Ret: 3})
		start := m.Now()
		settle(t, m, g)
		if took := m.Now() - start; took > machine.Millisecond {
			t.Errorf("%s: the call was done after %d ns", c.name, took)
		}
		m.Run(20 * machine.Millisecond)
		if runs := task.CPU().Current == task; runs == c.asleep {
			t.Errorf("%s: it runs: %v", c.name, runs)
		}
		if !slices.Equal(*log, c.want) {
			t.Errorf("%s: %q, want %q", c.name, *log, c.want)
		}
		if _, asleep := task.Sleeping(); asleep != c.asleep || asleep && task.Stay().Args != c.now.Args && c.nr == c.now.NR {
			t.Errorf("%s: asleep: %v in %+v", c.name, asleep, task.Stay())
		}
	}
}

// The last of the calls that are told of is the one in which the process is. If that call
// exists to wait, the guest waits in it.
func TestGuestWaitsInCall(t *testing.T) {
	m, g, log := guestMachine(t)
	g.Add(4711, "server", 0)
	g.Call(4711, workload.Syscall{NR: 7})
	g.Call(4711, workload.Syscall{NR: 7})
	settle(t, m, g)
	m.Run(10 * machine.Millisecond)
	if want := []string{"4711 calls 7", "4711 calls 7"}; !slices.Equal(*log, want) {
		t.Errorf("%q, want %q", *log, want)
	}
	if _, asleep := m.Task(4711).Sleeping(); !asleep || m.Task(4711).Stay().NR != 7 {
		t.Error("it does not wait in poll")
	}
}

// A process ends after the threads that ended before it, and does not wait for the others.
func TestGuestEndsLast(t *testing.T) {
	m, g, log := guestMachine(t)
	g.Add(4711, "server", 0)
	g.Thread(4711, 4712)
	g.Thread(4711, 4713)
	settle(t, m, g)
	for range 200 {
		g.Call(4712, workload.Syscall{NR: 1}) // the thread has more to do than the process
	}
	*log = nil
	g.Exit(4712)
	g.Exit(4711)
	settle(t, m, g)
	m.Run(50 * machine.Millisecond)
	ends := slices.DeleteFunc(*log, func(line string) bool { return !strings.HasSuffix(line, "exits") })
	if want := []string{"4712 exits", "4711 exits"}; !slices.Equal(ends, want) {
		t.Errorf("%q, want %q", ends, want)
	}
}

// The end of a child wakes a parent that waits for it, and none that waits for something else.
func TestGuestWaitsForChild(t *testing.T) {
	for nr, want := range map[int64]int64{61: 61, 247: 61, 271: 271} {
		m, g, _ := guestMachine(t)
		now := workload.GuestState{Waits: true, NR: nr}
		g.State = func(int) (workload.GuestState, bool) { return now, true }
		g.Add(4711, "sh", 0)
		g.Fork(4711, 4712)
		settle(t, m, g)
		now.NR = 61 // if it is woken, it waits in another call
		g.Exit(4712)
		settle(t, m, g)
		m.Run(20 * machine.Millisecond)
		if got := m.Task(4711).Stay().NR; got != want || m.Task(4712) != nil {
			t.Errorf("a parent in %d is in %d, want %d", nr, got, want)
		}
	}
}
