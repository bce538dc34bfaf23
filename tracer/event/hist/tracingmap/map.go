package tracingmap

import (
	"bytes"
	"iter"
)

// The bits a histogram's size may have: 128 to 131,072 entries.
//
// Kernel: TRACING_MAP_BITS_DEFAULT and its kin, kernel/trace/tracing_map.h.
const (
	MinBits     = 7
	DefaultBits = 11
	MaxBits     = 17
)

// TextMax is the room for a text or a stack, in bytes.
//
// Kernel: STR_VAR_LEN_MAX, kernel/trace/trace_synth.h.
const TextMax = 256

// Map is the table of a histogram: elements found by their key. Only Clear
// removes elements. It takes no more elements than it was made for: further
// keys are dropped and counted.
//
// It is not safe for concurrent use.
//
// Kernel: struct tracing_map, kernel/trace/tracing_map.h.
type Map struct {
	bits    int
	keySize int // bytes
	fields  []Field
	sums    int // how many of fields are sums
	vars    int // of each element, as texts
	texts   int
	slots   []slot // twice the elements, so that a search ends
	used    int    // elements that are given out
	pool    [][]Element
	hits    uint64
	drops   uint64
}

// Field is something to sort by: a sum, or a part of the key.
//
// Kernel: struct tracing_map_field, kernel/trace/tracing_map.h.
type Field struct {
	Compare Compare // nil for a sum
	Offset  int     // bytes from the key's start
}

// slot is a place of the table; the hash 0 marks an empty one.
//
// Kernel: struct tracing_map_entry, kernel/trace/tracing_map.h.
type slot struct {
	hash    uint32
	element *Element
}

// Element is what a histogram keeps for a key.
//
// Kernel: struct tracing_map_elt, kernel/trace/tracing_map.h; struct
// hist_elt_data, kernel/trace/trace_events_hist.c.
type Element struct {
	Key   []byte
	Sums  []uint64 // of the values, the hit count first
	Vars  []Value
	Set   []bool   // which of Vars have a value
	Comm  string   // of the task that brought the key, where a key wants it
	texts [][]byte // what texts and stacks of variables are kept in
}

// Value is a number, a text or a stack. A text or stack belongs to a record or
// to an Element and changes with it.
type Value struct {
	N uint64 // of text or a stack what stands for its address
	B []byte // the text without NUL, or the stack's words, little-endian
}

// AddSum adds to a sum.
func (e *Element) AddSum(i int, n uint64) { e.Sums[i] += n }

// SetVar gives a variable its value.
func (e *Element) SetVar(i int, v Value) { e.Vars[i], e.Set[i] = v, true }

// Text is room for a text or a stack, TextMax bytes.
func (e *Element) Text(i int) []byte { return e.texts[i] }

// poolStep is how many elements are made at once. The kernel makes all of them
// when the trigger is written.
const poolStep = 128

// New makes a table of up to 1<<bits elements with a key of keySize bytes; the
// sums come before the parts of the key in fields.
//
// Kernel: tracing_map_create and tracing_map_init, kernel/trace/tracing_map.c.
func New(bits, keySize int, fields []Field, vars, texts int) *Map {
	if bits < MinBits || bits > MaxBits {
		panic("tracingmap: invariant: a map's bits are checked when the trigger is read")
	}
	m := &Map{bits: bits, keySize: keySize, fields: fields, vars: vars, texts: texts, slots: make([]slot, 2<<bits)}
	for _, f := range fields {
		if f.Compare == nil {
			m.sums++
		}
	}
	return m
}

// Bits is the binary logarithm of how many elements there may be.
func (m *Map) Bits() int { return m.bits }

// Len is how many elements there are.
func (m *Map) Len() int { return m.used }

// Hits is how often an insertion found or made its element.
func (m *Map) Hits() uint64 { return m.hits }

// Drops is how often there was no element left.
func (m *Map) Drops() uint64 { return m.drops }

