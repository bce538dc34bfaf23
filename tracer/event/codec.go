package event

import (
	"encoding/binary"
	"fmt"
	"reflect"
)

// plan says how a struct is written and read: one step for each of its fields.
type plan struct {
	fixed   []step
	dynamic []step // fields with data behind the fixed part, in the order of declaration
	open    *step  // the array that ends the record; nil: there is none

	size      int // how many bytes the fixed part has
	dataStart int // where dynamic data begins; it is not padded
}

// step moves one Go field.
type step struct {
	index    int  // the index of the Go field
	offset   int  // where the field is in the record
	relative bool // __rel_loc: the location counts from the end of its word
	kind
}

// base is where the offset in a location word counts from.
func (s *step) base() int {
	if s.relative {
		return s.offset + 4
	}
	return 0
}

func (p *plan) add(index int, k kind, f *Field) {
	s := step{index: index, offset: f.Offset, relative: f.Relative(), kind: k}
	switch {
	case f.Dynamic():
		p.dynamic = append(p.dynamic, s)
	case k.variable:
		p.open = &s
	default:
		p.fixed = append(p.fixed, s)
	}
}

// maxData is the largest offset or length that a location word can hold.
const maxData = 1<<16 - 1

// Append encodes v with its common header, in which it sets Type, and appends
// the record to dst. Nothing is allocated if dst has room.
//
// Dynamic data follows the fixed part in the order of declaration, each piece
// unaligned; the record is longer than Size by the length of that data,
// although the data may begin before Size. A piece that ends beyond 65535 is
// cut off.
//
// Kernel: include/trace/stages/stage5_get_offsets.h and stage6_event_callback.h.
func (d *Def[T]) Append(dst []byte, c Common, v *T) []byte {
	p := &d.plan
	start := len(dst)
	dst = appendZeros(dst, p.size)
	c.Type = uint16(d.ID)
	c.Put(dst[start:])
	sv := reflect.ValueOf(v).Elem()
	for i := range p.fixed {
		p.fixed[i].put(dst[start:], sv)
	}
	if len(p.dynamic) > 0 {
		return p.appendDynamic(dst, start, sv)
	}
	if p.open != nil {
		dst = p.open.appendData(dst[:start+p.open.offset], sv.Field(p.open.index))
		if short := start + p.size - len(dst); short > 0 {
			dst = appendZeros(dst, short)
		}
	}
	return dst
}

// PairSize is how many bytes a record of two words has.
const PairSize = CommonSize + 16

// PutPair encodes a record whose fields are two words, a and b, into data, which has
// PairSize bytes. It is Append without reflection, for records of which there are very
// many.
func (d *Def[T]) PutPair(data []byte, c Common, a, b uint64) {
	c.Type = uint16(d.ID)
	c.Put(data)
	binary.LittleEndian.PutUint64(data[CommonSize:], a)
	binary.LittleEndian.PutUint64(data[CommonSize+8:], b)
}

func (p *plan) appendDynamic(dst []byte, start int, sv reflect.Value) []byte {
	dst = dst[:start+p.dataStart]
	for i := range p.dynamic {
		s := &p.dynamic[i]
		at := min(len(dst)-start, maxData)
		dst = s.appendData(dst, sv.Field(s.index))
		if len(dst)-start > maxData {
			dst = dst[:start+maxData]
		}
		n := len(dst) - start - at
		binary.LittleEndian.PutUint32(dst[start+s.offset:], uint32(n)<<16|uint32(at-s.base()))
	}
	return appendZeros(dst, p.size-p.dataStart)
}

func appendZeros(dst []byte, n int) []byte {
	var zeros [64]byte
	for n > len(zeros) {
		dst = append(dst, zeros[:]...)
		n -= len(zeros)
	}
	return append(dst, zeros[:n]...)
}

// put writes a field of fixed size.
func (s *step) put(data []byte, sv reflect.Value) {
	v := sv.Field(s.index)
	if !s.array {
		putUint(data[s.offset:], s.size, scalar(s.elem, v))
		return
	}
	if s.elem == reflect.Uint8 && v.CanAddr() {
		copy(data[s.offset:], v.Bytes())
		return
	}
	for i := range s.count {
		putUint(data[s.offset+i*s.size:], s.size, scalar(s.elem, v.Index(i)))
	}
}

