package tracer

import (
	"context"
	"fmt"
	"strings"
	"syscall"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/functions"
	"ftracelab/tracer/glob"
)

// functionMatch is what a word of a filter file selects. If the word begins with a
// digit, that is the function on that line of available_filter_functions; otherwise
// it is the functions whose names match a glob.
//
// Kernel: filter_parse_regex, kernel/trace/trace_events_filter.c.
type functionMatch struct {
	out     bool // !: remove
	byIndex bool
	index   uint64 // from 1; 0 selects nothing
	glob    string
}

func parseMatch(word string) functionMatch {
	var m functionMatch
	m.glob, m.out = strings.CutPrefix(word, "!")
	if m.glob != "" && m.glob[0] >= '0' && m.glob[0] <= '9' {
		m.byIndex = true
		m.index, _ = tracefile.ParseUlong(m.glob, 0) // 0 if it is no number
	}
	return m
}

// matching yields the functions that m selects and whose module passes the test, if
// there is one.
//
// Kernel: match_records and add_rec_by_index, kernel/trace/ftrace.c, where an index
// ignores the module as well.
func (ft *Ftrace) matching(m functionMatch, module func(machine.Symbol) bool) func(yield func(machine.Symbol) bool) {
	return func(yield func(machine.Symbol) bool) {
		line := uint64(0)
		for s := range ft.users.All {
			line++
			switch {
			case m.byIndex && line == m.index:
				yield(s)
				return
			case m.byIndex:
			case module != nil && !module(s):
			case module != nil && m.glob == "", glob.Match(m.glob, s.Name):
				if !yield(s) {
					return
				}
			}
		}
	}
}

// matchInto adds the functions that a word selects to a set, or removes them from it,
// and returns how many functions the word selects.
func (ft *Ftrace) matchInto(h *functions.Hash, word string, module func(machine.Symbol) bool) (found int) {
	m := parseMatch(word)
	for s := range ft.matching(m, module) {
		found++
		if m.out {
			h.Remove(s.IP())
		} else {
			h.Add(s.IP())
		}
	}
	return found
}

// moduleMatch returns the test for mod:MODULE. An empty MODULE means any module; with
// a leading ! it means all functions that are not in the module.
//
// Kernel: ftrace_match_record, kernel/trace/ftrace.c.
func moduleMatch(pattern string) func(machine.Symbol) bool {
	pattern, others := strings.CutPrefix(pattern, "!")
	return func(s machine.Symbol) bool {
		in := s.Module != "" && (pattern == "" || glob.Match(pattern, s.Module))
		return in != others
	}
}

// functionFilter is set_ftrace_filter or set_ftrace_notrace of an instance.
type functionFilter struct {
	tr      *Instance
	set     *functions.Hash // Filter or Notrace of an OpsHash
	pending []pendingModule
	notrace bool
	bare    bool // stack_trace_filter: no commands, no modules to wait for
}

// pendingModule is FUNCTIONS:mod:MODULE for a module that is not there yet.
//
// Kernel: struct ftrace_mod_load, kernel/trace/ftrace.c.
type pendingModule struct{ functions, module string }

// word carries out one word that was written. The functions that it selects go into
// edit; a command acts at once.
//
// Kernel: ftrace_process_regex, kernel/trace/ftrace.c.
func (f *functionFilter) word(edit *functions.Hash, word string) error {
	functions, command, isCommand := strings.Cut(word, ":")
	if isCommand && f.bare {
		return fmt.Errorf("%q: no commands here: %w", word, syscall.ENODEV)
	}
	if isCommand {
		name, param, hasParam := strings.Cut(command, ":")
		if name == "mod" {
			return f.module(edit, functions, param, hasParam)
		}
		return f.tr.functionCommand(functions, name, param, hasParam, f.notrace)
	}
	if f.tr.ft.matchInto(edit, functions, nil) == 0 {
		return fmt.Errorf("no function matches %q: %w", word, syscall.EINVAL)
	}
	return nil
}

// module carries out FUNCTIONS:mod:MODULE. If nothing matches and the module is not
// loaded, the definition waits for the module.
//
// Kernel: ftrace_mod_callback and cache_mod, kernel/trace/ftrace.c.
func (f *functionFilter) module(edit *functions.Hash, functions, module string, given bool) error {
	var match func(machine.Symbol) bool
	if given {
		match = moduleMatch(module)
	}
	if f.tr.ft.matchInto(edit, functions, match) > 0 {
		return nil
	}
	functions, out := strings.CutPrefix(functions, "!")
	if out {
		kept := f.pending[:0]
		for _, p := range f.pending {
			if p.module != module || functions != "*" && functions != p.functions {
				kept = append(kept, p)
			}
		}
		if len(kept) == len(f.pending) {
			return fmt.Errorf("no %s:mod:%s waits: %w", functions, module, syscall.EINVAL)
		}
		f.pending = kept
		return nil
	}
	if !given || f.tr.ft.hasModule(module) || len(f.pending) >= maxPending {
		return fmt.Errorf("no function matches %s:mod:%s: %w", functions, module, syscall.EINVAL)
	}
	f.pending = append([]pendingModule{{functions, module}}, f.pending...)
	return nil
}

