// Package rethook sees functions return in the way that Linux 6.12 does for
// kretprobes and fprobes: with a list of nodes for each task, beside the shadow
// stack that package fgraph keeps.
//
//	machine stack                 Task list
//	┌───────────────────────┐     ┌──────────────────────────────┐
//	│ args of vfs_read      │     │ Node  ret ksys_read+0x6d     │ newest
//	│ Trampoline            │◄────│       data of its user       │
//	├───────────────────────┤     ├──────────────────────────────┤
//	│ args of ksys_read     │     │ Node  ret do_syscall_64+0x…  │
//	│ Trampoline            │◄────│                              │
//
// A [Hook] is one user. It has a fixed number of nodes: a call that finds none
// free is missed. Several users of one call each put a node on the list, and
// all but the first find [Trampoline] where the return address was; the same
// holds for a function that was jumped to. So [Task.Return] takes nodes off the
// list up to and including the first one that holds a real return address.
//
// Kernel: kernel/trace/rethook.c.
package rethook

import (
	"ftracelab/fgraph/work"
	"ftracelab/machine"
)

// Trampoline is the address that replaces a return address: the address of
// arch_rethook_trampoline in the reference kernel.
const Trampoline uint64 = 0xffffffff81093e80

// Handler runs when a hooked function returns to ret; f is the function's frame
// with its return value. It runs with preemption off.
type Handler func(c *machine.CPU, n *Node, ret uint64, f *machine.Frame)

// Hook is one user: a handler, and the nodes for calls that have not returned.
//
// Kernel: struct rethook, include/linux/rethook.h.
type Hook struct {
	// Work counts what hits do to memory; nil: not counted. A node is taken from the
	// pool, and given back, with one compare-and-exchange on a line of the pool, which
	// every CPU may write (objpool_pop and objpool_push, lib/objpool.c).
	Work *work.Count

	handler Handler // nil: stopped
	free    *Node
	words   int // of data of a node
	unmade  int // nodes
	nodes   int // in all
	used    int // nodes that are not free
}

// Node is a call that has not returned.
//
// Kernel: struct rethook_node, include/linux/rethook.h.
type Node struct {
	// Func is the address of the patched call of the function, and Data what its
	// user keeps with the call; Data has the length that New was told, and is not
	// cleared.
	Func uint64
	Data []uint64

	hook  *Hook
	ret   uint64
	place uint64 // of the return address, see machine.Frame.Place
	next  *Node
}

// New makes a hook with num nodes, each with the given number of words of data.
// A node takes memory only from its first use on, because a probe may ask for
// more nodes than are ever in use.
//
// Kernel: rethook_alloc.
func New(handler Handler, words, num int) *Hook {
	return &Hook{handler: handler, words: words, unmade: num, nodes: num}
}

// Stop ends the use of h: calls that were hooked still return, but its handler
// does not run any more.
//
// Kernel: rethook_stop and rethook_free.
func (h *Hook) Stop() { h.handler, h.free, h.unmade = nil, nil, 0 }

// Get takes a free node, or returns nil if there is none or h is stopped. The
// caller passes the node to [Task.Hook] or gives it back with [Node.Recycle].
//
// Kernel: rethook_try_get.
func (h *Hook) Get() *Node {
	n := h.free
	if n == nil && h.unmade == 0 {
		h.Work.Add(0, 0, 1, 0)
		return nil
	}
	h.Work.Add(1, 1, 1, 0)
	h.used++
	switch {
	case n != nil:
		h.free, n.next = n.next, nil
	case h.unmade > 0:
		h.unmade--
		n = &Node{hook: h, Data: make([]uint64, h.words)}
	}
	return n
}

// Nodes is how many nodes there are, InUse how many of them are not free.
func (h *Hook) Nodes() int { return h.nodes }

func (h *Hook) InUse() int { return h.used }

// Recycle gives back a node that is on no task's list.
//
// Kernel: rethook_recycle.
func (n *Node) Recycle() {
	if n.hook.handler != nil {
		n.hook.Work.Add(1, 3, 1, 0)
		n.hook.used--
		n.next, n.hook.free = n.hook.free, n
	}
}

// Task is the list of a task's calls that have not returned, the newest first.
// The zero Task has none. It belongs to the CPU that the task runs on.
//
// Kernel: task_struct's rethooks.
type Task struct{ first *Node }

// Hook replaces the return address of a function that is being entered.
//
// Kernel: rethook_hook.
func (t *Task) Hook(n *Node, f *machine.Frame) {
	n.Func, n.ret, n.place, n.next = f.IP, f.Ret, f.Place(), t.first
	// In the node: where the function returns to, its frame, the next node, what its user
	// keeps; in the task: the first node.
	n.hook.Work.Add(0, 4+len(n.Data), 1+n.lines(), 0)
	t.first, f.Ret = n, Trampoline
}

// Return handles a return to the replaced address: it runs the handlers of the
// calls that return, the newest first, and puts the real return address into
// f.Ret. It panics if there is none.
//
// Kernel: rethook_trampoline_handler, where the machine panics as well.
//
// Departure: calls that were left without returning, as longjmp leaves them, are taken
// off the list and nobody is told. The kernel has no longjmp: it would take the first of
// them for the function that returns.
func (t *Task) Return(c *machine.CPU, f *machine.Frame) {
	for t.first != nil && t.first.place > f.Place() {
		n := t.first
		t.first = n.next
		n.Recycle()
	}
	last := t.first
	for last != nil && last.ret == Trampoline {
		last = last.next
	}
	if last == nil {
		panic("rethook: invariant: return without a hooked call")
	}
	f.Ret = last.ret
	for n := t.first; ; n = n.next {
		if h := n.hook.handler; h != nil {
			h(c, n, f.Ret, f)
		}
		if n == last {
			break
		}
	}
	first, rest := t.first, last.next
	t.first = rest
	for n := first; n != rest; {
		next := n.next
		n.hook.Work.Add(0, 1, 1+n.lines(), 0)
		n.Recycle()
		n = next
	}
}

// RetAddr returns, for an unwinder, the address that ret stands for, which it found at
// place on t's stack. An address that is not Trampoline, or is not known, is returned as
// it is. passed is how many calls the walk has passed, 0 at first; RetAddr counts on.
//
// Kernel: rethook_find_ret_addr.
func (t *Task) RetAddr(passed *int, ret, place uint64) uint64 {
	if ret != Trampoline {
		return ret
	}
	at := 0
	for n := t.first; n != nil; n = n.next {
		if at++; at > *passed && n.place == place && n.ret != Trampoline {
			*passed = at
			return n.ret
		}
	}
	return ret
}

// NodeBytes is the size of a node without its user's data.
//
// Kernel: struct rethook_node, include/linux/rethook.h.
const NodeBytes = 48

func (n *Node) lines() int { return work.LinesOf(0, NodeBytes/8+len(n.Data)) }

// Flush takes back the nodes of a task that has exited; their calls never return.
//
// Kernel: rethook_flush_task.
func (t *Task) Flush() {
	for n := t.first; n != nil; {
		next := n.next
		n.Recycle()
		n = next
	}
	t.first = nil
}
