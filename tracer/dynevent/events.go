package dynevent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"ftracelab/machine"
	"ftracelab/machine/memory"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
	"ftracelab/unwind/user"
)

// Events are the dynamic events of a machine.
type Events struct {
	host    Host
	machine *machine.Machine
	types   *event.Table
	files   UserFiles       // where uprobes find files besides those that tasks have mapped; may be nil
	writer  context.Context // of the write that is being carried out

	list  []Line  // the lines of dynamic_events
	kinds []*Kind // the kinds of definitions, in the order in which they are asked

	kprobes   kprobes
	fprobeSet fprobeSet
	tprobes   []*traceFprobe                     // the enabled ones on tracepoints
	uprobed   []*traceUprobe                     // the ones that can be hit
	userTexts []func(addr uint64) (string, bool) // by CPU, see Asked
	userIPs   []uint64                           // the user stack that User looks at
	walker    user.Walker
	synthetic synthetic
	mem       *memory.Memory // nil until a probe reads it
	scratch   []byte
}

// New returns the dynamic events of a machine that has none yet. The kinds in more are
// asked after the kernel's own.
func New(host Host, files UserFiles, design FprobeDesign, more ...*Kind) *Events {
	d := &Events{host: host, machine: host.Machine(), types: host.Types(), files: files, writer: context.Background()}
	// Which places a task has passed is no question of how the kernel walks stacks.
	d.walker.Methods = []user.Method{user.EhFrame, user.FramePointer}
	d.synthetic.kind = synthKind()
	d.kinds = append([]*Kind{eprobeEvents, d.synthetic.kind, kprobeEvents, fprobeEvents, uprobeEvents}, more...)
	d.newKprobes()
	d.newFprobeSet(design)
	return d
}

// Files returns their files in the root of the tree.
func (d *Events) Files() []tracefile.Node {
	return append(d.uprobeFiles(),
		d.File("kprobe_events", kprobeEvents, d.writeKprobeEvent),
		d.host.Seq("kprobe_profile", 0o440, d.showKprobeProfile),
		d.File("dynamic_events", nil, d.createDynEvent),
		d.syntheticEventsFile(),
	)
}

// Line is a line of dynamic_events: one definition. An event may have several.
//
// Kernel: struct dyn_event and struct dyn_event_operations,
// kernel/trace/trace_dynevent.h.
type Line interface {
	Kind() *Kind
	Show() string // its line, without the line break
	Busy() bool   // it cannot be deleted
	// Free deletes it; the error wraps EBUSY if it is in use.
	Free() error
	// Match reports whether a deletion means it. A nil system stands for any, and so
	// does an empty event. args are the words that follow; they have to match, too.
	Match(system *string, event string, args []string) bool
}

// Kind is a kind of definition.
type Kind struct {
	Name string
	// Create makes an event from a definition and adds it with Add. An error
	// that wraps ECANCELED means that the definition is of another kind.
	Create func(d *Events, command string) error
}

// Add adds a definition at the end of dynamic_events.
//
// Kernel: dyn_event_add, kernel/trace/trace_dynevent.h.
func (d *Events) Add(e Line) { d.list = append(d.list, e) }

// Drop removes a definition from dynamic_events.
//
// Kernel: dyn_event_remove, kernel/trace/trace_dynevent.h.
func (d *Events) Drop(e Line) {
	d.list = slices.DeleteFunc(slices.Clone(d.list), func(have Line) bool { return have == e })
}

// releaseDynEvents deletes the definitions that a command -:[GROUP/]EVENT or
// !…:[GROUP/]EVENT means. It deletes those of one kind; a nil kind stands for all kinds.
// Errors: ENOENT if there is none, EINVAL for another command, EBUSY at the first
// definition that is in use.
//
// Kernel: dyn_event_release, kernel/trace/trace_dynevent.c.
func (d *Events) releaseDynEvents(command string, kind *Kind) error {
	words := splitArgs(command)
	event, minus := "", false
	ok := len(words) > 0
	if ok {
		if event, minus = strings.CutPrefix(words[0], "-"); minus {
			event, ok = strings.CutPrefix(event, ":")
		} else {
			_, event, ok = strings.Cut(words[0], ":")
		}
	}
	var system *string
	if group, name, has := strings.Cut(event, "/"); has {
		system, event = &group, name
	}
	if !ok || system == nil && event == "" {
		return fmt.Errorf("%q deletes no event: %w", command, syscall.EINVAL)
	}
	err := fmt.Errorf("%q: there is no such event: %w", command, syscall.ENOENT)
	for _, e := range d.list {
		if kind != nil && e.Kind() != kind || !e.Match(system, event, words[1:]) {
			continue
		}
		if err = e.Free(); err != nil {
			break
		}
	}
	d.host.ResetCleared()
	return err
}

