package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ftracelab/machine"
)

// userCall is a system call of a capture, with its user stack.
type userCall struct {
	time  uint64
	gap   uint64 // since the call before it
	slept uint64 // … of which the task slept so long
	off   uint64 // … or waited for a CPU
	nr    int32
	args  [6]uint64
	stack []uint64
	space *userSpace // the address space in which it was made
}

// forks reports whether the call makes a child: clone, fork, vfork or clone3.
func (c *userCall) forks() bool { return c.nr >= 56 && c.nr <= 58 || c.nr == 435 }

// userRun is a task of a capture.
type userRun struct {
	pid      int
	comm     string // after its exec
	calls    []userCall
	children []*userRun
	clones   []int // the indexes of the calls that made the children
	thread   bool
	twin     *userRun // a task that did the same later
}

// exec is the index of the call by which the task executes another program; -1: there is
// none.
func (r *userRun) exec() int {
	for i := len(r.calls) - 1; i >= 0; i-- {
		if r.calls[i].nr == 59 && i+1 < len(r.calls) {
			return i
		}
	}
	return -1
}

// readUserRuns reads the tasks of a capture of sys_enter with user stacks. It returns the
// one that forks the others.
func readUserRuns(dir string, ids map[string]int) (*userRun, error) {
	records, err := readFolder(dir)
	if err != nil {
		return nil, err
	}
	comms := commLines(filepath.Join(dir, "saved_cmdlines"))
	runs := map[int]*userRun{}
	var order []*userRun
	last := map[int]*record{}
	absent := absences{since: map[int]*record{}, slept: map[int]uint64{}, off: map[int]uint64{}}
	for i := range records {
		r := &records[i]
		if r.typ == ids["sched/sched_switch"] {
			absent.note(r)
		}
		if r.typ != userStack {
			last[r.cpu] = r
			continue
		}
		e := last[r.cpu]
		if e == nil || e.typ != ids["raw_syscalls/sys_enter"] || e.pid != r.pid {
			continue
		}
		run := runs[r.pid]
		if run == nil {
			run = &userRun{pid: r.pid, comm: comms[r.pid]}
			runs[r.pid], order = run, append(order, run)
		}
		c := userCall{time: e.time, nr: int32(e.u64(8)), stack: stackWords(r, userWords)}
		if n := len(run.calls); n > 0 {
			c.gap = e.time - run.calls[n-1].time
			c.slept, c.off = min(absent.slept[r.pid], c.gap), min(absent.off[r.pid], c.gap)
		}
		delete(absent.slept, r.pid)
		delete(absent.off, r.pid)
		for n := range c.args {
			c.args[n] = e.u64(16 + 8*n)
		}
		run.calls = append(run.calls, c)
	}
	return linkRuns(order)
}

// absences are the times at which tasks were on no CPU since their last system call, if the
// capture has switches: they slept, or waited for a CPU.
type absences struct {
	since      map[int]*record
	slept, off map[int]uint64
}

// note takes a sched_switch.
func (a *absences) note(r *record) {
	const prevState, nextPID = 32, 56
	a.since[r.pid] = r
	next := int(r.u32(nextPID))
	left := a.since[next]
	if left == nil {
		return
	}
	if s := left.int64(prevState); s == machine.StateRunning || s == machine.StatePreempted {
		a.off[next] += r.time - left.time
	} else {
		a.slept[next] += r.time - left.time
	}
	delete(a.since, next)
}

// linkRuns finds out who is whose child: pids are given in the order of the forks.
func linkRuns(order []*userRun) (*userRun, error) {
	type fork struct {
		parent *userRun
		at     int
	}
	var forks []fork
	for _, r := range order {
		for i := range r.calls {
			if r.calls[i].forks() {
				forks = append(forks, fork{r, i})
			}
		}
	}
	time := func(f fork) uint64 { return f.parent.calls[f.at].time }
	slices.SortStableFunc(forks, func(a, b fork) int { return cmp.Compare(time(a), time(b)) })
	root, children := order[0], slices.Clone(order[1:])
	slices.SortFunc(children, func(a, b *userRun) int { return cmp.Compare(a.pid, b.pid) })
	if len(forks) != len(children) {
		return nil, fmt.Errorf("%d forks and %d children", len(forks), len(children))
	}
	for i, f := range forks {
		c := children[i]
		if time(f) > c.calls[0].time {
			return nil, fmt.Errorf("task %d was there before it was forked", c.pid)
		}
		c.thread = f.parent.calls[f.at].nr == 435
		f.parent.children, f.parent.clones = append(f.parent.children, c), append(f.parent.clones, f.at)
	}
	return root, nil
}

