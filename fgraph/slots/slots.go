// Package slots sees functions return in the way of the first attempt, the tracer return
// of October 2008: with a table of 32 slots that all CPUs and tasks share.
//
//	bitmap of free slots   table, all CPUs
//	…1 1 1 0 0             slot 0: ret ksys_read+0x6d    called at 1234567 ns
//	     │ └ taken         slot 1: ret do_syscall_64+0x… called at 1234599 ns
//	     └ lowest free     slot 2: free
//
// A function that is entered takes the lowest free slot, and returns to the trampoline of
// that slot, whose number tells the handler which slot it was. If no slot is free, the
// call is not seen. A function that never returns keeps its slot for good.
//
// The posted patch enables one slot only, because with more of them its machine hung.
// Its counter of calls that found none is never incremented; here it is.
//
// Kernel: struct ftrace_return_data, prepare_ftrace_return and ftrace_return_to_handler
// of arch/x86/kernel/ftrace.c in Frederic Weisbecker's mail of 2008-10-30.
package slots

import (
	"math/bits"

	"ftracelab/fgraph/work"
	"ftracelab/machine"
)

// Max is how many slots there can be.
//
// Kernel: FTRACE_TRAMPOLINE_SIZE.
const Max = 32

// firstTrampoline is a made-up address of the trampoline of slot 0. Each has
// trampolineSize bytes: push, call.
const (
	firstTrampoline = 0xffffffff81093f00
	trampolineSize  = 7
)

// Trampoline reports whether an address is that of a slot's trampoline, and of which.
func Trampoline(addr uint64) (slot int, ok bool) {
	n := addr - firstTrampoline
	if n >= Max*trampolineSize || n%trampolineSize != 0 {
		return 0, false
	}
	return int(n / trampolineSize), true
}

// Slot is a call that has not returned.
//
// Kernel: struct ftrace_retfunc.
type Slot struct {
	Ret      uint64 // the real return address
	Calltime uint64 // ns
	Rettime  uint64 // ns, set when the function returns
}

// Table is the slots. It belongs to the machine: one goroutine at a time.
type Table struct {
	// Return runs when a function returns, before its slot is free again; nil: nothing
	// runs.
	//
	// Kernel: ftrace_function_return, which register_ftrace_return sets.
	Return func(c *machine.CPU, s *Slot)
	// Overrun counts calls that found no free slot.
	Overrun uint64
	// Work counts what hits do to memory; nil: not counted.
	Work *work.Count

	enabled uint32 // the slots that are used at all
	free    uint32 // bitmap of free slots
	table   [Max]Slot
}

// New returns a table that uses n slots, 1…Max.
func New(n int) *Table {
	all := uint32(1)<<n - 1 // n is 32: all bits
	return &Table{enabled: all, free: all}
}

// Enter hooks the return of a function that is entered, if a slot is free.
//
// Kernel: prepare_ftrace_return.
func (t *Table) Enter(c *machine.CPU, f *machine.Frame) {
	// The lock; the lock and the bitmap are in one line.
	t.Work.Add(1, 2, 1, 0)
	if t.free == 0 {
		t.Overrun++
		return
	}
	n := bits.TrailingZeros32(t.free)
	t.free &^= 1 << n
	t.table[n].Calltime, t.table[n].Ret = c.Time, f.Ret
	f.Ret = firstTrampoline + uint64(n)*trampolineSize
	t.Work.Add(0, 3, work.LinesOf(3*n, 3), 0)
}

// Leave handles the return to a slot's trampoline: it calls Return, frees the slot and
// puts the real return address into f.Ret. It panics if the slot is free, because then
// there is no address to return to.
//
// Kernel: ftrace_return_to_handler.
func (t *Table) Leave(c *machine.CPU, f *machine.Frame) {
	n, ok := Trampoline(f.Ret)
	if !ok || t.free>>n&1 == 1 {
		panic("slots: invariant: return to the trampoline of a free slot")
	}
	s := &t.table[n]
	s.Rettime = c.Time
	if t.Return != nil {
		t.Return(c, s)
	}
	f.Ret = s.Ret
	t.free |= 1 << n
	t.Work.Add(1, 4, 1+work.LinesOf(3*n, 3), 0)
}

// RetAddr returns, for an unwinder, the address that ret stands for: that of the slot to
// whose trampoline it leads. Any other address is returned as it is.
//
// Departure: the patch of 2008 has nothing like that. A stack of its kernel shows the
// trampoline, which has no symbol.
func (t *Table) RetAddr(ret uint64) uint64 {
	if n, ok := Trampoline(ret); ok {
		return t.table[n].Ret
	}
	return ret
}

// Taken yields the slots that are taken, by their number.
func (t *Table) Taken(yield func(int, Slot) bool) {
	for taken := t.enabled &^ t.free; taken != 0; taken &= taken - 1 {
		n := bits.TrailingZeros32(taken)
		if !yield(n, t.table[n]) {
			return
		}
	}
}
