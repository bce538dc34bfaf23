package hist

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
)

// newField makes a field as the command describes it: a field of the record, or
// what its flags name. v is nil if it is not a variable of the command.
//
// Errors: ENOMEM for a field of the record that is neither a number of 1, 2, 4
// or 8 bytes nor a text.
//
// Kernel: create_hist_field, kernel/trace/trace_events_hist.c.
func (h *Hist) newField(ev *event.Field, kind filter.Kind, fl flags, v *varDef) (*Field, error) {
	f := &Field{flags: fl, event: ev, kind: kind, hist: h}
	if v != nil {
		f.varName = v.name
	}
	switch {
	case fl&(flagExpr|flagAlias) != 0:
	case fl&flagVarRef != 0:
		f.fn = fnVarRef
	case fl&flagHitcount != 0:
		f.fn, f.size, f.typ = fnCounter, 8, "u64"
	case fl&flagConst != 0:
		f.fn, f.size, f.typ = fnConst, 8, "u64"
	case fl&flagStacktrace != 0:
		if ev != nil {
			f.fn = fnStack
		}
		f.size, f.typ = 8*stackDepth, "unsigned long[]"
	case fl&(flagLog2|flagBucket) != 0:
		f.fn = fnBucket
		if fl&flagLog2 != 0 {
			f.fn = fnLog2
		}
		operand, err := h.newField(ev, kind, fl&^(flagLog2|flagBucket), nil)
		if err != nil {
			return nil, err
		}
		f.operands[0], f.size, f.typ = operand, operand.size, operand.typ
	case fl&flagTimestamp != 0:
		f.fn, f.size, f.typ = fnTimestamp, 8, "u64"
	case fl&flagCPU != 0:
		f.fn, f.size, f.typ = fnCPU, 4, "unsigned int"
	default:
		if !f.ofRecord() {
			return nil, fmt.Errorf("hist: field %s has no value: %w", ev.Decl, syscall.ENOMEM)
		}
	}
	return f, nil
}

// ofRecord fills in what the record's declaration says about the field.
func (f *Field) ofRecord() bool {
	f.typ = f.event.CType()
	switch {
	case f.kind.IsText() && f.kind != filter.Pointer: // a pointer is just a number
		f.flags |= flagString
		f.fn, f.size = fnText, textMax
		if f.kind == filter.Text {
			f.size = f.event.Size
		}
	case f.kind == filter.Stack:
		f.flags |= flagStacktrace
		f.fn, f.size = fnStack, textMax
	case f.event.Size == 1, f.event.Size == 2, f.event.Size == 4, f.event.Size == 8:
		f.fn, f.size, f.signed = fnNumber, f.event.Size, f.event.Signed
	default:
		return false
	}
	return true
}

// label is the field's name as it is shown.
//
// Kernel: hist_field_name, kernel/trace/trace_events_hist.c.
func (f *Field) label() string { return f.labelAt(0) }

func (f *Field) labelAt(level int) string {
	switch {
	case level > 1, f == nil: // common_stacktrace.log2 has no operand
		return ""
	case f.event != nil:
		return f.event.Name
	case f.flags&(flagLog2|flagAlias|flagBucket) != 0:
		return f.operands[0].labelAt(level + 1)
	case f.flags&flagCPU != 0:
		return "common_cpu"
	case f.flags&(flagExpr|flagVarRef) != 0:
		return f.qualifiedName()
	case f.flags&flagTimestamp != 0:
		return "common_timestamp"
	case f.flags&flagStacktrace != 0:
		return "common_stacktrace"
	case f.flags&flagHitcount != 0:
		return "hitcount"
	}
	return ""
}

func (f *Field) qualifiedName() string {
	if f.on == nil {
		return f.name
	}
	full := f.on.system + "." + f.on.name + "."
	if f.flags&flagVarRef != 0 {
		full += "$"
	}
	if full += f.name; len(full) >= textMax {
		return ""
	}
	return full
}

// modifiers lists what may follow a field's name, in the order in which the
// kernel looks for the one to show.
//
// Kernel: get_hist_field_flags, kernel/trace/trace_events_hist.c.
var modifiers = [...]struct {
	flag flags
	name string
}{
	{flagHex, "hex"},
	{flagSym, "sym"},
	{flagSymOffset, "sym-offset"},
	{flagExecname, "execname"},
	{flagSyscall, "syscall"},
	{flagLog2, "log2"},
	{flagBucket, "buckets"},
	{flagUsecs, "usecs"},
	{flagPercent, "percent"},
	{flagGraph, "graph"},
	{flagStacktrace, "stacktrace"},
}

// modifier is the word that is shown after the name, "" if there is none.
func (f *Field) modifier() string {
	for _, m := range modifiers {
		if f.flags&m.flag != 0 {
			return m.name
		}
	}
	return ""
}