// repeated finds what a list repeats most: size elements from start on, n times.
func repeated(list []string) (start, size, n int) {
	for p := 1; p <= len(list)/2; p++ {
		for s := 0; s+2*p <= len(list); s++ {
			k := 1
			for s+(k+1)*p <= len(list) && slices.Equal(list[s:s+p], list[s+k*p:s+(k+1)*p]) {
				k++
			}
			if k > 1 && k*p > n*size {
				start, size, n = s, p, k
			}
		}
	}
	return start, size, n
}

// learnFrom is how many rounds of what the shell repeats are learned from: the processes
// of the first round, and from the second one which of their addresses are by chance.
const learnFrom = 2

// selectRounds drops the repetitions of what a shell does. It returns the part of its calls
// that is repeated, and how often that is.
func (r *userRun) selectRounds() (from, to, rounds int) {
	var comms []string
	for _, c := range r.children {
		comms = append(comms, c.comm)
	}
	start, size, n := repeated(comms)
	if n < learnFrom || size < 2 || start+n*size >= len(r.children) {
		return 0, 0, 0
	}
	for i := range size {
		r.children[start+i].pair(r.children[start+size+i])
	}
	from, to = r.clones[start], r.clones[start+size]
	rest := r.clones[start+n*size]
	r.children = slices.Concat(r.children[:start+size], r.children[start+n*size:])
	r.calls = slices.Concat(r.calls[:to], r.calls[rest:])
	r.clones = nil
	for i := range r.calls {
		if r.calls[i].forks() {
			r.clones = append(r.clones, i)
		}
	}
	return from, to, n
}

// unlearnedRounds says where the rounds from which nothing was learned are among the stacks
// of a capture: how many stacks there are before them, and how many in them.
func unlearnedRounds(dir string, ids map[string]int) (before, in int, err error) {
	root, err := readUserRuns(dir, ids)
	if err != nil {
		return 0, 0, err
	}
	var comms []string
	for _, c := range root.children {
		comms = append(comms, c.comm)
	}
	start, size, n := repeated(comms)
	first, last := root.calls[root.clones[start+learnFrom*size]].time, root.calls[root.clones[start+n*size]].time
	var count func(*userRun)
	count = func(r *userRun) {
		for i := range r.calls {
			switch at := r.calls[i].time; {
			case at < first:
				before++
			case at < last:
				in++
			}
		}
		for _, c := range r.children {
			count(c)
		}
	}
	count(root)
	return before, in, nil
}

// recordsOf keeps the system calls, and their stacks, of tasks that have executed a program,
// and of their threads.
func recordsOf(comm string, comms map[int]string, records []record, sysEnter int) (kept []record) {
	const execve = 59
	executes, runs, last := map[int]bool{}, map[int]bool{}, map[int]*record{}
	for i := range records {
		r := &records[i]
		if r.typ == sysEnter && r.u64(8) == execve {
			executes[r.pid] = true
		}
	}
	for i := range records {
		r := &records[i]
		switch {
		case r.typ == sysEnter:
			last[r.cpu] = r
		case r.typ != userStack:
			last[r.cpu] = nil
		case last[r.cpu] != nil && comms[r.pid] == comm:
			if runs[r.pid] || !executes[r.pid] {
				kept = append(kept, *last[r.cpu], *r)
			}
			runs[r.pid] = runs[r.pid] || last[r.cpu].u64(8) == execve
		}
	}
	return kept
}

// pair makes two tasks and their children twins.
func (r *userRun) pair(twin *userRun) {
	r.twin = twin
	for i, c := range r.children {
		if i < len(twin.children) && c.comm == twin.children[i].comm {
			c.pair(twin.children[i])
		}
	}
}

// stackWords are the addresses of a stack record.
func stackWords(r *record, n int) (words []uint64) {
	for i := range n {
		if off := stackFields + 8*i; off+8 <= len(r.data) {
			words = append(words, r.u64(off))
		}
	}
	for len(words) > 0 && (words[len(words)-1] == 0 || words[len(words)-1] == ^uint64(0)) {
		words = words[:len(words)-1]
	}
	return words
}

// shortName is the name of a path's last part.
func shortName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
