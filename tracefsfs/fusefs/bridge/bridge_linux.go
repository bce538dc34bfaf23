package bridge

import (
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
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
	swept time.Time
	done  chan struct{}

	execs *execs // nil: nobody tells
	pids  pids

	ear   sync.Mutex // of what follows, and of reading news; taken inside mu
	heard []heard    // not brought into the simulation yet
}

// heard is news with what /proc says of a new program: that is asked at once, because
// the program may end soon.
type heard struct {
	news
	program program
	guest   int // the guest's number of pid
	young   int // and of child
}

// maxHeard bounds what is kept of the news; the kernel keeps the rest.
const maxHeard = 10_000

// Simulated time that guests get before a request is served.
const (
	stepTime = 100_000     // ns
	maxTime  = 400_000_000 // ns; guests are done long before, unless the CPUs are taken
)

// sweepTime is how often the bridge looks whether its guests are still there.
const sweepTime = time.Second

// New makes a bridge. Close ends it.
func New(cfg Config) *Bridge {
	b := &Bridge{cfg: cfg, tgids: map[uint32]int{}, cwds: map[int]string{}, done: make(chan struct{})}
	if !cfg.NoConnector {
		if news, err := listen(); err == nil {
			b.news = news
			b.execs, _ = listenExecs() // without, some programs have no name
			go b.follow()
			return b
		}
	}
	close(b.done)
	return b
}

// Close stops listening.
func (b *Bridge) Close() {
	if b.news == nil {
		return
	}
	b.news.close()
	<-b.done
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
	more := make(chan struct{}, 1)
	go b.bring(more)
	for b.news.wait() {
		if b.hear() {
			more <- struct{}{} // wait until there is room again
			continue
		}
		select {
		case more <- struct{}{}:
		default:
		}
	}
	close(more)
}

// bring brings news into the simulation when there are any.
func (b *Bridge) bring(more <-chan struct{}) {
	defer close(b.done)
	for range more {
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
	if len(b.heard) >= maxHeard {
		return true
	}
	b.news.drain(func(n news) {
		h := heard{news: n, guest: b.pids.known(n.pid)}
		switch n.what {
		case threaded:
			b.pids.threaded(n.pid)
			return
		case forked:
			h.young = b.pids.forked(n.pid, n.child)
		case execed:
			h.program = programOf(n.pid, b.execs)
		case exited:
			b.pids.ended(n.pid)
		}
		b.heard = append(b.heard, h)
	})
	return false
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
		b.cfg.Clock.Request(r.Op)
		return
	}
	if ownThread(r.PID) {
		return // whatever is locked: it may be by that thread
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cfg.Do(func() {
		host := b.tgid(r.PID)
		pid := b.pids.of(host)
		b.drain()
		b.welcome(pid, host)
		b.sweep()
		b.call(pid, r)
	})
	b.settle(looks(r))
	b.cfg.Clock.Request(r.Op)
}

// looks says that a request may see what system calls have done. A script that goes
// through the settings of all events, thousands of files, does not.
func looks(r fusefs.Request) bool {
	switch path.Base(r.Path) {
	case "trigger", "filter", "format", "id":
		return false
	}
	return r.Op == fusefs.OpOpen || r.Op == fusefs.OpWrite
}

// call is the system call behind a request.
//
// Departure: one of which it is not known before that it fails ends as if it went
// well, a read and a write with as many bytes as they asked for.
func (b *Bridge) call(pid int, r fusefs.Request) {
	if r.Op == fusefs.OpChdir {
		b.cwds[pid] = b.path(r.Path) // where it will be
	} else {
		b.moved(pid, r.PID)
	}
	b.beside(pid, r)
	ret := int64(r.Size)
	switch {
	case r.Errno != 0:
		ret = -int64(r.Errno)
	case r.Op == fusefs.OpOpen:
		ret = firstFD
	}
	if r.Op == fusefs.OpWrite && strings.HasPrefix(r.Path, "/proc/") && !strings.HasPrefix(r.Path, "/proc/sys/") {
		b.cfg.Guests.WriteProc(pid, ret)
	} else if nr, ok := calls[r.Op]; ok {
		b.cfg.Guests.Call(pid, workload.Syscall{NR: nr, Ret: ret, Size: r.Size, Path: b.path(r.Path)})
	}
}

// moved notices that a guest has gone to another folder of the mount. Unless it has to ask
// (fusefs.Config.AskAccess) the kernel tells nobody of that: it checks by itself whether the
// guest may.
//
// Departure: without AskAccess, the system call happens when the guest next uses a file of
// the mount, and not at all if it is back by then.
func (b *Bridge) moved(pid, thread int) {
	cwd := cwdOf(thread)
	if cwd == "" || cwd == b.cwds[pid] {
		return
	}
	b.cwds[pid] = cwd
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

// calls are the system calls, by their numbers on x86-64, behind requests.
var calls = map[fusefs.Op]int64{
	fusefs.OpOpen: 257, fusefs.OpRead: 0, fusefs.OpWrite: 1, fusefs.OpMkdir: 83, fusefs.OpRmdir: 84,
	fusefs.OpReadDir: 217, fusefs.OpChdir: sysChdir,
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
			return
		}
		b.cfg.Run(stepTime)
	}
}

// drain brings the kernel's news into the simulation.
func (b *Bridge) drain() {
	if b.news == nil {
		return
	}
	b.hear()
	b.ear.Lock()
	all := b.heard
	b.heard = nil
	b.ear.Unlock()
	for _, n := range all {
		if !b.cfg.Guests.Known(n.guest) {
			continue
		}
		switch n.what {
		case forked:
			b.cfg.Guests.Fork(n.guest, n.young)
			b.inherit(n.guest, n.young)
		case execed:
			b.exec(n.guest, n.program)
		case exited:
			b.cfg.Guests.Exit(n.guest)
			delete(b.cwds, n.guest)
		}
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
	b.cfg.Guests.Exec(pid, p.comm, p.path, p.policy, p.prio)
	b.started(pid, p)
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
		b.exec(pid, programOf(host, nil))
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
