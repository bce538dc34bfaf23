package tracer

import (
	"fmt"
	"strconv"
	"syscall"

	"ftracelab/ringbuf"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// eventsDir is events: a folder for each system, and the files that describe a page
// and an event header. There are many folders, so each is made only when somebody
// asks for it.
//
// Kernel: event_create_dir and create_event_toplevel_files,
// kernel/trace/trace_events.c.
func (tr *Instance) eventsDir() *tracefile.Dir {
	files := func() []tracefile.Node {
		return []tracefile.Node{
			tr.enableFile(""),
			tr.value("header_page", 0o440, func() string { return ringbuf.HeaderPage(tr.buf.SubbufSize()) }, nil),
			tr.value("header_event", 0o440, ringbuf.HeaderEvent, nil),
		}
	}
	return &tracefile.Dir{
		Name: "events", Mode: 0o755,
		Children: func() []tracefile.Node {
			nodes := files()
			seen := map[string]bool{}
			for _, t := range tr.eventTypes() {
				if !seen[t.System] {
					seen[t.System] = true
					nodes = append(nodes, tr.systemDir(t.System))
				}
			}
			return nodes
		},
		Find: func(name string) tracefile.Node {
			for _, t := range tr.eventTypes() {
				if t.System == name {
					return tr.systemDir(name)
				}
			}
			return named(files(), name)
		},
	}
}

// eventTypes returns the events of the instance, for callers that do not hold the
// lock. The slice is never written to: a change of the events makes another one.
func (tr *Instance) eventTypes() []*event.Type {
	tr.ft.mu.Lock()
	defer tr.ft.mu.Unlock()
	return tr.types
}

// members returns the events of a system. passing reports whether all of them are
// dynamic, so that the system disappears with them.
func (tr *Instance) members(system string) (types []*event.Type, passing bool) {
	tr.ft.mu.Lock()
	defer tr.ft.mu.Unlock()
	passing = true
	for _, t := range tr.types {
		if t.System == system {
			types, passing = append(types, t), passing && tr.ft.isDynamic(t)
		}
	}
	return types, passing
}

// systemDir is events/SYSTEM.
func (tr *Instance) systemDir(system string) *tracefile.Dir {
	files := func() []tracefile.Node {
		if system == "ftrace" {
			return nil
		}
		return []tracefile.Node{tr.enableFile(system), tr.systemFilterFile(system)}
	}
	_, passing := tr.members(system)
	return &tracefile.Dir{
		Name: system, Mode: 0o755, Passing: passing,
		Children: func() []tracefile.Node {
			nodes := files()
			types, _ := tr.members(system)
			for _, t := range types {
				nodes = append(nodes, tr.eventDir(t))
			}
			return nodes
		},
		Find: func(name string) tracefile.Node {
			for _, t := range tr.eventTypes() {
				if t.System == system && t.Name == name {
					return tr.eventDir(t)
				}
			}
			return named(files(), name)
		},
	}
}

// eventDir is events/SYSTEM/EVENT. The folder of a dynamic event may be held open
// longer than the event exists.
func (tr *Instance) eventDir(t *event.Type) *tracefile.Dir {
	tr.ft.mu.Lock()
	defer tr.ft.mu.Unlock()
	dir := &tracefile.Dir{Name: t.Name, Mode: 0o755, Passing: tr.ft.isDynamic(t), Children: func() []tracefile.Node { return tr.eventFiles(t) }}
	if dir.Passing {
		dir.Children = func() []tracefile.Node { return tr.whileThere(t, tr.eventFiles(t)) }
	}
	return dir
}

// named returns the node with that name, or nil if there is none.
func named(nodes []tracefile.Node, name string) tracefile.Node {
	for _, node := range nodes {
		if node.NodeName() == name {
			return node
		}
	}
	return nil
}

// eventFiles returns the content of events/SYSTEM/EVENT. Of the tracers' own records,
// only those that something can attach to have a file that shows their id.
//
// Kernel: event_callback, kernel/trace/trace_events.c.
func (tr *Instance) eventFiles(t *event.Type) []tracefile.Node {
	nodes := []tracefile.Node{
		tr.seq("format", 0o440, func() ([]byte, error) { return t.Format(), nil }),
	}
	if switchable(t) || t == events.Function.Type || t == events.Print.Type {
		nodes = append(nodes, tr.value("id", 0o440, func() string { return strconv.Itoa(t.ID) + "\n" }, nil))
	}
	if switchable(t) {
		nodes = append(nodes, tr.enableFileOf(t), tr.eventFilterFile(t))
	}
	if switchable(t) || t == events.Print.Type {
		nodes = append(nodes, tr.triggerFile(t))
	}
	return append(nodes, tr.histFile(t))
}

// enableFile is the enable file of a system, or of all events.
func (tr *Instance) enableFile(system string) tracefile.Node {
	return tr.value("enable", 0o640, func() string { return tr.state(system) }, func(s string) error {
		n, err := tracefile.ParseUserUlong(s, 10)
		if err != nil {
			return fmt.Errorf("events/%s/enable: %w", system, err)
		}
		if err := tr.expand(); err != nil {
			return err
		}
		if n > 1 {
			return fmt.Errorf("events/%s/enable: %q: %w", system, s, syscall.EINVAL)
		}
		return tr.setEvents(system, "", n == 1)
	})
}
