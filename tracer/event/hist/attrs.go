package hist

import (
	"math/bits"
	"strings"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event/hist/tracingmap"
)

// parseAttrs takes a command apart at its colons.
//
// Kernel: parse_hist_trigger_attrs, kernel/trace/trace_events_hist.c.
func (in *Instance) parseAttrs(text string) (attrs, error) {
	var a attrs
	for more := true; more; {
		var part string
		part, text, more = strings.Cut(text, ":")
		_, rest, assigns := strings.Cut(part, "=")
		switch {
		case assigns && rest == "":
			return a, in.fault(msgEmptyAssignment, part, syscall.EINVAL)
		case assigns:
			if err := in.parseAssignment(&a, part); err != nil {
				return a, err
			}
		case part == "nohitcount", part == "NOHC":
			a.nohitcount = true
		case part == "pause":
			a.pause = true
		case part == "cont", part == "continue":
			a.cont = true
		case part == "clear":
			a.clear = true
		case len(a.actions) < actionsMax && handlerOf(part) != 0:
			a.actions = append(a.actions, part)
		default:
			return a, invalid("no attribute", part)
		}
	}
	if a.keys == "" {
		return a, invalid("no keys", "")
	}
	if a.clock == "" {
		a.clock = "global"
	}
	return a, nil
}

// parseAssignment reads one NAME=TEXT. An unknown name defines a variable.
//
// Kernel: parse_assignment, kernel/trace/trace_events_hist.c.
func (in *Instance) parseAssignment(a *attrs, text string) error {
	name, value, _ := strings.Cut(text, "=")
	switch name {
	case "key", "keys":
		a.keys = value
	case "val", "vals", "values":
		a.vals = value
	case "sort":
		a.sort = value
	case "name":
		a.name = text
	case "clock":
		a.clock = strip(value)
	case "size":
		size, err := tracefile.ParseUlong(value, 0)
		if err != nil {
			return err
		}
		if a.bits = bits.Len64(size - 1); a.bits < tracingmap.MinBits || a.bits > tracingmap.MaxBits {
			return invalid("size", value)
		}
	default:
		if len(a.assignments) == varsMax {
			return in.fault(msgTooManyVars, text, syscall.EINVAL)
		}
		a.assignments = append(a.assignments, text)
	}
	return nil
}

// parseVars takes the assignments apart: NAME=EXPRESSION, with commas between
// them.
//
// Kernel: parse_var_defs, kernel/trace/trace_events_hist.c.
func (h *Hist) parseVars() error {
	for _, text := range h.attrs.assignments {
		more := true
		for n := 0; more && n < varsMax; n++ {
			var def string
			def, text, more = strings.Cut(text, ",")
			name, expr, ok := strings.Cut(def, "=")
			switch {
			case !ok:
				return h.fault(msgMalformed, name, syscall.EINVAL)
			case len(h.attrs.vars) == varsMax:
				return h.fault(msgTooManyVars, name, syscall.EINVAL)
			}
			h.attrs.vars = append(h.attrs.vars, varDef{name, expr})
		}
	}
	return nil
}
