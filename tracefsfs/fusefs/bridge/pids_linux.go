package bridge

import "sync"

// pids are the numbers that the guests are known by. Without a namespace they are the
// host's. With one they are those of the namespace, as the guests see themselves, while
// the kernel tells of processes by the host's numbers:
//
//	FUSE, connector, fanotify ── host's ──→ pids ── namespace's ──→ Guests
//
// /proc/PID/status has both, as long as the process is there. One that was gone before
// anybody looked has the number behind the last one: a namespace gives them in order.
//
// Departure: one that was gone has a wrong number if a fork beside it took a number and
// failed, or if two processes forked at once.
//
// Kernel: alloc_pid, kernel/pid.c.
type pids struct {
	mu    sync.Mutex
	guest map[int]int // by the host's number; nil: no namespace
	host  map[int]int // by the guests' number
	last  int         // the number that the namespace has given last
}

func (p *pids) enter(init int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.guest, p.host = map[int]int{}, map[int]int{}
	p.add(init, 1)
}

func (p *pids) add(host, guest int) int {
	p.guest[host], p.host[guest], p.last = guest, host, guest
	return guest
}

// of is the number of a process of which it may not be known that it lives in the
// namespace; 0 if it has ended.
func (p *pids) of(host int) int {
	guest := p.ofThread(host)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.guest != nil && guest != 0 {
		p.guest[host], p.host[guest] = guest, host
	}
	return guest
}

// ofThread is the number of a thread or a process, 0 if it has ended.
func (p *pids) ofThread(host int) int {
	if guest := p.known(host); guest != 0 {
		return guest
	}
	return innermost(host)
}

// known is the number of a process, 0 if it is not known to live in the namespace.
func (p *pids) known(host int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.guest == nil {
		return host
	}
	return p.guest[host]
}

// hostOf is the host's number of a guest's process or thread, 0 if it is not known.
func (p *pids) hostOf(guest int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.guest == nil {
		return guest
	}
	return p.host[guest]
}

// forked is the number of a new process or thread, 0 if its parent does not live in the
// namespace.
func (p *pids) forked(parent, child int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.guest == nil:
		return child
	case p.guest[parent] == 0:
		return 0
	}
	guest := innermost(child)
	if guest == 0 {
		guest = p.last + 1
	}
	return p.add(child, guest)
}

// ended forgets a process.
func (p *pids) ended(host int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(host)
}

func (p *pids) forget(host int) {
	guest := p.guest[host]
	delete(p.guest, host)
	if p.host[guest] == host {
		delete(p.host, guest)
	}
}

// sweep forgets the processes of whose end nobody told.
func (p *pids) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for host := range p.guest {
		if !alive(host) {
			p.forget(host)
		}
	}
}

// alive says whether a guest's process is there.
func (p *pids) alive(guest int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.guest == nil {
		return alive(guest)
	}
	host, ok := p.host[guest]
	return ok && alive(host)
}
