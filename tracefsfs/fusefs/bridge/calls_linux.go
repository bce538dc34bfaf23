package bridge

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/fusefs"
	"ftracelab/workload"
)

// pathCall is a system call whose argument path is the address of a path.
type pathCall struct {
	nr    int64
	path  int
	at    bool // the argument before path is the folder in which a relative path begins
	flags int  // the argument with AT_EMPTY_PATH, with which the call is about an open file; 0 if there is none
	two   bool // the first argument is the address of a path, too
	moves bool // and that file must be there
	asked bool // it is observed only if Config.Observe names it
	// reads is what the call returns when the file is there; nil if that is nothing.
	reads func(thread, file int, args [6]uint64) (n int, err error)
}

// calls are the system calls, by their numbers on x86-64, behind requests.
var calls = map[fusefs.Op]pathCall{
	fusefs.OpOpen: {nr: 257, path: 1}, fusefs.OpRead: {nr: 0, path: -1}, fusefs.OpWrite: {nr: 1, path: -1},
	fusefs.OpMkdir: {nr: 83}, fusefs.OpRmdir: {nr: 84}, fusefs.OpReadDir: {nr: 217, path: -1}, fusefs.OpChdir: {nr: sysChdir},
	fusefs.OpIoctl: {nr: 16, path: -1},
}

// call is the system call behind a request. What the thread says of it, which waits for
// the request, is preferred to what the request says.
//
// Departure: one of which it is not known before that it fails ends as if it went
// well, a read and a write with as many bytes as they asked for. A call whose arguments
// cannot be seen, because /proc does not let this process look at the thread, or because it
// is another call (readv, pread64, sendfile ...), is the simplest one for its request, with
// arguments that are made up.
func (b *Bridge) call(pid int, r fusefs.Request) {
	observing := b.observing.Load()
	switch {
	case r.Op == fusefs.OpChdir:
		b.cwds[b.cfg.Guests.Process(pid)] = b.path(r.Path) // where it will be
	case !observing:
		b.moved(pid, r.PID)
	}
	ret := int64(r.Size)
	switch {
	case r.Errno != 0:
		ret = -int64(r.Errno)
	case r.Op == fusefs.OpOpen:
		ret = firstFD
	}
	c, ok := calls[r.Op]
	if !ok {
		return
	}
	nr, args, seen := fusefs.Waiting(r.PID)
	if !seen {
		nr = c.nr
	}
	if observing && (c.path >= 0 && !seen || b.observes(nr)) {
		return // it was told of
	}
	if r.Op == fusefs.OpWrite && strings.HasPrefix(r.Path, "/proc/") && !strings.HasPrefix(r.Path, "/proc/sys/") {
		b.cfg.Guests.WriteProc(pid, ret)
		return
	}
	call := workload.Syscall{NR: c.nr, Path: b.path(r.Path)}
	if seen && nr == c.nr {
		call = readCall(r.PID, c, args)
		if c.path < 0 {
			call.Path = b.path(r.Path) // of the open file
		}
	}
	call.Ret, call.Size = ret, r.Size
	b.cfg.Guests.Call(pid, call)
}

// moved notices that a guest has gone to another folder of the mount. Unless it has to ask
// (fusefs.Config.AskAccess) the kernel tells nobody of that: it checks by itself whether the
// guest may.
//
// Departure: without AskAccess, the system call happens when the guest next uses a file of
// the mount, and not at all if it is back by then.
func (b *Bridge) moved(pid, thread int) {
	cwd := cwdOf(thread)
	process := b.cfg.Guests.Process(pid)
	if cwd == "" || cwd == b.cwds[process] {
		return
	}
	b.cwds[process] = cwd
	if _, ok := strings.CutPrefix(cwd+"/", b.cfg.Root+"/"); ok {
		b.cfg.Guests.Call(pid, workload.Syscall{NR: sysChdir, Path: cwd})
	}
}

// path is what a program calls a file of the mount.
func (b *Bridge) path(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return path.Join(b.cfg.Root, name)
}

// firstFD is the descriptor that a program gets which has none but the standard ones.
const firstFD = 3

// Observed are the system calls of which Observe is to be told: those that guests can make.
func (b *Bridge) Observed() []fusefs.Wanted { return b.observed }

// observed are the calls that are observable and that guests can make, and more calls.
func observed(g *workload.Guests, more []int64) []fusefs.Wanted {
	var calls []fusefs.Wanted
	for _, nr := range more {
		calls = append(calls, fusefs.Wanted{NR: uint32(nr)})
	}
	for _, c := range observable {
		if c.asked || slices.Contains(more, c.nr) || !g.Calls(c.nr) {
			continue
		}
		wanted := fusefs.Wanted{NR: uint32(c.nr)}
		if c.flags != 0 {
			wanted.Arg, wanted.Without = c.flags, unix.AT_EMPTY_PATH
		}
		calls = append(calls, wanted)
	}
	return calls
}

// pathsOf says which arguments of an observed call are paths: none, if the call is one of
// Config.Observe.
func pathsOf(nr int64) pathCall {
	if i := slices.IndexFunc(observable, func(c pathCall) bool { return c.nr == nr }); i >= 0 {
		return observable[i]
	}
	return pathCall{nr: nr, path: -1}
}

