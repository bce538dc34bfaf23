package tracer

import (
	"ftracelab/machine"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// inodeCache remembers which files the event inode_cache has told. It belongs to all
// instances. It is emptied when tracing starts or stops, when a tracer, a clock or
// userstacktrace_delay changes, and when a trace is emptied, so that a new trace tells its
// files again.
//
// Kernel: kernel/trace/inode_cache.c of the series for deferred user stacks, not merged.
//
// The event is no tracepoint of package machine. What fires there is the kernel that is traced;
// this one ftrace fires itself, in the function that fills the record of a stack
// (trace_user_unwind_callback calls trace_inode_cache_add), as the events of osnoise and timerlat
// are fired by their tracers. Filters, triggers, histograms and probes on events see it.
//
// Departure: in the series it is a TRACE_EVENT, so that its tracepoint has a prototype. The
// tables of 6.12 have none, and a probe on the tracepoint itself ("t:name inode_cache") waits for
// it for ever.
//
// Departure: the series makes the path in a buffer of 128 bytes and does not look whether it
// fits. Here a path is whole. Tracing that a trigger starts or stops does not empty the
// cache, as in the series.
type inodeCache struct {
	told map[inodeKey]struct{}
}

type inodeKey struct {
	inode uint64
	dev   uint32
}

// maxInodes bounds the cache. A file that has no room is told each time.
const maxInodes = 1 << 16

func (n *inodeCache) reset() { clear(n.told) }

// add reports whether a file is to be told.
func (n *inodeCache) add(m *machine.Mapping) bool {
	k := inodeKey{m.Inode, m.Dev}
	if _, ok := n.told[k]; ok || m.Inode == 0 {
		return false
	}
	if n.told == nil {
		n.told = map[inodeKey]struct{}{}
	}
	if len(n.told) < maxInodes {
		n.told[k] = struct{}{}
	}
	return true
}

// tellFiles makes the event inode_cache happen for each file of a user stack that it has
// not told yet.
func (ft *Ftrace) tellFiles(c *machine.CPU, t *machine.Task, stack []uint64) {
	typ := events.InodeCache.Type
	if !ft.listening[typ.ID] {
		return
	}
	// Work on the way to user space is done with interrupts on.
	h := event.Common{Type: uint16(typ.ID), PID: int32(t.PID)}
	for _, ip := range stack {
		if m := t.Mapping(ip); m != nil && ft.inodes.add(m) {
			ft.scratch = events.InodeCache.Append(ft.scratch[:0], h, &events.InodeCacheRecord{Inode: m.Inode, Dev: m.Dev, Path: m.Path})
			ft.emit(&happening{cpu: c, t: typ, h: h, data: ft.scratch})
		}
	}
}