// releaseAllDynEvents deletes all definitions of one kind; a nil kind stands for all
// kinds. Errors: EBUSY if one of them is busy; nothing is deleted then.
//
// Kernel: dyn_events_release_all, kernel/trace/trace_dynevent.c.
func (d *Events) releaseAllDynEvents(kind *Kind) (err error) {
	defer d.host.ResetCleared()
	of := slices.DeleteFunc(slices.Clone(d.list), func(e Line) bool { return kind != nil && e.Kind() != kind })
	for _, e := range of {
		if e.Busy() {
			return fmt.Errorf("%s: %w", e.Show(), syscall.EBUSY)
		}
	}
	for _, e := range of {
		if err := e.Free(); err != nil {
			return err
		}
	}
	return nil
}

// createDynEvent carries out a line that is written to dynamic_events. It deletes, or
// the first kind that knows the definition makes an event from it.
//
// Kernel: create_dyn_event, kernel/trace/trace_dynevent.c.
func (d *Events) createDynEvent(command string) error {
	if strings.HasPrefix(command, "-") || strings.HasPrefix(command, "!") {
		return d.releaseDynEvents(command, nil)
	}
	for _, kind := range d.kinds {
		if err := kind.Create(d, command); !errors.Is(err, syscall.ECANCELED) {
			return err
		}
	}
	return fmt.Errorf("%q is no event: %w", command, syscall.EINVAL)
}

// File returns dynamic_events, or the file of one kind if kind is not nil. The file
// lists definitions. run carries out each line that is written, and opening the file
// with > deletes all definitions.
//
// Kernel: dynamic_events_ops, kernel/trace/trace_dynevent.c; kprobe_events_ops,
// kernel/trace/trace_kprobe.c; and those of the other kinds.
func (d *Events) File(name string, kind *Kind, run func(command string) error) tracefile.Node {
	f := d.host.Seq(name, 0o640, func() ([]byte, error) { return d.showDynEvents(kind), nil }).
		OnTrunc(func() error { return d.host.Locked(func() error { return d.releaseAllDynEvents(kind) }) }).
		OnWriteBy(func(ctx context.Context, p []byte) error {
			return d.host.Locked(func() error {
				d.writer = ctx
				defer func() { d.writer = context.Background() }()
				return runCommands(string(p), run)
			})
		})
	f.Defines = true
	return f
}

func (d *Events) showDynEvents(kind *Kind) []byte {
	var text []byte
	for _, e := range d.list {
		if kind == nil || e.Kind() == kind {
			text = append(append(text, e.Show()...), '\n')
		}
	}
	return text
}

// commandSize is the largest length of a command, its line break and zero byte included.
//
// Kernel: WRITE_BUFSIZE, kernel/trace/trace.c.
const commandSize = 4096

// runCommands carries out each line of a write; what follows a # is a comment. It ends
// at the first error. Errors: EINVAL for a line that is too long or has a zero byte;
// such a line is not carried out.
//
// Kernel: trace_parse_run_command, kernel/trace/trace.c.
func runCommands(text string, run func(command string) error) error {
	for text != "" {
		line, rest, ended := strings.Cut(text, "\n")
		if limit := commandSize - 1; len(line) > limit || ended && len(line) == limit {
			return fmt.Errorf("a line of %d bytes: %w", len(line), syscall.EINVAL)
		}
		if strings.Contains(line, "\x00") {
			return fmt.Errorf("a line with a zero byte: %w", syscall.EINVAL)
		}
		command, _, _ := strings.Cut(line, "#")
		if err := run(command); err != nil {
			return err
		}
		text = rest
	}
	return nil
}

// splitArgs splits a command into its words.
//
// Kernel: argv_split, lib/argv_split.c.
func splitArgs(command string) []string {
	var words []string
	for n := 0; n < len(command); {
		start := n
		for n < len(command) && !tracefile.IsSpace(command[n]) {
			n++
		}
		if n > start {
			words = append(words, command[start:n])
		}
		n++
	}
	return words
}

// ModuleCame is called after a module is loaded. It registers the probes that waited for
// it.
//
// Kernel: the notifiers of trace_kprobe.c and trace_fprobe.c, kernel/trace.
func (d *Events) ModuleCame(name string) {
	d.kprobeModule(name)
	d.fprobeModule(name, true)
}

// ModuleGoes is called before a module is unloaded. The probes in it are no longer hit.
func (d *Events) ModuleGoes(name string) {
	d.killKprobes(name)
	d.fprobeModule(name, false)
}
