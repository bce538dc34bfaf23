package tracer

import (
	"fmt"
	"strconv"
	"syscall"

	"ftracelab/internal/tracefile"
	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// eventDirs is the content of events: a folder for each system, and the files
// that describe a page and an event header.
//
// Kernel: event_create_dir and create_event_toplevel_files,
// kernel/trace/trace_events.c.
func (i *Instance) eventDirs() []tracefile.Node {
	nodes := []tracefile.Node{
		i.enableFile(""),
		i.value("header_page", 0o440, func() string { return ringbuf.HeaderPage(i.buf.SubbufSize()) }, nil),
		i.value("header_event", 0o440, ringbuf.HeaderEvent, nil),
	}
	var systems []string
	bySystem := map[string][]*event.Type{}
	for _, t := range i.ft.types.All() {
		if bySystem[t.System] == nil {
			systems = append(systems, t.System)
		}
		bySystem[t.System] = append(bySystem[t.System], t)
	}
	for _, system := range systems {
		nodes = append(nodes, &tracefile.Dir{Name: system, Mode: 0o755, Children: func() []tracefile.Node {
			return i.systemFiles(system, bySystem[system])
		}})
	}
	return nodes
}

// systemFiles is the content of events/SYSTEM.
func (i *Instance) systemFiles(system string, types []*event.Type) []tracefile.Node {
	var nodes []tracefile.Node
	if system != "ftrace" {
		nodes = append(nodes, i.enableFile(system), i.systemFilterFile(types))
	}
	for _, t := range types {
		nodes = append(nodes, &tracefile.Dir{Name: t.Name, Mode: 0o755, Children: func() []tracefile.Node {
			return i.eventFiles(t)
		}})
	}
	return nodes
}

// eventFiles is the content of events/SYSTEM/EVENT. Of the tracers' own records
// only those that something can hook to show their id.
//
// Kernel: event_callback, kernel/trace/trace_events.c.
func (i *Instance) eventFiles(t *event.Type) []tracefile.Node {
	nodes := []tracefile.Node{
		i.seq("format", 0o440, func() ([]byte, error) { return t.Format(), nil }),
	}
	if switchable(t) || t == events.Function.Type || t == events.Print.Type {
		nodes = append(nodes, i.value("id", 0o440, func() string { return strconv.Itoa(t.ID) + "\n" }, nil))
	}
	if switchable(t) {
		nodes = append(nodes, i.enableFileOf(t), i.eventFilterFile(t))
	}
	if switchable(t) || t == events.Print.Type {
		nodes = append(nodes, i.triggerFile(t))
	}
	return nodes
}

// enableFile is the enable file of a system, or of all events.
func (i *Instance) enableFile(system string) tracefile.Node {
	return i.value("enable", 0o640, func() string { return i.state(system) }, func(s string) error {
		n, err := tracefile.ParseUlong(s, 10)
		if err != nil {
			return fmt.Errorf("events/%s/enable: %w", system, err)
		}
		if n > 1 {
			return fmt.Errorf("events/%s/enable: %q: %w", system, s, syscall.EINVAL)
		}
		return i.setEvents(system, "", n == 1)
	})
}
