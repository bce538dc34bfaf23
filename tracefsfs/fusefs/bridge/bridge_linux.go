package bridge

import (
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/fusefs"
	"ftracelab/workload"
)

// Config connects a Bridge with a simulation.
type Config struct {
	Guests *workload.Guests
	Do     func(func())    // calls a function between two steps of the machine
	Run    func(ns uint64) // moves the machine
	Clock  *fusefs.Clock
	// Root is where the tree is mounted, as the paths in system calls begin.
	Root string
	// Observe are the numbers of more system calls of which Bridge.Observe is told, beside
	// those that name files. The guests must be able to make them (workload.Guests.Show).
	Observe []int64
	// NoConnector leaves the process connector alone, as if there were none: /proc is
	// looked at instead.
	NoConnector bool
}

// Bridge brings processes into the simulation. Its methods may be called from any
// goroutine.
type Bridge struct {
	cfg Config

	mu    sync.Mutex
	news  *connector     // nil: look at /proc
	tgids map[uint32]int // of callers that are threads
	cwds  map[int]string // by process: where it was when it was last seen, see moved
	made  map[int]bool   // guests that may still have calls of Config.Observe to make, which their next read has to show
	swept time.Time

	more chan struct{}  // there is something to bring into the simulation
	stop chan struct{}  // closed by Close
	work sync.WaitGroup // the goroutines

	execs     *execs // nil: nobody tells
	pids      pids
	states    states
	roots     roots
	observed  []fusefs.Wanted // see Observed
	observing atomic.Bool     // see Observe
	used      atomic.Bool     // a process has used the tree: there may be something to be seen
	telling   atomic.Int64    // the thread of which Observe is being told; 0: none
	undone    atomic.Int32    // calls of Config.Observe since the guests had done all

	ear       sync.Mutex               // of what follows, and of reading news; taken inside mu
	heard     []heard                  // not brought into the simulation yet
	executing map[int]workload.Syscall // by process: the latest call of execve that was observed
	asked     map[int]bool             // processes whose calls were observed since the tree was used
}

// heard is news with what /proc says of a new program: that is asked at once, because
// the program may end soon.
type heard struct {
	news
	program program
	guest   int              // the guest's number of pid
	young   int              // and of child
	call    workload.Syscall // of called
	cpu     int              // of called: see onlyCPU
	extra   bool             // of called: it is one of Config.Observe
	// Of the first called of a process or thread, whose name is comm: the process by the guest's
	// number, its name, and its parent.
	process     int
	processComm string
	parent      int
}

// maxHeard bounds what is kept of the news; the kernel keeps the rest.
const maxHeard = 10_000

// Simulated time that guests get before a request is served.
const (
	stepTime = 100_000     // ns
	maxTime  = 400_000_000 // ns; guests are done long before, unless the CPUs are taken
)

// gatherTime is how long news may wait for others. A request does not wait: it brings what
// there is. Without it, each call of a busy guest would wake this process once more.
const gatherTime = 2 * time.Millisecond

// sweepTime is how often the bridge looks whether its guests are still there.
const sweepTime = time.Second

// New makes a bridge. Close ends it.
func New(cfg Config) *Bridge {
	b := &Bridge{
		cfg: cfg, tgids: map[uint32]int{}, cwds: map[int]string{}, made: map[int]bool{}, executing: map[int]workload.Syscall{}, asked: map[int]bool{},
		more: make(chan struct{}, 1), stop: make(chan struct{}), observed: observed(cfg.Guests, cfg.Observe),
	}
	cfg.Guests.State = b.state
	if !cfg.NoConnector {
		if news, err := listen(); err == nil {
			b.news = news
			b.execs, _ = listenExecs() // without, some programs have no name
			b.work.Go(b.follow)
		}
	}
	b.work.Go(b.bring)
	return b
}

// Close stops listening.
func (b *Bridge) Close() {
	if b.news != nil {
		b.news.close()
	}
	close(b.stop)
	b.work.Wait()
	b.roots.close()
	if b.news == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.news.free()
	b.execs.close()
	b.news, b.execs = nil, nil
}

// follow takes the kernel's news as they come, whatever the simulation is doing.
func (b *Bridge) follow() {
	// Of its own thread, which comes first where it may: without, more is missed.
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -20)
	for b.news.wait() {
		if b.hear() {
			select {
			case b.more <- struct{}{}: // wait until there is room again
			case <-b.stop:
			}
			continue
		}
		b.tell()
	}
}