// observes reports whether a system call is one of Observed.
func (b *Bridge) observes(nr int64) bool {
	return slices.ContainsFunc(b.observed, func(c fusefs.Wanted) bool { return c.NR == uint32(nr) })
}

// Observe is told of a system call that a thread is about to make, and that waits until it
// returns; waits reports whether it still does. From the first call on, the calls behind
// requests are not made up: those of Observed come here, too, before their requests.
//
// Departure: of how an observed call ends it is only known whether its file is there, if the
// path stays on the file system of the root, as the call has not happened yet. Else it ends
// as if it went well; a call that opens a file returns the descriptor 3, a call of
// Config.Observe returns 0, and it does not wait. A call that fails has the functions of one
// that does not.
func (b *Bridge) Observe(tid int, nr int64, args [6]uint64, waits func() bool) {
	if !b.observes(nr) {
		return
	}
	b.telling.Store(int64(tid))
	defer b.telling.Store(0)
	b.states.forget(tid)
	c := pathsOf(nr)
	call := readCall(tid, c, args)
	if b.used.Load() {
		call.Ret = b.roots.outcome(tid, c, &call)
	}
	if !waits() {
		return
	}
	b.observing.Store(true)
	if many := b.note(tid, nr, call); many || slices.Contains(reading, nr) {
		b.CatchUp()
	}
}

// reading are the calls, by their numbers on x86-64, with which a program reads what its
// calls before have left in the trace: read, readv and splice.
var reading = []int64{0, 19, 275}

// note keeps an observed call until it is brought into the simulation. It reports whether
// so many are kept that this has to be now.
func (b *Bridge) note(tid int, nr int64, call workload.Syscall) (many bool) {
	b.ear.Lock()
	defer b.ear.Unlock()
	// What happened to the thread before comes first: its birth, its program, its name.
	b.read()
	process, guest := tid, b.pids.known(tid)
	if guest == 0 { // it is not the first thread, or the kernel does not tell of births
		process = processOf(tid)
		guest = b.pids.of(process)
	}
	if nr == sysExecve {
		if len(b.executing) >= maxExecs {
			clear(b.executing)
		}
		b.executing[processOf(tid)] = call // it becomes another program when the kernel says so
		return false
	}
	if len(b.heard) >= maxHeard || b.news != nil && nr == sysPrctl && call.Args[0] == unix.PR_SET_NAME {
		return false // the kernel tells of new names
	}
	extra := slices.Contains(b.cfg.Observe, nr)
	h := heard{news: news{what: called, pid: process}, guest: guest, call: call, cpu: onlyCPU(tid), extra: extra}
	if b.used.Load() && !b.asked[process] {
		// It waits: later it may have ended.
		if len(b.asked) >= maxExecs {
			clear(b.asked)
		}
		b.asked[process] = true
		leader := processOf(process)
		h.comm, h.processComm, h.parent = commOf(process), commOf(leader), parentOf(process)
		if h.process = guest; leader != process {
			h.process = b.pids.of(leader)
		}
	}
	b.heard = append(b.heard, h)
	if len(b.heard) == 1 {
		b.tell()
	}
	return extra && b.undone.Add(1) >= maxUndone
}

// maxUndone is how many calls of Config.Observe the guests may still have to do. Each has
// room for more (workload.Guests.Call), so that none is left out.
const maxUndone = 100

// CatchUp brings what was heard into the simulation, and runs it until the guests have done
// it. Requests and calls that read do this by themselves.
func (b *Bridge) CatchUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cfg.Do(b.drain)
	b.settle(true)
}

// onlyCPU is the one CPU on which a thread may run; -1 if it may run on several ones, or on
// all that this process may use.
//
// Kernel: sched_getaffinity, kernel/sched/syscalls.c.
func onlyCPU(tid int) int {
	var theirs, ours unix.CPUSet
	if unix.SchedGetaffinity(tid, &theirs) != nil || theirs.Count() != 1 {
		return -1
	}
	if unix.SchedGetaffinity(0, &ours) != nil || ours.Count() == 1 {
		return -1
	}
	for cpu := range maxCPUs {
		if theirs.IsSet(cpu) {
			return cpu
		}
	}
	return -1
}

// maxCPUs is how many CPUs a CPUSet can name.
const maxCPUs = 64 * len(unix.CPUSet{})

// readCall is the call that a waiting thread makes, with the paths that its memory holds.
func readCall(tid int, c pathCall, args [6]uint64) workload.Syscall {
	call := workload.Syscall{NR: c.nr, Known: true, Args: args}
	switch c.nr {
	case 2, 257, 85:
		call.Ret = firstFD
	}
	if c.path >= 0 {
		call.PathAt = args[c.path]
		call.Path = fusefs.TextAt(tid, call.PathAt)
	}
	if c.two {
		call.TargetAt = args[0]
		call.Target = fusefs.TextAt(tid, call.TargetAt)
	}
	return call
}

// Opens is fusefs.Config.Opens.
func (b *Bridge) Opens(thread int) (opens, known bool) {
	nr, args, known := fusefs.Waiting(thread)
	switch nr {
	case 2: // open
		opens = args[1]&unix.O_PATH == 0
	case 257: // openat
		opens = args[2]&unix.O_PATH == 0
	case 437: // openat2
		opens = true
	}
	return known && opens, known
}
