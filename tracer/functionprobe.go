package tracer

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/functions"
	"ftracelab/tracer/glob"
)

// A function command makes something happen at a function's entry:
//
//	FUNCTIONS:COMMAND[:PARAMETER]
//
// It is written to set_ftrace_filter; the same text with a leading ! removes it. The
// functions that have a command are separate from those of the filter.

// functionCommand is one row of the table of commands. To the kernel, a command with
// a parameter and the same command without one are two different things: each has its
// own functions and is removed by its own form.
//
// Kernel: struct ftrace_func_command and struct ftrace_probe_ops,
// kernel/trace/ftrace.c and trace.h.
type functionCommand struct {
	name string
	// fire runs at the function's entry; d is nil if the command keeps nothing with
	// the function.
	fire func(tr *Instance, c *machine.CPU, d *probeData)
	// once sets the count to 1 whatever is written; with never the command does not
	// count at all.
	once, never bool
	// arm runs before functions get the command. disarm runs if that failed, or when
	// the command is removed. Either is nil if there is nothing to do.
	arm    func(tr *Instance) error
	disarm func(tr *Instance)
	// event says that the parameter is SYSTEM:EVENT[:COUNT].
	event bool
}

// probeData is what a command keeps with a function. count is how often the command
// may still fire; a count below 0 means without limit or never, depending on the
// command. For an event command event is set instead: its count is shared among the
// functions of one write.
type probeData struct {
	count int64
	event *eventProbe
}

// functionProbe is a command with the functions that have it.
//
// Kernel: struct ftrace_func_probe, kernel/trace/ftrace.c.
type functionProbe struct {
	command *functionCommand
	counted bool
	ops     functions.Ops
	hash    functions.OpsHash
	data    map[uint64]*probeData // by address of the patched call
}

// functionCommand carries out FUNCTIONS:NAME[:PARAM]; the notrace file has no
// commands.
//
// Kernel: ftrace_trace_probe_callback, kernel/trace/trace_functions.c.
func (tr *Instance) functionCommand(functions, name, param string, hasParam, notrace bool) error {
	at := slices.IndexFunc(functionCommands, func(c functionCommand) bool { return c.name == name })
	if at < 0 || notrace {
		return fmt.Errorf("no function command %q here: %w", name, syscall.EINVAL)
	}
	cmd := &functionCommands[at]
	if cmd.event {
		return tr.eventCommand(cmd, functions, param, hasParam)
	}
	counted := (hasParam || cmd.once) && !cmd.never
	if functions, out := strings.CutPrefix(functions, "!"); out {
		err := tr.removeProbe(cmd, counted, functions)
		if err == nil && cmd.disarm != nil {
			cmd.disarm(tr)
		}
		return err
	}
	count := int64(-1)
	if cmd.once || cmd.never {
		count = 1
	} else if number, _, _ := strings.Cut(param, ":"); number != "" {
		n, err := tracefile.ParseUlong(number, 0)
		if err != nil {
			return fmt.Errorf("%s:%s: %w", functions, name, err)
		}
		count = int64(n)
	}
	if cmd.arm != nil {
		if err := cmd.arm(tr); err != nil {
			return err
		}
	}
	err := tr.addProbe(cmd, counted, functions, func() *probeData { return &probeData{count: count} })
	if err != nil && cmd.disarm != nil {
		cmd.disarm(tr)
	}
	return err
}

func (tr *Instance) findProbe(cmd *functionCommand, counted bool) *functionProbe {
	for _, p := range tr.probes {
		if p.command == cmd && p.counted == counted {
			return p
		}
	}
	return nil
}

