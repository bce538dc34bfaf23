package event

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Def is an event declared in Go, with its encoder and decoder. It does not
// change after Define and is safe for concurrent use.
type Def[T any] struct {
	*Type
	plan plan
}

// Define derives an event type from the struct T. It panics on a faulty
// declaration. A print fmt that cannot be compiled or names something unknown
// is a faulty declaration, too, but it is compiled only when it is first
// needed, and panics then.
//
// Each field of T carries the C declaration as its tag, `c:"char comm[16]"`,
// and is laid out in order after the common header, aligned as on x86-64. The
// Go type gives size and sign; the tag only gives what the format file shows:
//
//	int8 … uint64, bool        a scalar
//	[N]uint8, [N]uint64 …      an array in place
//	string                     with "__data_loc char[] x": dynamic data with a
//	                           closing NUL; with "char x[]": what ends the record,
//	                           likewise with a NUL
//	[]byte, []uint32, []uint64 with "__data_loc u64[] x", "u32 x[]": likewise, no NUL;
//	                           "__rel_loc u64 x[]" counts from the end of its word
//	[]uint64                   with "unsigned long x[8]": the format file shows
//	                           8, a record holds as many as there are
//
// A field without a tag takes part in the layout but not in the format file: _
// [4]byte is padding, and _ [0]uint64 aligns. A field _ struct{} with the tag
// "__packed" removes all alignment.
//
// Kernel: TRACE_EVENT, include/trace/stages; FTRACE_ENTRY, kernel/trace/trace_entries.h.
func Define[T any](id int, system, name, printFmt string) *Def[T] {
	t := &Type{System: system, Name: name, ID: id, Common: commonFields(len(usualCommon)), PrintFmt: printFmt, declared: true}
	l := layout{typ: t, end: CommonSize, align: 4, maxAlign: 8}
	if err := l.add(reflect.TypeFor[T]()); err != nil {
		panic(fmt.Sprintf("event: invariant: declaration of %s: %v", t, err))
	}
	t.Size = roundUp(l.end, l.align)
	t.variable = l.plan.open != nil || len(l.plan.dynamic) > 0
	l.plan.size, l.plan.dataStart = t.Size, l.end
	return &Def[T]{Type: t, plan: l.plan}
}

// layout gives the fields of a struct their places.
type layout struct {
	typ      *Type
	plan     plan
	end      int // where the last field ends
	align    int // the alignment of the struct
	maxAlign int // the largest alignment that counts; 1 if the struct is packed
}

// add places every field of a struct type.
func (l *layout) add(st reflect.Type) error {
	if st.Kind() != reflect.Struct {
		return fmt.Errorf("%s is not a struct", st)
	}
	for i := range st.NumField() {
		sf := st.Field(i)
		decl := sf.Tag.Get("c")
		if decl == "__packed" {
			l.maxAlign, l.align = 1, 1
			continue
		}
		if l.plan.open != nil {
			return fmt.Errorf("field %s behind one that ends the record", sf.Name)
		}
		if err := l.field(sf, decl); err != nil {
			return fmt.Errorf("field %s: %w", sf.Name, err)
		}
	}
	return nil
}

// field places one field.
func (l *layout) field(sf reflect.StructField, decl string) error {
	k, err := kindOf(sf.Type)
	if err != nil {
		return err
	}
	f := Field{Name: declName(decl), Decl: decl, Signed: k.signed}
	dynamic := f.Dynamic()
	size, align := k.size*k.count, k.size
	switch {
	case dynamic && k.variable:
		size, align = 4, 4
	case dynamic:
		return fmt.Errorf("%s cannot be dynamic", sf.Type)
	case k.variable:
		size = 0
		if decl == "" {
			return fmt.Errorf("%s without a declaration", sf.Type)
		}
	}
	align = min(align, l.maxAlign)
	l.align = max(l.align, align)
	l.end = roundUp(l.end, align)
	f.Offset, f.Size = l.end, size
	l.end += size
	if k.variable && !dynamic {
		// An array with a length in its declaration. The format file shows that length;
		// a record may hold any number of elements.
		f.Size = f.length() * k.size
	}
	if decl == "" {
		return nil
	}
	if f.Name == "" || !sf.IsExported() && sf.Name != "_" {
		return fmt.Errorf("tag %q or field without a name", decl)
	}
	if n := f.length(); !k.variable && strings.Contains(decl, "[") && n != k.count {
		return fmt.Errorf("tag says %s elements, the Go type has %d", strconv.Itoa(n), k.count)
	}
	l.typ.Fields = append(l.typ.Fields, f)
	l.plan.add(sf.Index[0], k, &f)
	return nil
}

// kind is what the codec needs to know about a Go type.
type kind struct {
	elem     reflect.Kind
	size     int // how many bytes one element has
	count    int // how many elements lie in place
	signed   bool
	array    bool
	variable bool // string or slice
}

func kindOf(t reflect.Type) (kind, error) {
	k := kind{count: 1}
	switch t.Kind() {
	case reflect.String:
		k.elem, k.size, k.variable = reflect.String, 1, true
		return k, nil
	case reflect.Slice:
		k.variable = true
		t = t.Elem()
	case reflect.Array:
		k.array, k.count = true, t.Len()
		t = t.Elem()
	}
	k.elem = t.Kind()
	switch t.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		k.signed = true
	case reflect.Bool, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
	default:
		return k, fmt.Errorf("type %s has no place in a record", t)
	}
	if k.variable && t.Kind() == reflect.Bool {
		return k, fmt.Errorf("type %s has no place in a record", t)
	}
	k.size = int(t.Size())
	return k, nil
}