// appendExpr appends the field as a part of an expression.
//
// Kernel: expr_field_str, kernel/trace/trace_events_hist.c.
func (f *Field) appendExpr(dst []byte) []byte {
	switch {
	case f.flags&flagVarRef != 0:
		if f.on == nil {
			dst = append(dst, '$')
		}
	case f.flags&flagConst != 0:
		dst = strconv.AppendUint(dst, f.constant, 10)
	}
	dst = append(dst, f.label()...)
	if m := f.modifier(); m != "" && f.flags&flagVarRef == 0 {
		dst = append(append(dst, '.'), m...)
	}
	return dst
}

// parseField reads FIELD or FIELD.MODIFIER, adds to fl, and returns the
// record's field that it names, or nil if it names none.
//
// Kernel: parse_field, kernel/trace/trace_events_hist.c.
func (h *Hist) parseField(text string, fl *flags) (ev *event.Field, kind filter.Kind, buckets uint64, err error) {
	name, modifier, modified := strings.Cut(text, ".")
	if modified {
		if buckets, err = h.parseModifier(name, modifier, fl); err != nil {
			return nil, 0, 0, err
		}
	}
	switch name {
	case "common_timestamp":
		*fl |= flagTimestamp
		h.timestamps = true
		if *fl&flagUsecs != 0 {
			h.attrs.usecs = true
		}
	case "common_stacktrace":
		*fl |= flagStacktrace
	case "common_cpu":
		*fl |= flagCPU
	case "hitcount":
		*fl |= flagHitcount
	default:
		found, k, ok := filter.Find(h.file.typ, name)
		switch {
		case ok && found.Size != 0, ok && k == filter.CPU:
			ev, kind = &found, k
			if found.Size == 0 {
				*fl |= flagCPU
			}
		case ok && k == filter.Stack:
			*fl |= flagStacktrace
		default:
			return nil, 0, 0, h.fault(msgFieldNotFound, name, syscall.EINVAL)
		}
	}
	if modifier == "stacktrace" && (ev == nil || kind != filter.Stack) {
		return nil, 0, 0, h.fault(msgFieldModifier, text, syscall.EINVAL)
	}
	return ev, kind, buckets, nil
}

// parseModifier reads what follows a field's name.
//
// The text of sym-offset has become symXoffset, because a minus is an operator.
func (h *Hist) parseModifier(name, modifier string, fl *flags) (buckets uint64, err error) {
	fault := func(at string) (uint64, error) { return 0, h.fault(msgFieldModifier, at, syscall.EINVAL) }
	switch {
	case modifier == "hex":
		*fl |= flagHex
	case modifier == "sym":
		*fl |= flagSym
	case modifier == "symXoffset":
		*fl |= flagSymOffset
	case modifier == "execname" && name == "common_pid":
		*fl |= flagExecname
	case modifier == "syscall":
		*fl |= flagSyscall
	case modifier == "stacktrace":
		*fl |= flagStacktrace
	case modifier == "log2":
		*fl |= flagLog2
	case modifier == "usecs":
		*fl |= flagUsecs
	case strings.HasPrefix(modifier, "bucket"):
		width, ok := strings.CutPrefix(strings.TrimPrefix(modifier[len("bucket"):], "s"), "=")
		if !ok {
			return fault(width)
		}
		if buckets, err = tracefile.ParseUlong(width, 0); err != nil || buckets == 0 {
			return fault(width)
		}
		*fl |= flagBucket
	case strings.HasPrefix(modifier, "percent"), strings.HasPrefix(modifier, "graph"):
		if *fl&(flagVar|flagKey) != 0 {
			return fault(modifier)
		}
		if modifier[0] == 'p' {
			*fl |= flagPercent
		} else {
			*fl |= flagGraph
		}
	default:
		return fault(modifier)
	}
	return buckets, nil
}

// parseAtom reads an operand without an operator: a number, a reference to a
// variable, or a field of the event.
//
// Kernel: parse_atom, kernel/trace/trace_events_hist.c.
func (h *Hist) parseAtom(text string, fl *flags, v *varDef) (*Field, error) {
	if text != "" && isDigit(text[0]) {
		return h.parseConst(text, fl, v)
	}
	var on *eventName
	if strings.Count(text, ".") >= 2 {
		on = new(eventName)
		on.system, text, _ = strings.Cut(text, ".")
		on.name, text, _ = strings.Cut(text, ".")
	}
	if expr, ok := h.localVar(on, text); ok {
		text = expr
	} else if ref := h.parseVarRef(on, text); ref != nil {
		if v != nil {
			return h.newAlias(ref, v), nil
		}
		return ref, nil
	}
	ev, kind, buckets, err := h.parseField(text, fl)
	if err != nil {
		return nil, err
	}
	f, err := h.newField(ev, kind, *fl, v)
	if err != nil {
		return nil, err
	}
	f.buckets = buckets
	return f, nil
}

func (h *Hist) parseConst(text string, fl *flags, v *varDef) (*Field, error) {
	n, err := tracefile.ParseUlong(text, 0)
	if err != nil {
		return nil, h.fault(msgExpectNumber, text, syscall.EINVAL)
	}
	*fl |= flagConst
	f, err := h.newField(nil, 0, *fl, v)
	if err != nil {
		return nil, err
	}
	f.constant = n
	return f, nil
}
