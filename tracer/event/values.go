package event

import "encoding/binary"

// Values are what a record is made of, field by field, in the order of Type.Fields.
type Values interface {
	// Value is the number in a field of one, two, four or eight bytes.
	Value(field int) uint64
	// Text appends the content of an array; ok is false if the field is a number.
	Text(dst []byte, field int) (_ []byte, ok bool)
}

// AppendValues appends a record of type t to dst: the header, the fixed fields, and the
// content of the dynamic ones in their order. An array that does not fit into its field is
// cut off.
//
// It is for types that a format file declares. Those declared in Go have Def.Append.
func (t *Type) AppendValues(dst []byte, c Common, v Values) []byte {
	start, end := len(dst), CommonSize
	for i := range t.Fields {
		end = max(end, t.Fields[i].Offset+t.Fields[i].Size)
	}
	dst = appendZeros(dst, end)
	c.Put(dst[start:])
	for i := range t.Fields {
		f := &t.Fields[i]
		at, size := start+f.Offset, f.Size
		tail := len(dst)
		content, ok := v.Text(dst, i)
		switch dst = content; {
		case !ok:
			putUint(dst[at:], min(size, 8), v.Value(i))
		case f.Dynamic():
			binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-tail)<<16|uint32(tail-start))
		case !f.OpenEnded():
			copy(dst[at:at+size], dst[tail:])
			dst = dst[:tail]
		}
	}
	if short := t.Size - (len(dst) - start); short > 0 {
		dst = appendZeros(dst, short)
	}
	return dst
}
