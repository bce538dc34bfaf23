package hist

import (
	"bytes"
	"cmp"
)

// compare orders two elements.
type compare func(a, b *Element) int

// sorted gives the map's elements in the order of first and, among those that
// are equal by it, of second, which may be nil.
//
// Which of two elements that are equal comes first is settled too: they are
// ordered by their keys' bytes before, and the kernel's heapsort, which is not
// stable, moves them as it does.
//
// Kernel: tracing_map_sort_entries and detect_dups,
// kernel/trace/tracing_map.c.
func (m *Map) sorted(first, second compare) []*Element {
	elements := make([]*Element, 0, m.used)
	for i := range m.slots {
		if e := m.slots[i].element; e != nil {
			elements = append(elements, e)
		}
	}
	heapsort(elements, func(a, b *Element) int { return bytes.Compare(a.Key, b.Key) })
	heapsort(elements, first)
	if second != nil {
		sortEqual(elements, first, second)
	}
	return elements
}

// sortEqual orders by second what is equal by first.
//
// Kernel: sort_secondary, kernel/trace/tracing_map.c.
func sortEqual(elements []*Element, first, second compare) {
	start, run := 0, 1
	for i := range max(len(elements)-1, 0) {
		if first(elements[i], elements[i+1]) == 0 {
			run++
			if i < len(elements)-2 {
				continue
			}
		}
		if run > 1 {
			heapsort(elements[start:start+run], second)
		}
		start, run = i+1, 1
	}
}

// heapsort sorts as the kernel does: bottom up, the two largest taken out at
// once. Of elements that are equal, the order it leaves them in is part of what
// a histogram's file shows.
//
// Kernel: sort_r, lib/sort.c.
func heapsort(s []*Element, less compare) {
	n := len(s)
	if n < 2 {
		return
	}
	for a := n / 2; a > 0; {
		a--
		siftDown(s[:n], a, less)
	}
	for n > 3 {
		n--
		s[0], s[n] = s[n], s[0]
		// The larger child of the root is the next largest of all. Its place takes
		// the last one, and then both holes are filled from below.
		child := 2
		if less(s[1], s[2]) > 0 {
			child = 1
		}
		n--
		s[child], s[n] = s[n], s[child]
		siftDown(s[:n], child, less)
		siftDown(s[:n], 0, less)
	}
	n--
	s[0], s[n] = s[n], s[0]
	if n == 2 && less(s[0], s[1]) > 0 {
		s[0], s[1] = s[1], s[0]
	}
}

// siftDown puts the element at a into the heap below it: down the larger
// children to a leaf, and up from there to its place.
func siftDown(s []*Element, a int, less compare) {
	b := a
	for 2*b+2 < len(s) {
		c := 2*b + 1
		if less(s[c], s[c+1]) > 0 {
			b = c
		} else {
			b = c + 1
		}
	}
	if 2*b+2 == len(s) {
		b = 2*b + 1 // a leaf without a sibling
	}
	for b != a && less(s[a], s[b]) >= 0 {
		b = (b - 1) / 2
	}
	for place := b; b != a; {
		b = (b - 1) / 2
		s[b], s[place] = s[place], s[b]
	}
}

// compareSums orders by a sum, an unsigned number.
//
// Kernel: tracing_map_cmp_atomic64, kernel/trace/tracing_map.c.
func compareSums(i int) compare {
	return func(a, b *Element) int { return cmp.Compare(a.Sums[i], b.Sums[i]) }
}

// reversed is the descending order.
func reversed(c compare) compare {
	return func(a, b *Element) int { return -c(a, b) }
}
