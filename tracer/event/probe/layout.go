package probe

import (
	"fmt"
	"strings"

	"ftracelab/tracer/event"
)

// The fields that an event has besides its arguments.
//
// Kernel: FIELD_STRING_IP and others, kernel/trace/trace_probe.h.
const (
	fieldIP    = "__probe_ip"
	fieldFunc  = "__probe_func"
	fieldRetIP = "__probe_ret_ip"
)

// head gives the fields before the arguments.
func (d *Definition) head() []string {
	switch {
	case d.Kind == Eprobe:
		return nil
	case d.Return:
		return []string{fieldFunc, fieldRetIP}
	}
	return []string{fieldIP}
}

// headSize is how many bytes of a record stand before the arguments.
func (d *Definition) headSize() int { return event.CommonSize + 8*len(d.head()) }

// NewType makes the event's type: its fields, its print fmt, and with them its
// format file. All probes of an event have the type of the first.
//
// Kernel: kprobe_event_define_fields, kretprobe_event_define_fields,
// traceprobe_define_arg_fields.
func (d *Definition) NewType(id int) (*event.Type, error) {
	var fields []event.Field
	for i, name := range d.head() {
		fields = append(fields, event.Field{Name: name, Decl: "unsigned long " + name, Offset: event.CommonSize + 8*i, Size: 8})
	}
	for i := range d.Args {
		a := &d.Args[i]
		fields = append(fields, event.Field{
			Name: a.Name, Decl: a.decl(), Offset: d.headSize() + a.offset,
			Size: a.typ.size * max(1, a.Count), Signed: a.typ.signed,
		})
	}
	return event.NewType(id, d.Group, d.Event, d.printFmt(), fields)
}

// decl is the field's declaration. An array has empty brackets: the kernel does not
// know its length any more when it writes the format file.
//
// Kernel: f_show, kernel/trace/trace_events.c.
func (a *Arg) decl() string {
	switch {
	case a.Count == 0:
		return a.typ.decl + " " + a.Name
	case a.typ.text:
		return fmt.Sprintf("%s[%d] %s", a.typ.decl, a.Count, a.Name)
	}
	return a.typ.decl + " " + a.Name + "[]"
}

// printFmt is the event's print fmt.
//
// Kernel: __set_print_fmt, kernel/trace/trace_probe.c.
func (d *Definition) printFmt() string {
	var text, args strings.Builder
	head := d.head()
	switch len(head) {
	case 1:
		text.WriteString("(%lx)")
	case 2:
		text.WriteString("(%lx <- %lx)")
	}
	for _, name := range head {
		args.WriteString(", REC->" + name)
	}
	for i := range d.Args {
		d.Args[i].appendPrintFmt(&text, &args)
	}
	return `"` + text.String() + `"` + args.String()
}

func (a *Arg) appendPrintFmt(text, args *strings.Builder) {
	text.WriteString(" " + a.Name + "=")
	value := ", REC->" + a.Name
	end := ""
	if a.typ.text {
		value, end = ", __get_str("+a.Name, ")"
	}
	if a.Count == 0 {
		text.WriteString(a.typ.format)
		args.WriteString(value + end)
		return
	}
	text.WriteString("{" + strings.Repeat(a.typ.format+",", a.Count-1) + a.typ.format + "}")
	for n := range a.Count {
		fmt.Fprintf(args, "%s[%d]%s", value, n, end)
	}
}