// Bytes is about how much memory the map takes when it is full.
func (m *Map) Bytes() int64 {
	const element, value, text, place = 136, 33, TextMax + 24, 16
	return int64(element+m.keySize+8*m.sums+value*m.vars+text*m.texts)<<m.bits + place*int64(len(m.slots))
}

// Insert finds the element of a key or makes it; made says which. e is nil if
// there is no room for another element. The key is copied.
//
// Kernel: tracing_map_insert, kernel/trace/tracing_map.c.
func (m *Map) Insert(key []byte) (e *Element, made bool) {
	hash, at := m.find(key)
	if e = m.slots[at].element; e == nil {
		if e = m.take(); e == nil {
			m.drops++
			return nil, false
		}
		copy(e.Key, key)
		m.slots[at] = slot{hash, e}
		made = true
	}
	m.hits++
	return e, made
}

// Lookup finds the element of a key, or returns nil if there is none. It counts
// nothing.
//
// Kernel: tracing_map_lookup, kernel/trace/tracing_map.c.
func (m *Map) Lookup(key []byte) *Element {
	_, at := m.find(key)
	return m.slots[at].element
}

// find returns a key's hash and the slot where the key is or would be.
//
// Kernel: __tracing_map_insert, kernel/trace/tracing_map.c.
func (m *Map) find(key []byte) (hash uint32, at uint32) {
	hash = max(jhash(key), 1)
	mask := uint32(len(m.slots) - 1)
	for at = hash >> (32 - uint(m.bits+1)); ; at++ {
		at &= mask
		switch s := &m.slots[at]; {
		case s.hash == 0:
			return hash, at
		case s.hash == hash && bytes.Equal(s.element.Key, key):
			return hash, at
		}
	}
}

// take gives out the next element, or nil if all have been given out.
//
// Kernel: get_free_elt, kernel/trace/tracing_map.c.
func (m *Map) take() *Element {
	if m.used == 1<<m.bits {
		return nil
	}
	if m.used == len(m.pool)*poolStep {
		m.pool = append(m.pool, m.makeElements())
	}
	e := m.element(m.used)
	m.used++
	return e
}

func (m *Map) element(n int) *Element { return &m.pool[n/poolStep][n%poolStep] }

func (m *Map) makeElements() []Element {
	elements := make([]Element, poolStep)
	keys := make([]byte, poolStep*m.keySize)
	sums := make([]uint64, poolStep*m.sums)
	vars := make([]Value, poolStep*m.vars)
	set := make([]bool, poolStep*m.vars)
	texts := make([][]byte, poolStep*m.texts)
	room := make([]byte, len(texts)*TextMax)
	for i := range texts {
		texts[i] = part(room, i, TextMax)
	}
	for i := range elements {
		elements[i] = Element{
			Key: part(keys, i, m.keySize), Sums: part(sums, i, m.sums),
			Vars: part(vars, i, m.vars), Set: part(set, i, m.vars),
			texts: part(texts, i, m.texts),
		}
	}
	return elements
}

// part is the i-th part of s, of n each.
func part[T any](s []T, i, n int) []T { return s[i*n : (i+1)*n : (i+1)*n] }

// Clear empties the table and its counts.
//
// Kernel: tracing_map_clear, kernel/trace/tracing_map.c.
func (m *Map) Clear() {
	clear(m.slots)
	for n := range m.used {
		e := m.element(n)
		clear(e.Sums)
		clear(e.Vars)
		clear(e.Set)
		e.Comm = ""
	}
	m.used, m.hits, m.drops = 0, 0, 0
}

// Slot is a claimed place of the table, for drawings.
type Slot struct {
	Number  int
	Home    int // where the search for its key begins
	Hash    uint32
	Element *Element // the map's own
}

// Slots yields the claimed places in the order of their numbers.
func (m *Map) Slots() iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		for n, s := range m.slots {
			if s.hash != 0 && !yield(Slot{n, int(s.hash >> (32 - uint(m.bits+1))), s.hash, s.element}) {
				return
			}
		}
	}
}