// appendData writes the content of a string or slice.
func (s *step) appendData(dst []byte, v reflect.Value) []byte {
	switch s.elem {
	case reflect.String:
		return append(append(dst, v.String()...), 0)
	case reflect.Uint8:
		return append(dst, v.Bytes()...)
	}
	done := 0
	if v.Type() == wordsType {
		var list wordBlock
		done = reflect.Copy(reflect.ValueOf(&list).Elem(), v)
		for _, n := range list[:done] {
			dst = binary.LittleEndian.AppendUint64(dst, n)
		}
	}
	for i := done; i < v.Len(); i++ {
		at := len(dst)
		dst = appendZeros(dst, s.size)
		putUint(dst[at:], s.size, scalar(s.elem, v.Index(i)))
	}
	return dst
}

// wordBlock is how much of a list of 64-bit words is copied at once. The addresses of
// stacks are such a list. They are most of the elements of all records, and reflection
// takes its time for each element.
type wordBlock [64]uint64

var wordsType = reflect.TypeFor[[]uint64]()

func scalar(k reflect.Kind, v reflect.Value) uint64 {
	switch k {
	case reflect.Bool:
		if v.Bool() {
			return 1
		}
		return 0
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return uint64(v.Int())
	}
	return v.Uint()
}

func putUint(b []byte, size int, v uint64) {
	switch size {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	case 8:
		binary.LittleEndian.PutUint64(b, v)
	}
}

// Decode is the inverse of Append. A dynamic string ends at its first NUL; a
// slice that ends the record takes all whole elements, ring buffer padding
// included. Slices of v are reused if they have room; nothing in v aliases data.
//
// Errors: a record that is shorter than the fixed part or of another type, or
// dynamic data that lies outside of the record; v may then be half filled.
func (d *Def[T]) Decode(data []byte, v *T) error {
	p := &d.plan
	need := p.size
	if p.open != nil {
		need = p.open.offset
	}
	if len(data) < need {
		return fmt.Errorf("event %s: record of %d bytes, needs %d", d.Type, len(data), need)
	}
	if id := ParseCommon(data).Type; int(id) != d.ID {
		return fmt.Errorf("event %s: record of type %d, not %d", d.Type, id, d.ID)
	}
	sv := reflect.ValueOf(v).Elem()
	for i := range p.fixed {
		p.fixed[i].get(data, sv)
	}
	for i := range p.dynamic {
		s := &p.dynamic[i]
		w := binary.LittleEndian.Uint32(data[s.offset:])
		off, n := int(w&0xffff)+s.base(), int(w>>16)
		if off+n > len(data) {
			return fmt.Errorf("event %s: data at %d…%d of a record of %d bytes", d.Type, off, off+n, len(data))
		}
		s.getData(data[off:off+n], sv.Field(s.index))
	}
	if p.open != nil {
		p.open.getData(data[p.open.offset:], sv.Field(p.open.index))
	}
	return nil
}

// get reads a field of fixed size.
func (s *step) get(data []byte, sv reflect.Value) {
	v := sv.Field(s.index)
	if !s.array {
		s.setScalar(v, getUint(data[s.offset:], s.size))
		return
	}
	for i := range s.count {
		s.setScalar(v.Index(i), getUint(data[s.offset+i*s.size:], s.size))
	}
}

// getData reads the content of a string or slice.
func (s *step) getData(b []byte, v reflect.Value) {
	if s.elem == reflect.String {
		v.SetString(string(text(b)))
		return
	}
	n := len(b) / s.size
	if v.Cap() < n {
		v.Set(reflect.MakeSlice(v.Type(), n, n))
	}
	v.SetLen(n)
	done := 0
	if v.Type() == wordsType {
		var list wordBlock
		for done < min(n, len(list)) {
			list[done] = binary.LittleEndian.Uint64(b[8*done:])
			done++
		}
		reflect.Copy(v, reflect.ValueOf(&list).Elem())
	}
	for i := done; i < n; i++ {
		s.setScalar(v.Index(i), getUint(b[i*s.size:], s.size))
	}
}

func (s *step) setScalar(v reflect.Value, n uint64) {
	switch {
	case s.elem == reflect.Bool:
		v.SetBool(n != 0)
	case s.signed:
		v.SetInt(int64(n)) // SetInt keeps the low bytes
	default:
		v.SetUint(n)
	}
}

func getUint(b []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}