// tell says that there is something to bring into the simulation.
func (b *Bridge) tell() {
	select {
	case b.more <- struct{}{}:
	default:
	}
}

// bring brings news into the simulation when there are any.
func (b *Bridge) bring() {
	for {
		select {
		case <-b.more:
		case <-b.stop:
			return
		}
		time.Sleep(gatherTime)
		b.mu.Lock()
		b.cfg.Do(func() {
			b.drain()
			b.cfg.Guests.Wake()
		})
		b.mu.Unlock()
	}
}

// hear reads the kernel's news; it is full if there is no room for them.
func (b *Bridge) hear() (full bool) {
	b.ear.Lock()
	defer b.ear.Unlock()
	return b.read()
}

// read is hear for one who has locked b.ear.
func (b *Bridge) read() (full bool) {
	if len(b.heard) >= maxHeard {
		return true
	}
	if b.news == nil {
		return false
	}
	b.news.drain(func(n news) {
		h := heard{news: n, guest: b.pids.known(n.pid)}
		switch n.what {
		case threaded, forked:
			h.young = b.pids.forked(n.pid, n.child)
		case execed:
			h.program = b.begun(n.pid)
		case exited:
			b.pids.ended(n.pid)
			delete(b.asked, n.pid)
		}
		b.heard = append(b.heard, h)
	})
	return false
}

// begun is the program that a process has begun to run; b.ear is locked.
func (b *Bridge) begun(pid int) program {
	call := b.executing[pid]
	delete(b.executing, pid)
	return programOf(pid, b.execs, call)
}

// Enter says that all guests live in a PID namespace of their own, of which init is the
// first process, as this process sees it. The machine then knows them by their numbers in
// there, as they do themselves. It is to be called before init starts another process.
func (b *Bridge) Enter(init int) { b.pids.enter(init) }

// PID is fusefs.Config.PID.
func (b *Bridge) PID(thread int) int { return b.pids.ofThread(thread) }

// Before is fusefs.Config.Before.
func (b *Bridge) Before(r fusefs.Request) {
	if r.PID == 0 {
		b.cfg.Clock.Request(r.Op, shows(r))
		return
	}
	if ownThread(r.PID) {
		return // whatever is locked: it may be by that thread
	}
	b.states.forget(r.PID)
	b.mu.Lock()
	defer b.mu.Unlock()
	var all bool
	b.cfg.Do(func() {
		host := b.tgid(r.PID)
		pid := b.pids.of(host)
		b.drain()
		all = looks(r) || b.made[pid]
		b.used.Store(true)
		b.welcome(pid, host)
		b.cfg.Guests.Allow(pid, onlyCPU(r.PID))
		b.sweep()
		b.call(pid, r)
	})
	b.settle(all)
	b.cfg.Clock.Request(r.Op, shows(r))
}

// looks says that a request may see what system calls have done. A script that goes
// through the settings of all events, thousands of files, does not.
func looks(r fusefs.Request) bool {
	switch path.Base(r.Path) {
	case "trigger", "filter", "format", "id":
		return false
	}
	return r.Op == fusefs.OpOpen || r.Op == fusefs.OpWrite || r.Op == fusefs.OpIoctl
}

// shows reports whether a request opens a file that shows what was recorded until then.
func shows(r fusefs.Request) bool {
	if r.Op != fusefs.OpOpen {
		return false
	}
	switch name := path.Base(r.Path); name {
	case "trace", "trace_pipe", "trace_pipe_raw", "snapshot", "snapshot_raw", "hist", "stats", "tracing_max_latency":
		return true
	default:
		return strings.HasSuffix(name, "_profile") || path.Base(path.Dir(r.Path)) == "trace_stat"
	}
}

// settle runs the machine until its guests have done what they have to do: the
// forks, execs and exits, and with all the system calls.
func (b *Bridge) settle(all bool) {
	for spent := uint64(0); spent < maxTime; spent += stepTime {
		busy := false
		b.cfg.Do(func() {
			busy = b.cfg.Guests.Wake() && (all || b.cfg.Guests.Changing())
		})
		if !busy {
			if all {
				clear(b.made)
				b.undone.Store(0)
			}
			return
		}
		b.cfg.Run(stepTime)
	}
}

