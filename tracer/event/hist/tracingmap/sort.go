package tracingmap

import (
	"bytes"
	"cmp"
)

// SortKey is one of the fields a map was made with, by which to sort.
//
// Kernel: struct tracing_map_sort_key, kernel/trace/tracing_map.h.
type SortKey struct {
	Field      int
	Descending bool
}

// compare orders two elements.
type compare func(a, b *Element) int

// Sorted returns the map's elements in the order of the first key; elements
// that are equal by it are ordered by the second, if there is one.
//
// The order of equal elements is determined, too: first all are ordered by the
// bytes of their keys, and then the kernel's heapsort, which is not stable,
// moves them in its own way.
//
// Kernel: tracing_map_sort_entries and detect_dups,
// kernel/trace/tracing_map.c.
func (m *Map) Sorted(keys []SortKey) []*Element {
	elements := make([]*Element, 0, m.used)
	for n := range m.used {
		elements = append(elements, m.element(n))
	}
	heapsort(elements, func(a, b *Element) int { return bytes.Compare(a.Key, b.Key) })
	first := m.order(keys[0])
	heapsort(elements, first)
	if len(keys) > 1 {
		sortEqual(elements, first, m.order(keys[1]))
	}
	return elements
}

// order is how a sort key orders elements.
//
// Kernel: cmp_entries_sum and cmp_entries_key, kernel/trace/tracing_map.c.
func (m *Map) order(k SortKey) compare {
	f := m.fields[k.Field]
	sign := 1
	if k.Descending {
		sign = -1
	}
	if f.Compare == nil {
		return func(a, b *Element) int { return sign * cmp.Compare(a.Sums[k.Field], b.Sums[k.Field]) }
	}
	return func(a, b *Element) int { return sign * f.Compare(a.Key[f.Offset:], b.Key[f.Offset:]) }
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
// once. The order in which it leaves equal elements shows in a histogram's
// file.
//
// Kernel: sort_r, lib/sort.c.
func heapsort(s []*Element, by compare) {
	n := len(s)
	if n < 2 {
		return
	}
	for a := n / 2; a > 0; {
		a--
		siftDown(s[:n], a, by)
	}
	for n > 3 {
		n--
		s[0], s[n] = s[n], s[0]
		// The larger child of the root is the next largest of all. The last
		// element takes its place, and then both holes are filled from below.
		child := 2
		if by(s[1], s[2]) > 0 {
			child = 1
		}
		n--
		s[child], s[n] = s[n], s[child]
		siftDown(s[:n], child, by)
		siftDown(s[:n], 0, by)
	}
	n--
	s[0], s[n] = s[n], s[0]
	if n == 2 && by(s[0], s[1]) > 0 {
		s[0], s[1] = s[1], s[0]
	}
}

// siftDown puts the element at a into the heap below it: down the larger
// children to a leaf, and up from there to its place.
func siftDown(s []*Element, a int, by compare) {
	b := a
	for 2*b+2 < len(s) {
		c := 2*b + 1
		if by(s[c], s[c+1]) > 0 {
			b = c
		} else {
			b = c + 1
		}
	}
	if 2*b+2 == len(s) {
		b = 2*b + 1 // a leaf without a sibling
	}
	for b != a && by(s[a], s[b]) >= 0 {
		b = (b - 1) / 2
	}
	for place := b; b != a; {
		b = (b - 1) / 2
		s[b], s[place] = s[place], s[b]
	}
}

// Compare orders what begins at a and at b in two keys.
type Compare func(a, b []byte) int

// Unordered treats all keys as equal; stacks are compared like this.
//
// Kernel: tracing_map_cmp_none, kernel/trace/tracing_map.c.
func Unordered(_, _ []byte) int { return 0 }

// ByText orders texts that end with a NUL.
//
// Kernel: tracing_map_cmp_string, kernel/trace/tracing_map.c.
func ByText(a, b []byte) int { return bytes.Compare(keyText(a), keyText(b)) }

// ByNumber is the order of numbers of so many bytes. Numbers of another size
// than 1, 2, 4 or 8 are not ordered.
//
// Kernel: tracing_map_cmp_num, kernel/trace/tracing_map.c.
func ByNumber(size int, signed bool) Compare {
	if size != 1 && size != 2 && size != 4 && size != 8 {
		return Unordered
	}
	shift := 64 - 8*size
	if signed {
		return func(a, b []byte) int {
			return cmp.Compare(int64(keyNumber(a)<<shift), int64(keyNumber(b)<<shift))
		}
	}
	return func(a, b []byte) int { return cmp.Compare(keyNumber(a)<<shift, keyNumber(b)<<shift) }
}

// keyNumber is the word at the beginning of b, little-endian.
func keyNumber(b []byte) uint64 { return uint64(word(b)) | uint64(word(b[4:]))<<32 }

// keyText is the part of b before the first NUL.
func keyText(b []byte) []byte {
	if n := bytes.IndexByte(b, 0); n >= 0 {
		return b[:n]
	}
	return b
}
