package tracer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"

	"ftracelab/internal/tracefile"
	"ftracelab/workload/machine"
)

// functionFilter is set_ftrace_filter or set_ftrace_notrace: a set of function
// entries. An empty filter lets every function through.
//
// Kernel: struct ftrace_hash, kernel/trace/ftrace.c.
type functionFilter struct {
	addrs map[uint64]bool
}

func (f *functionFilter) empty() bool { return len(f.addrs) == 0 }

// add does what one word says: a function, a glob, or the number of a line of
// available_filter_functions; a leading ! takes it out. FUNCTIONS:mod:MODULE
// narrows it to a module, or with mod:!MODULE to all others.
//
// Departure: other commands (FUNCTION:traceon and its kin) are refused with
// EINVAL, and mod: of a module that is not there is not kept for the day it
// comes.
//
// Kernel: ftrace_process_regex and match_records, kernel/trace/ftrace.c.
func (f *functionFilter) add(word string, k *machine.Kallsyms) error {
	funcs, command, isCommand := strings.Cut(word, ":")
	pattern, out := strings.CutPrefix(funcs, "!")
	inModule := func(string) bool { return true }
	if isCommand {
		module, ok := strings.CutPrefix(command, "mod:")
		if !ok {
			return fmt.Errorf("no function command %q: %w", command, syscall.EINVAL)
		}
		inModule = moduleMatch(module)
	}
	matched := false
	for s := range matchFunctions(k, pattern) {
		if !inModule(s.Module) {
			continue
		}
		matched = true
		if out {
			delete(f.addrs, s.Addr)
		} else {
			f.addrs[s.Addr] = true
		}
	}
	if !matched {
		return fmt.Errorf("no function matches %q: %w", word, syscall.EINVAL)
	}
	return nil
}

// matchFunctions yields the traceable functions a pattern selects: by number if
// it begins with a digit, all if it is empty, by glob otherwise.
//
// Kernel: filter_parse_regex, kernel/trace/trace_events_filter.c, and
// add_rec_by_index, kernel/trace/ftrace.c.
func matchFunctions(k *machine.Kallsyms, pattern string) func(yield func(machine.Symbol) bool) {
	byIndex := pattern != "" && pattern[0] >= '0' && pattern[0] <= '9'
	index, err := uint64(0), error(nil)
	if byIndex {
		index, err = tracefile.ParseUlong(pattern, 0)
	}
	return func(yield func(machine.Symbol) bool) {
		if err != nil {
			return
		}
		line := uint64(0)
		for _, s := range k.All() {
			if !s.Traceable {
				continue
			}
			line++
			if byIndex && line != index || !byIndex && pattern != "" && !globMatch(pattern, s.Name) {
				continue
			}
			if !yield(s) {
				return
			}
		}
	}
}

// moduleMatch is the test behind mod:MODULE; an empty one is any module.
//
// Kernel: ftrace_match_record, kernel/trace/ftrace.c.
func moduleMatch(pattern string) func(module string) bool {
	pattern, others := strings.CutPrefix(pattern, "!")
	return func(module string) bool {
		in := module != "" && (pattern == "" || globMatch(pattern, module))
		return in != others
	}
}

// show lists the functions of the filter in address order, or says that there
// are none.
func (f *functionFilter) show(k *machine.Kallsyms, none string) string {
	if f.empty() {
		return none
	}
	var text strings.Builder
	for _, addr := range slices.Sorted(maps.Keys(f.addrs)) {
		name, module, _, _, _ := k.Lookup(addr)
		text.WriteString(functionLine(name, module))
	}
	return text.String()
}

// showFunctions is the text of available_filter_functions.
func showFunctions(k *machine.Kallsyms) []byte {
	var text []byte
	for s := range matchFunctions(k, "") {
		text = append(text, functionLine(s.Name, s.Module)...)
	}
	return text
}

func functionLine(name, module string) string {
	if module != "" {
		return name + " [" + module + "]\n"
	}
	return name + "\n"
}

// filterWord is how long a word of set_ftrace_filter may be.
//
// Kernel: FTRACE_BUFF_MAX, kernel/trace/ftrace.c.
const filterWord = 512

// filterFile is set_ftrace_filter or set_ftrace_notrace. Who opens it for
// writing gets a copy of the set, an empty one with >; each word written adds to
// the copy or, with !, takes away, and closing the file makes the copy the set.
func (i *Instance) filterFile(name string, f *functionFilter, none string) tracefile.Node {
	k := i.ft.machine.Kallsyms()
	shown := i.seq(name, 0o640, func() ([]byte, error) { return []byte(f.show(k, none)), nil })
	return &tracefile.File{Name: name, Mode: 0o640, Open: func(ctx context.Context, flags tracefile.Flags) (tracefile.Handle, error) {
		h, err := shown.Open(ctx, flags)
		if err != nil || flags&tracefile.Write == 0 {
			return h, err
		}
		w := &filterWriter{Handle: h, i: i, set: f, parser: tracefile.Parser{Size: filterWord}}
		_ = i.locked(func() error {
			w.copy.addrs = map[uint64]bool{}
			if flags&tracefile.Trunc == 0 {
				maps.Copy(w.copy.addrs, f.addrs)
			}
			return nil
		})
		return w, nil
	}}
}

// filterWriter is set_ftrace_filter open for writing.
//
// Kernel: ftrace_regex_open, ftrace_regex_write and ftrace_regex_release,
// kernel/trace/ftrace.c.
type filterWriter struct {
	tracefile.Handle
	i      *Instance
	set    *functionFilter
	copy   functionFilter
	parser tracefile.Parser
	closed bool
}

func (w *filterWriter) Write(_ context.Context, p []byte) (int, error) {
	n, word, err := w.parser.Get(p)
	if err != nil || word == "" {
		return n, err
	}
	if err := w.copy.add(word, w.i.ft.machine.Kallsyms()); err != nil {
		return 0, err
	}
	return n, nil
}

// Close takes the word that no blank ended; nobody is left to hear of its fault.
func (w *filterWriter) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	if word := w.parser.Rest(); word != "" {
		_ = w.copy.add(word, w.i.ft.machine.Kallsyms())
	}
	_ = w.i.locked(func() error { w.set.addrs = w.copy.addrs; return nil })
	return w.Handle.Close()
}