// drain brings the kernel's news into the simulation.
func (b *Bridge) drain() {
	b.hear()
	b.ear.Lock()
	all := b.heard
	b.heard = nil
	b.ear.Unlock()
	for _, n := range all {
		if n.what == called {
			b.meet(n)
		}
		if !b.cfg.Guests.Known(n.guest) {
			continue
		}
		switch n.what {
		case forked:
			b.cfg.Guests.Fork(n.guest, n.young)
			b.inherit(n.guest, n.young)
		case threaded:
			b.cfg.Guests.Thread(n.guest, n.young)
		case renamed:
			b.cfg.Guests.Rename(n.guest, n.comm)
		case execed:
			b.exec(n.guest, n.program)
		case exited:
			b.cfg.Guests.Exit(n.guest)
			delete(b.cwds, n.guest)
		case called:
			b.cfg.Guests.Allow(n.guest, n.cpu)
			b.cfg.Guests.Call(n.guest, n.call)
			if n.extra {
				b.made[n.guest] = true
			}
		}
	}
}

// meet makes a process or thread that was observed a guest, and notices by /proc what the
// kernel did not tell. Its parent may not have been a guest when it began, which is then told
// of nothing.
func (b *Bridge) meet(n heard) {
	switch known := b.cfg.Guests.Known(n.guest); {
	case b.news == nil && (known || b.cfg.Guests.Known(b.pids.of(parentOf(n.pid)))):
		b.welcome(n.guest, n.pid)
	case !known && n.comm != "":
		b.add(n)
	}
}

// add makes a process or thread a guest that has existed for some time.
func (b *Bridge) add(n heard) {
	g, parent := b.cfg.Guests, b.pids.of(n.parent)
	if !g.Known(n.process) {
		g.Add(n.process, n.processComm, parent)
	}
	if n.process != n.guest {
		g.AddThread(n.guest, n.comm, n.process)
	}
}

// inherit is told of a child, which begins where its parent is.
func (b *Bridge) inherit(pid, child int) {
	if cwd, ok := b.cwds[pid]; ok {
		b.cwds[child] = cwd
	}
}

func (b *Bridge) exec(pid int, p program) {
	if p.comm == "" {
		p.comm = b.cfg.Guests.Comm(pid) // it has ended already
	}
	if p.call.Path == "" {
		p.call.Path = p.path
	}
	b.cfg.Guests.Exec(pid, p.comm, p.call, p.policy, p.prio)
}

// welcome makes the caller of a request, the process host, the guest pid, and notices by
// /proc what the kernel did not tell.
func (b *Bridge) welcome(pid, host int) {
	g := b.cfg.Guests
	if b.news != nil && g.Known(pid) {
		return
	}
	comm := commOf(host)
	if !g.Known(pid) {
		parent := b.pids.of(parentOf(host))
		if b.news == nil && g.Known(parent) {
			g.Fork(parent, pid)
			b.inherit(parent, pid)
		} else {
			g.Add(pid, comm, parent)
		}
	}
	if b.news == nil && comm != "" && g.Known(pid) && g.Comm(pid) != comm {
		b.ear.Lock()
		p := b.begun(host)
		b.ear.Unlock()
		b.exec(pid, p)
	}
}

// sweep lets the guests end whose processes have, if nobody told.
func (b *Bridge) sweep() {
	now := time.Now()
	if now.Sub(b.swept) < sweepTime {
		return
	}
	b.swept = now
	clear(b.tgids)
	b.pids.sweep()
	var gone []int
	b.cfg.Guests.PIDs(func(pid int) {
		if !b.pids.alive(pid) {
			gone = append(gone, pid)
		}
	})
	slices.Sort(gone)
	for _, pid := range gone {
		delete(b.cwds, pid)
		b.cfg.Guests.Exit(pid)
	}
}

// tgid is the process of a thread.
func (b *Bridge) tgid(tid int) int {
	if b.cfg.Guests.Known(b.pids.known(tid)) {
		return tid
	}
	pid, ok := b.tgids[uint32(tid)]
	if !ok {
		pid = processOf(tid)
		b.tgids[uint32(tid)] = pid
	}
	return pid
}
