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
func (f *Field) value(data []byte) value {
	if f.Kind == Array {
		return value{kind: vBytes, s: f.Bytes(data), elem: f.Elem, elemSigned: f.Signed}
	}
	return integer(load(data, f.Offset, f.Size), f.Size, f.Signed)
}

// Bytes is the field's content, resolved through its location word if it has
// one. It aliases data and is shorter than declared, or nil, when data is.
func (f *Field) Bytes(data []byte) []byte {
	switch f.Kind {
	case DataLoc, RelLoc:
		off, n := f.locate(data)
		return slice(data, off, off+n)
	}
	if f.Size == 0 {
		return slice(data, f.Offset, len(data))
	}
	return slice(data, f.Offset, f.Offset+f.Size)
}

// locate decodes the location word: offset from the record's start, length.
func (f *Field) locate(data []byte) (off, n int) {
	w := load(data, f.Offset, 4)
	off, n = int(w&0xffff), int(w>>16)
	if f.Kind == RelLoc {
		off += f.Offset + 4
	}
	return off, n
}

// length is the result of __get_dynamic_array_len, however short the record is.
func (f *Field) length(data []byte) uint64 {
	if f.Kind == DataLoc || f.Kind == RelLoc {
		_, n := f.locate(data)
		return uint64(n)
	}
	return uint64(len(f.Bytes(data)))
}
