package hist

import "bytes"

// The bits a histogram's size may have: 128 to 131,072 entries.
//
// Kernel: TRACING_MAP_BITS_DEFAULT and its kin, kernel/trace/tracing_map.h.
const (
	MinBits     = 7
	DefaultBits = 11
	MaxBits     = 17
)

// Map is the table of a histogram: elements found by their key. It never gives
// up an element but by Clear, and it takes no more than it was made for: what
// comes after is dropped and counted.
//
// It is not safe for concurrent use.
//
// Kernel: struct tracing_map, kernel/trace/tracing_map.h.
type Map struct {
	bits  uint
	of    Sizes
	slots []slot // twice the elements, so that a search ends
	used  int    // elements that are given out
	pool  [][]Element
	hits  uint64
	drops uint64
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
	Texts [][]byte // what texts and stacks of variables are kept in: empty, with room
	Comm  string   // of the task that brought the key, where a key wants it
}

// Value is a number, or a text or a stack; these belong to a record or to an
// Element and change with it.
type Value struct {
	N uint64 // of text or a stack what stands for its address
	B []byte // the text without NUL, or the stack's words, little-endian
}

// poolStep is how many elements are made at once. The kernel makes all of them
// when the trigger is written.
const poolStep = 128

// Sizes are what each element of a map holds.
type Sizes struct {
	Key               int // bytes
	Sums, Vars, Texts int // how many
}

// NewMap makes a table of up to 1<<bits elements.
//
// Kernel: tracing_map_create and tracing_map_init, kernel/trace/tracing_map.c.
func NewMap(bits uint, of Sizes) *Map {
	if bits < MinBits || bits > MaxBits {
		panic("hist: invariant: a map's bits are checked when the trigger is read")
	}
	return &Map{bits: bits, of: of, slots: make([]slot, 2<<bits)}
}

// Bits is the binary logarithm of how many elements there may be.
func (m *Map) Bits() uint { return m.bits }

// Len is how many elements there are.
func (m *Map) Len() int { return m.used }

// Hits is how often an insertion found or made its element.
func (m *Map) Hits() uint64 { return m.hits }

// Drops is how often there was no element left.
func (m *Map) Drops() uint64 { return m.drops }

// Insert finds the element of a key or makes it, which made says; nil if there
// are too many already. The key is copied.
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

// Lookup finds the element of a key, nil if there is none. It counts nothing.
//
// Kernel: tracing_map_lookup, kernel/trace/tracing_map.c.
func (m *Map) Lookup(key []byte) *Element {
	_, at := m.find(key)
	return m.slots[at].element
}

// find gives a key's hash and the slot where it is or would be.
//
// Kernel: __tracing_map_insert, kernel/trace/tracing_map.c.
func (m *Map) find(key []byte) (hash uint32, at uint32) {
	hash = max(jhash(key), 1)
	mask := uint32(len(m.slots) - 1)
	for at = hash >> (32 - (m.bits + 1)); ; at++ {
		at &= mask
		switch s := &m.slots[at]; {
		case s.hash == 0:
			return hash, at
		case s.hash == hash && bytes.Equal(s.element.Key, key):
			return hash, at
		}
	}
}

// take gives out the next element, nil if all are.
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
	keys := make([]byte, poolStep*m.of.Key)
	sums := make([]uint64, poolStep*m.of.Sums)
	vars := make([]Value, poolStep*m.of.Vars)
	set := make([]bool, poolStep*m.of.Vars)
	texts := make([][]byte, poolStep*m.of.Texts)
	room := make([]byte, len(texts)*textRoom)
	for i := range texts {
		texts[i] = part(room, i, textRoom)[:0]
	}
	for i := range elements {
		elements[i] = Element{
			Key: part(keys, i, m.of.Key), Sums: part(sums, i, m.of.Sums),
			Vars: part(vars, i, m.of.Vars), Set: part(set, i, m.of.Vars),
			Texts: part(texts, i, m.of.Texts),
		}
	}
	return elements
}

// textRoom is the room for a text or a stack of a variable, in bytes.
//
// Kernel: STR_VAR_LEN_MAX, kernel/trace/trace_synth.h.
const textRoom = 256

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
		for i := range e.Texts {
			e.Texts[i] = e.Texts[i][:0]
		}
		e.Comm = ""
	}
	m.used, m.hits, m.drops = 0, 0, 0
}