// maxPending bounds the names that wait for modules.
//
// Departure: the kernel keeps any number.
const maxPending = 1024

func (ft *Ftrace) hasModule(name string) bool {
	if name == "" {
		return false
	}
	for _, s := range ft.machine.Kallsyms().All() {
		if s.Module == name {
			return true
		}
	}
	return false
}

// settle makes edit the set that is in use.
//
// Kernel: ftrace_regex_release and ftrace_hash_move_and_update_ops,
// kernel/trace/ftrace.c.
func (f *functionFilter) settle(edit *functions.Hash) {
	if !f.notrace {
		edit.Modules = len(f.pending) > 0
	}
	*f.set = edit.Settled()
	f.tr.ft.changed()
}

// show returns the text of the file: the functions in their order, then what waits
// for modules, then the commands.
//
// Kernel: t_start and t_show, kernel/trace/ftrace.c.
func (f *functionFilter) show() ([]byte, error) {
	var text []byte
	switch {
	case !f.set.Empty():
		if f.set.Count > 0 {
			for s := range f.tr.ft.users.All {
				if f.set.Has(s.IP()) {
					text = append(functions.Append(text, s), '\n')
				}
			}
		}
	case f.notrace:
		text = append(text, "#### no functions disabled ####\n"...)
	default:
		text = append(text, "#### all functions enabled ####\n"...)
	}
	for _, p := range f.pending {
		text = fmt.Appendf(text, "%s:mod:%s\n", p.functions, p.module)
	}
	if !f.notrace && !f.bare {
		text = f.tr.appendProbes(text)
	}
	return text, nil
}

// filterWord bounds the length of a word in these files.
//
// Kernel: FTRACE_BUFF_MAX, kernel/trace/ftrace.c.
const filterWord = 512

// filterFile is a file that edits a set of functions. Opening it for writing makes a
// copy of the set, or an empty set with >. Each word written adds to the copy or,
// with !, removes from it. Closing the file makes the copy the set.
type filterFile struct {
	show   func() ([]byte, error)
	edit   func(trunc bool) functions.Hash
	word   func(edit *functions.Hash, word string) error
	settle func(edit *functions.Hash)
}

// file is set_ftrace_filter, set_ftrace_notrace or stack_trace_filter.
func (f *functionFilter) file(name string) tracefile.Node {
	return f.tr.editFile(name, filterFile{
		show: f.show,
		edit: func(trunc bool) functions.Hash {
			if !trunc {
				return f.set.Edit()
			}
			f.pending = nil
			return functions.Hash{}
		},
		word: f.word, settle: f.settle,
	})
}

func (tr *Instance) editFile(name string, f filterFile) tracefile.Node {
	shown := tr.seq(name, 0o640, f.show)
	return &tracefile.File{Name: name, Mode: 0o640, Open: func(ctx context.Context, flags tracefile.Flags) (tracefile.Handle, error) {
		h, err := shown.Open(ctx, flags)
		if err != nil || flags&tracefile.Write == 0 {
			return h, err
		}
		w := &filterWriter{Handle: h, tr: tr, file: f, parser: tracefile.Parser{Size: filterWord}}
		_ = tr.locked(func() error { w.edit = f.edit(flags&tracefile.Trunc != 0); return nil })
		return w, nil
	}}
}

// filterWriter is a filterFile that is open for writing.
//
// Kernel: ftrace_regex_open, ftrace_regex_write and ftrace_regex_release,
// kernel/trace/ftrace.c.
type filterWriter struct {
	tracefile.Handle
	tr      *Instance
	file    filterFile
	edit    functions.Hash
	parser  tracefile.Parser
	written bool // since it was settled
	settled bool
	closed  bool
}

func (w *filterWriter) Write(_ context.Context, p []byte) (int, error) {
	w.written = true
	n, word, err := w.parser.Get(p)
	if err != nil || word == "" {
		return n, err
	}
	if err := w.tr.locked(func() error { return w.file.word(&w.edit, word) }); err != nil {
		return 0, err
	}
	return n, nil
}

// Flush does what the kernel does when the last reference to the file is dropped. A
// file system in user space learns of that too late for the next command.
func (w *filterWriter) Flush() error {
	if w.written {
		w.settle()
	}
	return w.Handle.Flush()
}

// settle carries out the last word if no blank ended it, and then settles the file.
// An error of that word is dropped: nobody is left to report it to.
func (w *filterWriter) settle() {
	_ = w.tr.locked(func() error {
		if word := w.parser.Rest(); word != "" {
			_ = w.file.word(&w.edit, word)
		}
		w.file.settle(&w.edit)
		return nil
	})
	w.written, w.settled = false, true
}

func (w *filterWriter) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	if w.written || !w.settled {
		w.settle()
	}
	return w.Handle.Close()
}
