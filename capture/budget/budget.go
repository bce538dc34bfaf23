// Package budget bounds what a program holds of its input: each reader asks before it
// takes memory whose size the input decides, and what would be too much is an error
// that says so beforehand.
//
//	b := budget.New(128 << 20)
//	if err := b.Take(size, "kallsyms"); err != nil { … }
//
// A budget is a value that is passed down; there is no global one. Only what can grow
// with the input is counted, and generously: what a reader needs anyway is [Own].
package budget

import (
	"fmt"
	"sync"
)

// Sizes in bytes.
const (
	// Default is the memory of a budget nobody has chosen.
	Default = 128 << 20
	// Own is the part of the memory for the program itself: its code, the Go runtime,
	// buffers of a fixed size and tables whose size other constants bound.
	Own = 52 << 20
	// Least is the least memory that a budget can be of.
	Least = 64 << 20
)

// Budget is a bound for all readers that it is passed to, together. Its methods may be
// called from several goroutines; but where the order of their calls is a matter of
// timing, so is which of them gets the error.
type Budget struct {
	memory int64 // of the program
	share  int64 // of what the program gets more, one in so many bytes is for this budget

	mu    sync.Mutex
	limit int64 // of used
	used  int64
}

// New makes a budget of so much memory for the whole program, at least [Least].
func New(memory int64) *Budget {
	memory = max(memory, Least)
	return &Budget{memory: memory, share: 1, limit: memory - Own}
}

// Part takes one in so many bytes of what is left, for a budget of its own. With a part
// for each goroutine it is no matter of timing who gets what.
func (b *Budget) Part(share int64) *Budget {
	b.mu.Lock()
	defer b.mu.Unlock()
	part := &Budget{memory: b.memory, share: b.share * share, limit: (b.limit - b.used) / share}
	b.used += part.limit
	return part
}

// OrDefault is b, or a new budget of the [Default] size if that is nil.
func OrDefault(b *Budget) *Budget {
	if b == nil {
		return New(Default)
	}
	return b
}

// Memory is what the budget was made of.
func (b *Budget) Memory() int64 { return b.memory }

// Take takes n bytes for what, before they are allocated. Nothing is taken if it
// fails, which is always with an [*Error].
func (b *Budget) Take(n int64, what string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if left := b.limit - b.used; n > left {
		return &Error{What: what, Size: n, Used: b.used, Memory: b.memory, short: n - left, share: b.share}
	}
	b.used += n
	return nil
}

// Give gives n bytes back that were taken.
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
	Size   int64 // of it
	Used   int64 // taken before
	Memory int64 // of the program

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

// Needed is the memory of a budget that would have been enough up to here, rounded up.
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