// addProbe gives a command to functions. A function that already has the command
// keeps its data; if all of them have it already, that is an error. make makes the
// data of a function that gets the command.
//
// Kernel: register_ftrace_function_probe, kernel/trace/ftrace.c.
func (tr *Instance) addProbe(cmd *functionCommand, counted bool, pattern string, make func() *probeData) error {
	p := tr.findProbe(cmd, counted)
	fresh := p == nil
	if fresh {
		p = &functionProbe{command: cmd, counted: counted, data: map[uint64]*probeData{}}
		p.ops = functions.Ops{Hash: &p.hash, Handler: "function_trace_probe_call", Call: func(c *machine.CPU, f *machine.Frame) {
			cmd.fire(tr, c, p.data[f.IP])
		}}
	}
	edit := p.hash.Filter.Edit()
	if tr.ft.matchInto(&edit, pattern, nil) == 0 {
		return fmt.Errorf("no function matches %q: %w", pattern, syscall.EINVAL)
	}
	if edit.Count == p.hash.Filter.Count {
		return fmt.Errorf("%s have %s already: %w", pattern, cmd.name, syscall.EINVAL)
	}
	if counted || cmd.event {
		for ip := range edit.All {
			if p.data[ip] == nil {
				p.data[ip] = make()
			}
		}
	}
	p.hash.Filter = edit.Settled()
	if fresh {
		tr.probes = slices.Insert(tr.probes, 0, p)
		tr.ft.users.Register(&p.ops)
	} else {
		tr.ft.changed()
	}
	return nil
}

// removeProbe removes a command from the functions that match pattern; an empty
// pattern means all.
//
// Kernel: unregister_ftrace_function_probe_func, kernel/trace/ftrace.c.
func (tr *Instance) removeProbe(cmd *functionCommand, counted bool, pattern string) error {
	p := tr.findProbe(cmd, counted)
	if p == nil {
		return fmt.Errorf("no function has %s: %w", cmd.name, syscall.ENODEV)
	}
	k := tr.ft.machine.Kallsyms()
	edit := p.hash.Filter.Edit()
	var gone []uint64
	for ip := range p.hash.Filter.All {
		name, _, _, _, _ := k.Lookup(ip)
		if pattern == "" || glob.Match(pattern, name) {
			edit.Remove(ip)
			gone = append(gone, ip)
		}
	}
	if len(gone) == 0 {
		return fmt.Errorf("no function of %q has %s: %w", pattern, cmd.name, syscall.EINVAL)
	}
	p.hash.Filter = edit.Settled()
	for _, ip := range gone {
		if d := p.data[ip]; d != nil && d.event != nil {
			tr.putEventProbe(d.event)
		}
		delete(p.data, ip)
	}
	if edit.Count > 0 {
		tr.ft.changed()
		return nil
	}
	for _, d := range p.data { // of functions whose module was unloaded
		if d.event != nil {
			tr.putEventProbe(d.event)
		}
	}
	tr.probes = slices.DeleteFunc(tr.probes, func(other *functionProbe) bool { return other == p })
	tr.ft.users.Unregister(&p.ops)
	return nil
}

// clearProbes removes all commands.
//
// Kernel: clear_ftrace_function_probes, kernel/trace/ftrace.c.
func (tr *Instance) clearProbes() {
	for len(tr.probes) > 0 {
		p := tr.probes[0]
		if err := tr.removeProbe(p.command, p.counted, ""); err != nil {
			panic("tracer: invariant: " + err.Error())
		}
	}
}

// appendProbes appends the functions' commands as set_ftrace_filter lists them: the
// newest command first, its functions in the order of the hash table.
//
// Kernel: t_probe_next and ftrace_probe_print, kernel/trace/ftrace.c and
// trace_functions.c.
func (tr *Instance) appendProbes(text []byte) []byte {
	for _, p := range tr.probes {
		for ip := range p.hash.Filter.All {
			if p.command.event && p.data[ip] == nil {
				continue // its module was unloaded; the kernel warns
			}
			text = tr.ft.users.AppendAt(text, ip)
			text = append(append(text, ':'), p.command.name...)
			switch d := p.data[ip]; {
			case d == nil:
				text = append(text, ":unlimited\n"...)
			case d.event != nil:
				text = d.event.appendTo(text)
			default:
				text = fmt.Appendf(text, ":count=%d\n", d.count)
			}
		}
	}
	return text
}
