package tracer

import (
	"fmt"
	"syscall"

	"ftracelab/tracer/option"
)

// newOptions returns the options with which an instance starts: the top instance with
// the defaults, any other with those of the top instance.
//
// Kernel: trace_array_create_systems and ZEROED_TRACE_FLAGS,
// kernel/trace/trace.c.
func (ft *Ftrace) newOptions(top bool) option.Set {
	var s option.Set
	for o, row := range option.Table {
		s.Set(option.Option(o), row.On)
	}
	if top {
		return s
	}
	for o := range option.Table {
		s.Set(option.Option(o), ft.top.opts.Has(option.Option(o)))
	}
	s.Set(option.EventFork, false)
	s.Set(option.FunctionFork, false)
	s.Set(option.PrintkDest, false)
	s.Set(option.UserStacktraceDelay, false)
	if ft.cfg.Stackmap.TopLevelOnly {
		s.Set(option.Stackmap, false)
	}
	return s
}

// built reports whether the kernel was built with what o needs.
func (ft *Ftrace) built(o option.Option) bool {
	switch o {
	case option.Stackmap:
		return !ft.cfg.NoStackmap
	case option.UserStacktraceDelay:
		return ft.unwind != nil
	case option.GraphRetval, option.GraphRetvalHex:
		return ft.cfg.FunctionGraphRetval
	case option.GraphTime:
		return ft.cfg.FunctionProfiler
	}
	return true
}

// hasFile reports whether the folder options has a file for o. The options of every
// tracer have files, not only those of the current one.
func (tr *Instance) hasFile(o option.Option) bool {
	switch {
	case !tr.ft.built(o):
		return false
	case o == option.Stackmap:
		return tr.interner != nil || !tr.ft.cfg.Stackmap.TopLevelOnly
	}
	return tr.top() || !option.Table[o].Top
}

// listed reports whether trace_options shows o. A tracer's own options are shown only
// while the tracer is current.
func (tr *Instance) listed(o option.Option) bool {
	// v4 hides the file in an instance but the text still says nostackmap.
	return tr.ft.built(o) && (option.Table[o].Tracer == "" || option.Table[o].Tracer == tr.current.Name)
}

// showOptions is the text of trace_options.
//
// Kernel: tracing_trace_options_show, kernel/trace/trace.c.
func (tr *Instance) showOptions() string {
	var text []byte
	for o := range option.Count {
		if !tr.listed(o) {
			continue
		}
		if !tr.opts.Has(o) {
			text = append(text, "no"...)
		}
		text = append(append(text, option.Table[o].Name...), '\n')
	}
	return string(text)
}

// writeOption carries out a word written to trace_options: NAME or noNAME.
//
// Kernel: trace_set_options, kernel/trace/trace.c.
func (tr *Instance) writeOption(word string) error {
	name, on := word, true
	if len(word) > 2 && word[:2] == "no" {
		name, on = word[2:], false
	}
	for o := range option.Count {
		if option.Table[o].Name == name && tr.listed(o) {
			return tr.setOption(o, on)
		}
	}
	return fmt.Errorf("trace_options: no option %q: %w", name, syscall.EINVAL)
}

// setOption turns an option on or off, with the effects it has.
//
// Kernel: set_tracer_flag and __set_tracer_option, kernel/trace/trace.c.
func (tr *Instance) setOption(o option.Option, on bool) error {
	if tr.opts.Has(o) == on {
		return nil
	}
	switch o {
	case option.Stackmap:
		if on && tr.interner == nil && tr.ft.cfg.Stackmap.TopLevelOnly {
			return fmt.Errorf("options/stackmap belongs to the top instance: %w", syscall.EINVAL)
		}
	case option.NopRefuse:
		return fmt.Errorf("test_nop_refuse: the nop tracer refuses: %w", syscall.EINVAL)
	case option.PrintkDest:
		return tr.setPrintkDest(on)
	case option.BlkClassic: // blk_tracer_set_flag, kernel/trace/blktrace.c
		tr.opts.Set(option.ContextInfo, !on)
	case option.Overwrite:
		if !on && tr.current.KeepsOverwrite {
			return fmt.Errorf("overwrite: tracer %s needs it: %w", tr.current.Name, syscall.EINVAL)
		}
		tr.buf.SetOverwrite(on)
		tr.snap.buf.SetOverwrite(on)
	case option.UserStacktraceDelay:
		if err := tr.deferStacks(on); err != nil {
			return err
		}
	}
	tr.opts.Set(o, on)
	if option.Table[o].Tracer != "" {
		// A tracer's options belong to the kernel, not to an instance.
		for other := range tr.ft.all {
			other.opts.Set(o, on)
		}
	}
	tr.ft.changed()
	if tr.current.Changed != nil {
		tr.current.Changed(tr.trace(), o)
	}
	return nil
}
