// Package work counts what a return hook does to memory in one hit, so that designs can
// be compared without a clock: nanoseconds of this program say nothing about a kernel's.
package work

// Count is what a design has done in all hits so far.
type Count struct {
	// Atomic are the read-modify-writes (compare-and-exchange, locked additions, taking
	// a lock) on words that other CPUs write, too.
	Atomic uint64
	// Words are the 8-byte words that were written, those behind Atomic included.
	Words uint64
	// Lines are the cache lines of 64 bytes that were read or written for bookkeeping, once
	// for each entry and once for each return. Code and the caller's own stack do not
	// count.
	Lines uint64
	// Lookups are the searches in a hash table.
	Lookups uint64
}

// Add adds to c; a nil c does nothing, so that a design need not be counted.
func (c *Count) Add(atomic, words, lines, lookups int) {
	if c == nil {
		return
	}
	c.Atomic += uint64(atomic)
	c.Words += uint64(words)
	c.Lines += uint64(lines)
	c.Lookups += uint64(lookups)
}

// LinesOf is how many cache lines n words take that begin with word first of an object
// whose start is the start of a line.
func LinesOf(first, n int) int {
	if n <= 0 {
		return 0
	}
	return (first+n-1)/8 - first/8 + 1
}
