package tracer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
)

// dynEvent is a line of dynamic_events: one definition. Several may be of one event.
//
// Kernel: struct dyn_event and struct dyn_event_operations,
// kernel/trace/trace_dynevent.h.
type dynEvent interface {
	kind() *dynKind
	show() string // its line, without the line break
	busy() bool   // it cannot be deleted
	// free deletes it; its error wraps EBUSY if it is in use.
	free() error
	// match reports whether a deletion means it: system may be nil for any, event
	// empty for any; args are the words behind, which it has to have, too.
	match(system *string, event string, args []string) bool
}

// dynKind is a kind of definitions.
type dynKind struct {
	name string
	// create makes an event of a definition and adds it with addDynEvent. An error
	// that wraps ECANCELED says that the definition is of another kind.
	create func(ft *Ftrace, command string) error
}

// addDynEvent adds a definition at the end of dynamic_events.
//
// Kernel: dyn_event_add, kernel/trace/trace_dynevent.h.
func (ft *Ftrace) addDynEvent(e dynEvent) { ft.dynEvents = append(ft.dynEvents, e) }

// dropDynEvent takes a definition out.
//
// Kernel: dyn_event_remove, kernel/trace/trace_dynevent.h.
func (ft *Ftrace) dropDynEvent(e dynEvent) {
	ft.dynEvents = slices.DeleteFunc(slices.Clone(ft.dynEvents), func(have dynEvent) bool { return have == e })
}

// releaseDynEvents deletes what a command -:[GROUP/]EVENT or !…:[GROUP/]EVENT means, of
// one kind or with nil of all. Errors: ENOENT if there is none, EINVAL for another
// command, EBUSY from the first one on that is in use.
//
// Kernel: dyn_event_release, kernel/trace/trace_dynevent.c.
func (ft *Ftrace) releaseDynEvents(command string, kind *dynKind) error {
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
	for _, e := range ft.dynEvents {
		if kind != nil && e.kind() != kind || !e.match(system, event, words[1:]) {
			continue
		}
		if err = e.free(); err != nil {
			break
		}
	}
	ft.resetCleared()
	return err
}

// releaseAllDynEvents deletes all definitions, of one kind or with nil of all kinds.
// Errors: EBUSY, and nothing is deleted, if one is busy.
//
// Kernel: dyn_events_release_all, kernel/trace/trace_dynevent.c.
func (ft *Ftrace) releaseAllDynEvents(kind *dynKind) (err error) {
	defer ft.resetCleared()
	of := slices.DeleteFunc(slices.Clone(ft.dynEvents), func(e dynEvent) bool { return kind != nil && e.kind() != kind })
	for _, e := range of {
		if e.busy() {
			return fmt.Errorf("%s: %w", e.show(), syscall.EBUSY)
		}
	}
	for _, e := range of {
		if err := e.free(); err != nil {
			return err
		}
	}
	return nil
}

// createDynEvent does a line of dynamic_events: it deletes, or the first kind that
// knows the definition makes an event of it.
//
// Kernel: create_dyn_event, kernel/trace/trace_dynevent.c.
func (ft *Ftrace) createDynEvent(command string) error {
	if strings.HasPrefix(command, "-") || strings.HasPrefix(command, "!") {
		return ft.releaseDynEvents(command, nil)
	}
	for _, kind := range ft.dynKinds {
		if err := kind.create(ft, command); !errors.Is(err, syscall.ECANCELED) {
			return err
		}
	}
	return fmt.Errorf("%q is no event: %w", command, syscall.EINVAL)
}

// dynEventsFile is dynamic_events, or with a kind the file of that kind: it lists
// definitions, run does each line that is written, and opening it with > deletes all.
//
// Kernel: dynamic_events_ops, kernel/trace/trace_dynevent.c; kprobe_events_ops,
// kernel/trace/trace_kprobe.c; and those of the other kinds.
func (ft *Ftrace) dynEventsFile(name string, kind *dynKind, run func(command string) error) tracefile.Node {
	tr := ft.top
	return tr.seq(name, 0o640, func() ([]byte, error) { return ft.showDynEvents(kind), nil }).
		OnTrunc(func() error { return tr.locked(func() error { return ft.releaseAllDynEvents(kind) }) }).
		OnWrite(func(p []byte) error { return tr.locked(func() error { return runCommands(string(p), run) }) })
}

func (ft *Ftrace) showDynEvents(kind *dynKind) []byte {
	var text []byte
	for _, e := range ft.dynEvents {
		if kind == nil || e.kind() == kind {
			text = append(append(text, e.show()...), '\n')
		}
	}
	return text
}

// commandSize is how long a line of commands may be, and its line break and zero.
//
// Kernel: WRITE_BUFSIZE, kernel/trace/trace.c.
const commandSize = 4096

// runCommands does each line of a write; what follows a # is a comment. It ends with
// the first error. Errors: EINVAL for a line that is too long or has a zero byte, which
// is not done.
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

// splitArgs parts a command into its words.
//
// Kernel: argv_split, lib/argv_split.c.
func splitArgs(command string) []string {
	var words []string
	for n := 0; n < len(command); {
		start := n
		for n < len(command) && !isSpace(command[n]) {
			n++
		}
		if n > start {
			words = append(words, command[start:n])
		}
		n++
	}
	return words
}
