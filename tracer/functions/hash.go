package functions

import "math/bits"

// Hash is a set of functions by the addresses of their patched calls, in the kernel's
// buckets. So a file that lists a set by walking the table has the kernel's order. The
// zero value is an empty set.
//
// Kernel: struct ftrace_hash, kernel/trace/ftrace.c.
type Hash struct {
	bits    int        // log2 of the number of buckets
	buckets [][]uint64 // each from the oldest to the latest entry; walked backwards
	Count   int
	Modules bool // the set also has names of modules that may be loaded later
}

// defaultHashBits is how many bits a table has while it is written to, maxHashBits how
// many it has at most.
//
// Kernel: FTRACE_HASH_DEFAULT_BITS and FTRACE_HASH_MAX_BITS, kernel/trace/trace.h
// and ftrace.c.
const (
	defaultHashBits = 10
	maxHashBits     = 12
)

// Empty reports whether the set stands for every function.
func (h *Hash) Empty() bool { return h.Count == 0 && !h.Modules }

func (h *Hash) bucket(ip uint64) int {
	return int(ip * 0x61c8864680b583eb >> (64 - h.bits)) // hash_64; a shift by 64 gives 0
}

// Has reports whether a function is in the set.
func (h *Hash) Has(ip uint64) bool {
	if h.Count == 0 {
		return false
	}
	for _, have := range h.buckets[h.bucket(ip)] {
		if have == ip {
			return true
		}
	}
	return false
}

// Add puts a function into the set.
func (h *Hash) Add(ip uint64) {
	if h.buckets == nil {
		h.bits = defaultHashBits
		h.buckets = make([][]uint64, 1<<h.bits)
	}
	if !h.Has(ip) {
		b := h.bucket(ip)
		h.buckets[b] = append(h.buckets[b], ip)
		h.Count++
	}
}

// Remove takes a function out of the set.
func (h *Hash) Remove(ip uint64) {
	if h.Count == 0 {
		return
	}
	b := h.bucket(ip)
	for n, have := range h.buckets[b] {
		if have == ip {
			h.buckets[b] = append(h.buckets[b][:n:n], h.buckets[b][n+1:]...)
			h.Count--
			return
		}
	}
}

// Forget makes the entry of a function that is gone match nothing. The set keeps its
// size.
//
// Kernel: clear_mod_from_hash, kernel/trace/ftrace.c.
func (h *Hash) Forget(ip uint64) {
	if h.Count == 0 {
		return
	}
	for n, have := range h.buckets[h.bucket(ip)] {
		if have == ip {
			h.buckets[h.bucket(ip)][n] = 0
		}
	}
}

// All yields the set in the order in which the kernel walks the table. The set
// must not change meanwhile.
func (h *Hash) All(yield func(ip uint64) bool) {
	for _, b := range h.buckets {
		for n := len(b) - 1; n >= 0; n-- {
			if !yield(b[n]) {
				return
			}
		}
	}
}

// Edit returns a copy that can be written to.
//
// Kernel: alloc_and_copy_ftrace_hash, kernel/trace/ftrace.c.
func (h *Hash) Edit() Hash {
	e := h.resized(defaultHashBits)
	e.Modules = h.Modules
	return e
}

// Settled returns the set in a table of the size that it gets when the file is closed.
//
// Kernel: __ftrace_hash_move, kernel/trace/ftrace.c.
func (h *Hash) Settled() Hash {
	if h.Empty() {
		return Hash{}
	}
	s := h.resized(min(bits.Len(uint(h.Count/2)), maxHashBits))
	s.Modules = h.Modules
	return s
}

func (h *Hash) resized(size int) Hash {
	r := Hash{bits: size, buckets: make([][]uint64, 1<<size)}
	for ip := range h.All {
		r.Add(ip)
	}
	return r
}

// OpsHash says which functions a user of function entries wants.
//
// Kernel: struct ftrace_ops_hash, include/linux/ftrace.h.
type OpsHash struct {
	Filter, Notrace Hash
}

// Wants reports whether the function whose patched call is at ip is among them. An empty
// filter stands for every function; a function in Notrace is never among them.
//
// Kernel: hash_contains_ip, kernel/trace/ftrace.c.
func (h *OpsHash) Wants(ip uint64) bool {
	return (h.Filter.Empty() || h.Filter.Has(ip)) && !h.Notrace.Has(ip)
}
