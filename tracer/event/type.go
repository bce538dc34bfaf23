package event

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"ftracelab/tracer/event/printfmt"
)

// Type is an event type. Define makes it from a declaration, ParseFormat from a
// kernel's format file, NewType from a list of fields. It does not change afterwards
// and is safe for concurrent use.
type Type struct {
	System, Name string
	ID           int
	Common       []Field // the header's fields
	Fields       []Field // the event's own, in the format file's order
	PrintFmt     string  // what follows "print fmt: "

	// Size is the size in bytes of the fixed part, common header included, with the
	// padding C adds at its end. An array that ends with the record adds nothing to it.
	// See [ParseFormat] for what a format file tells about it.
	Size int

	compiled sync.Once // compiles PrintFmt when it is first needed: a trace has few of a kernel's 2000 types
	program  *printfmt.Program
	err      error
	declared bool // made by Define, so a mistake in PrintFmt is our own
	variable bool // declared in Go with an array that is as long as the record
}

// Env is what rendering needs from outside.
type Env = printfmt.Env

// Symbols resolves kernel addresses (kallsyms).
type Symbols = printfmt.Symbols

// NewType makes the type of an event known only at run time (a probe, a
// synthetic event): the common header's usual fields are added to fields, whose
// offsets count from the record's start.
//
// A print fmt that cannot be compiled is kept as text and reported by PrintErr.
//
// Errors: a field that overlaps the header, a size below 0.
func NewType(id int, system, name, printFmt string, fields []Field) (*Type, error) {
	t := &Type{System: system, Name: name, ID: id, Common: commonFields(len(usualCommon)), Fields: fields, PrintFmt: printFmt}
	for i := range fields {
		f := &fields[i]
		if f.Offset < CommonSize || f.Size < 0 {
			return nil, fmt.Errorf("event %s/%s: field %q: offset %d, size %d", system, name, f.Name, f.Offset, f.Size)
		}
	}
	t.Size = t.extent()
	return t, nil
}

// WithID returns the same event with another id. The kernel gives an event its id when the
// module that has it is loaded.
func (t *Type) WithID(id int) *Type {
	return &Type{
		System: t.System, Name: t.Name, ID: id, Common: t.Common, Fields: t.Fields, PrintFmt: t.PrintFmt, Size: t.Size,
		declared: t.declared, variable: t.variable,
	}
}

func (t *Type) String() string { return t.System + "/" + t.Name }

// Field finds a field by name, the common header's included; nil if there is none. If
// several have that name, which is possible in a synthetic event only, it is the last
// of them.
//
// Kernel: trace_find_event_field, kernel/trace/trace_events.c.
func (t *Type) Field(name string) *Field {
	for i := len(t.Fields) - 1; i >= 0; i-- {
		if t.Fields[i].Name == name {
			return &t.Fields[i]
		}
	}
	for i := range t.Common {
		if t.Common[i].Name == name {
			return &t.Common[i]
		}
	}
	return nil
}

// Dynamic reports whether records of the type differ in length, because some field is
// found through a location word or ends with the record.
func (t *Type) Dynamic() bool {
	if t.variable {
		return true
	}
	for i := range t.Fields {
		if t.Fields[i].Dynamic() || t.Fields[i].OpenEnded() || t.variableArray(&t.Fields[i]) {
			return true
		}
	}
	return false
}

// variableArray recognises the stack arrays that the kernel declares with 8
// entries in the format file and writes with as many as there are.
//
// Kernel: struct stack_entry, FTRACE_STACK_ENTRIES, kernel/trace/trace.h.
func (t *Type) variableArray(f *Field) bool {
	return t.System == "ftrace" && t.Name == "kernel_stack" && f.Name == "caller"
}

// extent is the end of the last field, rounded up as C pads a struct.
func (t *Type) extent() int {
	end, align := CommonSize, 4
	for i := range t.Fields {
		f := &t.Fields[i]
		if t.variableArray(f) {
			end, align = max(end, f.Offset), 8
			continue
		}
		end = max(end, f.Offset+f.Size)
		align = max(align, t.alignment(f))
	}
	return roundUp(end, align)
}

// alignment guesses a field's alignment in C from its element's size.
func (t *Type) alignment(f *Field) int {
	size := f.ElemSize()
	if f.Dynamic() {
		size = 4
	}
	switch size {
	case 2, 4, 8:
		if f.Offset%size == 0 {
			return size
		}
	}
	return 1
}

func roundUp(n, align int) int { return (n + align - 1) / align * align }

// compile compiles the print fmt and records what is wrong with it.
func (t *Type) compile() {
	t.program, t.err = printfmt.Compile(t.PrintFmt, func(name string) (printfmt.Field, bool) {
		f := t.Field(name)
		if f == nil {
			return printfmt.Field{}, false
		}
		p := f.printField()
		if p.Kind != printfmt.Scalar {
			p.Elem = f.ElemSize()
		} else {
			p.Elem = f.Size
		}
		return p, true
	})
	if t.err != nil {
		t.err = fmt.Errorf("event %s: print fmt: %w", t, t.err)
	} else if u := outsideSymbols(t.program.Unknown()); len(u) > 0 {
		t.err = fmt.Errorf("event %s: print fmt: unknown outside the kernel: %s", t, strings.Join(u, ", "))
	}
	if t.err != nil && t.declared {
		panic(fmt.Sprintf("event: invariant: declaration of %v", t.err))
	}
}

// outsideSymbols leaves out the names whose addresses can be asked of Env.Symbols when
// a record is printed.
func outsideSymbols(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "_stext" })
}

// PrintErr says why the print fmt cannot be rendered completely: it could not be
// compiled, or it uses names that only the kernel can evaluate. nil: it can.
func (t *Type) PrintErr() error {
	t.compiled.Do(t.compile)
	return t.err
}

// Text makes text from the records of a type, like [Type.AppendText], but always with
// the same env.
type Text struct {
	typ           *Type
	env           *Env
	program       *printfmt.Program // nil: it could not be compiled
	before, after string
}

// Text binds the print fmt to env, whose symbols must not move from then on. From the
// second record on, it is quicker than AppendText. before and after are put around the
// text of each record.
func (t *Type) Text(env *Env, before, after string) Text {
	t.compiled.Do(t.compile)
	text := Text{typ: t, env: env, before: before, after: after}
	if t.program != nil {
		text.program = t.program.Bind(env, before, after)
	}
	return text
}

// Append appends the text of data.
func (t *Text) Append(dst, data []byte) []byte {
	if t.program == nil {
		return append(t.typ.AppendText(append(dst, t.before...), data, t.env), t.after...)
	}
	return t.program.Append(dst, data, t.env)
}

// AppendText appends the text that the print fmt makes of data, which includes the
// common header: what stands behind "event_name: ", without a newline. env may be nil.
//
// If the print fmt could not be compiled, the text is "[FAILED TO PARSE]" and the
// fields, as in trace-cmd. A record that is too short reads as if zeros followed.
//
// Departure: an expression that only the kernel can compute, because it uses its
// functions, enum constants or memory, prints as "[unknown NAME]".
//
// Kernel: trace_raw_output_… , include/trace/stages/stage3_trace_output.h.
func (t *Type) AppendText(dst, data []byte, env *Env) []byte {
	t.compiled.Do(t.compile)
	if t.program == nil {
		return t.AppendFields(append(dst, "[FAILED TO PARSE]"...), data, env)
	}
	return t.program.Append(dst, data, env)
}
