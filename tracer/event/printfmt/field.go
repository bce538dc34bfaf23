package printfmt

// Field is what the interpreter needs to know of a field of the record.
type Field struct {
	Name   string
	Offset int
	Size   int // as in the format file; 0 for an open-ended array
	Signed bool
	Elem   int // bytes of one element; Size for a scalar
	Kind   Kind
}

// Kind is where a field's bytes are.
type Kind uint8

const (
	// Scalar is an integer of 1, 2, 4 or 8 bytes.
	Scalar Kind = iota
	// Array is in place: an array, a struct, or with size 0 all that follows.
	Array
	// DataLoc is a __data_loc word: length<<16 | offset from the record's start.
	DataLoc
	// RelLoc is a __rel_loc word: likewise, from the end of the word.
	RelLoc
)

// value is what REC->field gives.
func (f *Field) value(rec []byte) value {
	if f.Kind == Array {
		return value{kind: vBytes, s: f.Bytes(rec), elem: f.Elem, elemSigned: f.Signed}
	}
	return integer(load(rec, f.Offset, f.Size), f.Size, f.Signed)
}

// Bytes is the field's content, resolved through its location word if it has
// one. It aliases rec and is shorter than declared, or nil, when rec is.
func (f *Field) Bytes(rec []byte) []byte {
	switch f.Kind {
	case DataLoc, RelLoc:
		off, n := f.locate(rec)
		return slice(rec, off, off+n)
	}
	if f.Size == 0 {
		return slice(rec, f.Offset, len(rec))
	}
	return slice(rec, f.Offset, f.Offset+f.Size)
}

// locate decodes the location word: offset from the record's start, length.
func (f *Field) locate(rec []byte) (off, n int) {
	w := load(rec, f.Offset, 4)
	off, n = int(w&0xffff), int(w>>16)
	if f.Kind == RelLoc {
		off += f.Offset + 4
	}
	return off, n
}

// length is the result of __get_dynamic_array_len, however short the record is.
func (f *Field) length(rec []byte) uint64 {
	if f.Kind == DataLoc || f.Kind == RelLoc {
		_, n := f.locate(rec)
		return uint64(n)
	}
	return uint64(len(f.Bytes(rec)))
}
