package filter

import (
	"fmt"
	"strings"
	"syscall"

	"ftracelab/tracer/event"
)

// Env is what a filter needs to know of the machine when it is parsed.
type Env struct {
	// CPUs is the number of possible CPUs: CPUS{…} may name those below it.
	CPUs int
	// Symbols finds the functions of .function; nil knows none.
	Symbols Symbols
	// Strings gives the kernel's text at an address, for char * fields; nil, or
	// not ok, is memory that cannot be read: no comparison with it holds. It is
	// called by Match.
	Strings func(addr uint64) (s string, ok bool)
}

// Symbols is kallsyms, both ways.
type Symbols interface {
	event.Symbols
	// Address is where the symbol of that name begins.
	Address(name string) (addr uint64, ok bool)
}

// Context is what a predicate may ask about besides the record.
type Context struct {
	CPU  int    // that writes the record
	Comm string // the running task's name
	// UserStrings gives the text at an address of the running task, for fields
	// with .ustring; nil, or not ok, is memory that cannot be read.
	UserStrings func(addr uint64) (s string, ok bool)
}

// Filter is a compiled expression for the records of one event type. It does
// not change and is safe for concurrent use.
//
// Kernel: struct event_filter, kernel/trace/trace.h.
type Filter struct {
	text    string
	steps   []step
	entry   int
	strings func(addr uint64) (string, bool)
}

// step is a predicate and the steps that follow when it holds and when it does
// not.
type step struct {
	predicate
	yes, no int
}

// The ends of a walk through the steps.
const (
	accept = -1
	reject = -2
)

// maxText is how long a written filter has to stay below.
const maxText = 4096

// Parse compiles a filter for records of t.
//
// Errors: *Error, but for a text of 4096 bytes or more, which is EINVAL without
// an entry in error_log.
//
// Kernel: create_filter and process_preds, kernel/trace/trace_events_filter.c;
// the length is checked by event_filter_write, kernel/trace/trace_events.c.
func Parse(t *event.Type, text string, env Env) (*Filter, error) {
	if err := checkLength(text); err != nil {
		return nil, err
	}
	p := &parser{typ: t, env: env, text: Command(text)}
	f := &Filter{text: p.text, strings: env.Strings}
	root, err := p.parse()
	if err != nil {
		return nil, err
	}
	f.entry = f.compile(root, accept, reject)
	return f, nil
}

func checkLength(text string) error {
	if len(text) >= maxText {
		return fmt.Errorf("filter of %d bytes: %w", len(text), syscall.EINVAL)
	}
	return nil
}

// Command is what was written as it is kept: a C string without blanks at its
// end.
//
// Kernel: strim, lib/string_helpers.c.
func Command(text string) string {
	text, _, _ = strings.Cut(text, "\x00")
	for text != "" && isSpace(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}

// String is the expression as it was written, blanks at its end cut off.
func (f *Filter) String() string { return f.text }

// Match reports whether the filter keeps a record. A nil Filter keeps all
// records. What lies beyond a record's end reads as zero. It allocates nothing.
//
// Kernel: filter_match_preds, kernel/trace/trace_events_filter.c.
func (f *Filter) Match(data []byte, ctx Context) bool {
	if f == nil {
		return true
	}
	at := f.entry
	for at >= 0 {
		s := &f.steps[at]
		if s.match(data, &ctx, f.strings) {
			at = s.yes
		} else {
			at = s.no
		}
	}
	return at == accept
}

// compile appends the steps of an expression that ends at yes or at no and
// returns its first. It goes from right to left, so that the steps to which a
// step leads exist before the step itself. A filter's text bounds the depth.
func (f *Filter) compile(e *expression, yes, no int) (first int) {
	if e.not {
		yes, no = no, yes
	}
	if e.list == nil {
		f.steps = append(f.steps, step{*e.predicate, yes, no})
		return len(f.steps) - 1
	}
	for k := len(e.list) - 1; k >= 0; k-- {
		if e.or {
			no = f.compile(e.list[k], yes, no)
		} else {
			yes = f.compile(e.list[k], yes, no)
		}
	}
	if e.or {
		return no
	}
	return yes
}
