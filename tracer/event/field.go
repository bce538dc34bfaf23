package event

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"ftracelab/tracer/event/printfmt"
)

// Field is one field of a record as the format file shows it. Its methods read
// records of any content: what lies beyond the record's end reads as zero or
// as nothing.
type Field struct {
	Name   string
	Decl   string // "char prev_comm[16]", as in field:
	Offset int    // bytes from the record's start
	Size   int    // bytes in the fixed part; 0 for an open-ended array
	Signed bool
}

// Uint is the field as an unsigned integer of Size bytes (at most 8). For a
// dynamic field it is the location word.
func (f *Field) Uint(data []byte) uint64 {
	if f.Offset >= 0 && f.Offset+f.Size <= len(data) {
		b := data[f.Offset:]
		switch f.Size {
		case 1:
			return uint64(b[0])
		case 2:
			return uint64(binary.LittleEndian.Uint16(b))
		case 4:
			return uint64(binary.LittleEndian.Uint32(b))
		case 8:
			return binary.LittleEndian.Uint64(b)
		}
	}
	var v uint64
	for i := range min(f.Size, 8) {
		if k := f.Offset + i; k >= 0 && k < len(data) {
			v |= uint64(data[k]) << (8 * i)
		}
	}
	return v
}

// Int is the field as an integer, extended by its sign if it has one.
func (f *Field) Int(data []byte) int64 {
	v := f.Uint(data)
	if !f.Signed || f.Size <= 0 || f.Size >= 8 {
		return int64(v)
	}
	shift := 64 - 8*f.Size
	return int64(v<<shift) >> shift
}

// CType is the field's C type as the kernel names it: "char[16]" of "char
// prev_comm[16]", "__data_loc char[]" of "__data_loc char[] name".
//
// Kernel: f_show, kernel/trace/trace_events.c, takes it apart.
func (f *Field) CType() string {
	decl, brackets := f.Decl, ""
	if strings.HasSuffix(decl, "]") {
		at := max(strings.LastIndexByte(decl, '['), 0)
		decl, brackets = decl[:at], decl[at:]
		if brackets == "[]" && f.Size > 0 && !f.Dynamic() {
			// Synthetic events show their length in this way.
			brackets = fmt.Sprintf("[%d]", f.Size/f.ElemSize())
		}
	}
	return strings.TrimRight(strings.TrimSuffix(decl, f.Name), " ") + brackets
}

// Bytes is the field's content: the data that a __data_loc or __rel_loc word
// points to, everything that follows for an open-ended array, and otherwise the
// bytes in place. It aliases data. Data that does not lie inside data is cut off.
func (f *Field) Bytes(data []byte) []byte {
	p := f.printField()
	return p.Bytes(data)
}

// String is the content up to its first NUL.
func (f *Field) String(data []byte) string {
	b := f.Bytes(data)
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// Dynamic reports whether the field's content is found through a location word.
func (f *Field) Dynamic() bool {
	return strings.HasPrefix(f.Decl, "__data_loc ") || f.Relative()
}

// Relative reports whether the location word counts from its own end (__rel_loc), not from
// the start of the record.
func (f *Field) Relative() bool { return strings.HasPrefix(f.Decl, "__rel_loc ") }

// OpenEnded reports whether the field is an array that ends where the record does.
func (f *Field) OpenEnded() bool { return f.Size == 0 }

// IsArray reports whether the field is declared with brackets.
func (f *Field) IsArray() bool { return strings.IndexByte(f.Decl, '[') >= 0 }

// IsText reports whether the content is a C string: an array of char, fixed or
// dynamic.
//
// Kernel: filter_assign_type, kernel/trace/trace_events_filter.c.
func (f *Field) IsText() bool {
	return f.IsArray() && strings.Contains(" "+f.Decl, " char") && !strings.Contains(f.Decl, "unsigned char")
}

// ElemSize is the size in bytes of one element of an array, or of the field
// itself if it is not an array.
func (f *Field) ElemSize() int {
	if !f.IsArray() && !f.Dynamic() {
		return f.Size
	}
	size, known := printfmt.ElemSize(f.Decl)
	if known && (f.Dynamic() || f.Size%size == 0) {
		return size
	}
	if n := f.length(); n > 0 && f.Size%n == 0 {
		return f.Size / n
	}
	return 1
}

// length is the number in the brackets, 0 if there is none.
func (f *Field) length() int {
	_, rest, _ := strings.Cut(f.Decl, "[")
	digits, _, _ := strings.Cut(rest, "]")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// printField gives the field in the form that package printfmt needs, without the size
// of its elements.
func (f *Field) printField() printfmt.Field {
	p := printfmt.Field{Name: f.Name, Offset: f.Offset, Size: f.Size, Signed: f.Signed, Elem: 1}
	switch {
	case strings.HasPrefix(f.Decl, "__data_loc "):
		p.Kind = printfmt.DataLoc
	case strings.HasPrefix(f.Decl, "__rel_loc "):
		p.Kind = printfmt.RelLoc
	case f.IsArray() || f.Size != 1 && f.Size != 2 && f.Size != 4 && f.Size != 8:
		p.Kind = printfmt.Array
	}
	return p
}
