package dynevent

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
	"ftracelab/tracer/event/probe"
)

// probeEnv answers what the definition of a probe may ask.
type probeEnv struct{ d *Events }

var _ probe.Env = probeEnv{}

// MaxActive reports whether fprobes have pools.
func (e probeEnv) MaxActive() bool { return e.d.fprobeSet.design == FprobeRethook }

// Symbols counts the symbols with a name.
//
// Kernel: number_of_same_symbols, kernel/trace/trace_kprobe.c.
func (e probeEnv) Symbols(module, name string) (n int) {
	for _, s := range e.d.machine.Kallsyms().All() {
		if s.Name == name && (module == "" || s.Module == module) {
			n++
		}
	}
	return n
}

// Module reports whether a module is loaded.
func (e probeEnv) Module(name string) bool {
	if e.d.machine.HasModule(name) {
		return true
	}
	for _, s := range e.d.machine.Kallsyms().All() {
		if s.Module == name {
			return true
		}
	}
	return false
}

// symbol finds a symbol. If "MODULE:" stands before the name, it looks in that module.
//
// Kernel: kallsyms_lookup_name, kernel/kallsyms.c.
func (d *Events) symbol(name string) (machine.Symbol, bool) {
	module, name, of := strings.Cut(name, ":")
	if !of {
		return d.machine.Kallsyms().ByName(module)
	}
	for _, s := range d.machine.Kallsyms().All() {
		if s.Module == module && s.Name == name {
			return s, true
		}
	}
	return machine.Symbol{}, false
}

// Place says where symbol+offset lies in its function.
//
// Kernel: kprobe_on_func_entry, kernel/kprobes.c.
func (e probeEnv) Place(symbol string, offset uint64) probe.Place {
	s, ok := e.d.symbol(symbol)
	if !ok {
		return probe.NoPlace
	}
	_, entry, err := e.d.kprobeAddr(s.Addr + offset)
	switch {
	case err != nil:
		return probe.NoPlace
	case entry:
		return probe.AtEntry
	}
	return probe.Inside
}

func (e probeEnv) Address(symbol string) uint64 {
	s, _ := e.d.symbol(symbol)
	return s.Addr
}

func (e probeEnv) Pointer(addr uint64) string { return fmt.Sprintf("%016x", e.d.host.HashPtr(addr)) }

// Tracepoint finds a tracepoint by its stub. Every tracepoint has one, and its prototype
// is that of the tracepoint.
func (e probeEnv) Tracepoint(name string) (stub string, ok bool) {
	s, ok := e.d.symbol(stubOf(name))
	return s.Name, ok
}

// Event finds an event that a probe can be attached to; nil if there is none.
func (e probeEnv) Event(system, name string) *event.Type {
	if t := e.d.types.ByName(system, name); t != nil && e.d.attachable(t) {
		return t
	}
	return nil
}

// Filter parses a filter as the event's own file would.
func (e probeEnv) Filter(t *event.Type, text string) error {
	err := new(filter.File).Write(t, text, e.d.host.FilterEnv())
	var fault *filter.Error
	if errors.As(err, &fault) {
		e.d.host.LogFilter(fault)
	}
	return err
}

// File finds a file of user space, from the working folder of whoever writes.
//
// Kernel: kern_path, fs/namei.c, as __trace_uprobe_create calls it.
func (e probeEnv) File(at string) (probe.File, error) {
	if who, ok := tracefile.CallerOf(e.d.writer); ok && who.Dir != nil && !path.IsAbs(at) {
		at = path.Join(who.Dir(), at)
	}
	file, err := e.d.statUser(at)
	return probe.File{ID: file.ID, Regular: file.Regular, At: at}, err
}

// probeFault puts the faults of a definition into error_log and returns err.
//
// Kernel: __trace_probe_log_err, kernel/trace/trace_probe.c.
func (d *Events) probeFault(err error) error {
	var fault *probe.Error
	if errors.As(err, &fault) {
		for _, f := range fault.Log {
			d.host.LogError(f.Location, f.Msg, f.Command, f.Pos)
		}
	}
	return err
}
