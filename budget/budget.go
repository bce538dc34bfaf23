// Package budget limits the memory that a program uses for its input. Before a reader
// takes memory whose size the input decides, it asks the budget. If that would be too
// much, the answer is an error, and nothing has been allocated yet.
//
//	b := budget.New(128 << 20)
//	if err := b.Take(size, "kallsyms"); err != nil { … }
//
// A budget is a value that is passed down; there is no global one. It counts only what
// can grow with the input, and counts it generously. What a program needs for any input
// is [Own].
package budget

import (
	"fmt"
	"sync"
)

// Sizes in bytes.
const (
	// Default is the memory of a budget if the user names none.
	Default = 128 << 20
	// Own is the part of the memory that the program itself needs: its code, the Go
	// runtime, buffers of a fixed size, and tables whose size other constants limit.
	Own = 52 << 20
	// Least is the smallest memory that a budget can have.
	Least = 64 << 20
)

// Budget is a limit for all readers that it is passed to, together. Its methods may be
// called from several goroutines, but if timing decides the order of their calls, it
// also decides which of them gets the error.
type Budget struct {
	memory int64 // what the whole program may use
	share  int64 // if the program gets more memory, this budget gets 1/share of the addition

	mu    sync.Mutex
	limit int64 // the most that used may be
	used  int64
}

// New makes a budget for a program that may use memory bytes in all; less than [Least]
// becomes Least.
func New(memory int64) *Budget {
	memory = max(memory, Least)
	return &Budget{memory: memory, share: 1, limit: memory - Own}
}

// Part takes 1/share of what is left and makes a budget of it. If each goroutine has a
// part, timing does not decide who gets what.
func (b *Budget) Part(share int64) *Budget {
	b.mu.Lock()
	defer b.mu.Unlock()
	part := &Budget{memory: b.memory, share: b.share * share, limit: (b.limit - b.used) / share}
	b.used += part.limit
	return part
}

// OrDefault gives b, or a new budget of the [Default] size if b is nil.
func OrDefault(b *Budget) *Budget {
	if b == nil {
		return New(Default)
	}
	return b
}

// Memory is the memory that the budget was made with.
func (b *Budget) Memory() int64 { return b.memory }

// Take asks for n bytes before they are allocated; what says for which purpose. If it
// fails, the error is an [*Error], and nothing is taken.
func (b *Budget) Take(n int64, what string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if left := b.limit - b.used; n > left {
		return &Error{What: what, Size: n, Used: b.used, Memory: b.memory, short: n - left, share: b.share}
	}
	b.used += n
	return nil
}

// Give gives back n bytes that were taken.
func (b *Budget) Give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used -= n; b.used < 0 {
		panic("budget: invariant: more given back than was taken")
	}
}

// Error says that something is too large for the budget.
type Error struct {
	What   string
	Size   int64 // what was asked for
	Used   int64 // what had been taken before
	Memory int64 // the memory that the budget was made with

	short, share int64
}

func (e *Error) Error() string {
	held := ""
	if e.Used >= 1<<20 {
		held = fmt.Sprintf(" beside the %d MiB taken before", e.Used>>20)
	}
	return fmt.Sprintf("%s would take %s of memory%s, more than --memory %s allows: at least --memory %s is needed",
		e.What, amount(e.Size), held, amountFlag(e.Memory), amountFlag(e.Needed()))
}

// Needed is the memory with which the budget would have been enough up to here, rounded
// up.
func (e *Error) Needed() int64 {
	const step, most = 16 << 20, int64(1<<62) &^ (1<<20 - 1)
	if e.short > (most-e.Memory)/e.share-step {
		return most
	}
	return (e.Memory + e.short*e.share + step - 1) / step * step
}

func amount(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", (n-1)>>10+1)
	}
	return fmt.Sprintf("%d MiB", (n-1)>>20+1)
}

func amountFlag(n int64) string { return fmt.Sprintf("%dM", (n-1)>>20+1) }
