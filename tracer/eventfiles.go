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

// eventsDir is events: a folder for each system, and the files that describe a
// page and an event header. Of the many folders only those are made that
// somebody asks for.
//
// Kernel: event_create_dir and create_event_toplevel_files,
// kernel/trace/trace_events.c.
func (i *Instance) eventsDir() *tracefile.Dir {
	files := func() []tracefile.Node {
		return []tracefile.Node{
			i.enableFile(""),
			i.value("header_page", 0o440, func() string { return ringbuf.HeaderPage(i.buf.SubbufSize()) }, nil),
			i.value("header_event", 0o440, ringbuf.HeaderEvent, nil),
		}
	}
	return &tracefile.Dir{
		Name: "events", Mode: 0o755,
		Children: func() []tracefile.Node {
			nodes := files()
			seen := map[string]bool{}
			for _, t := range i.eventTypes() {
				if !seen[t.System] {
					seen[t.System] = true
					nodes = append(nodes, i.systemDir(t.System))
				}
			}
			return nodes
		},
		Find: func(name string) tracefile.Node {
			for _, t := range i.eventTypes() {
				if t.System == name {
					return i.systemDir(name)
				}
			}
			return named(files(), name)
		},
	}
}

// eventTypes are the events of the instance, for who does not hold the lock. The slice is
// never written to: what changes them makes another.
func (i *Instance) eventTypes() []*event.Type {
	i.ft.mu.Lock()
	defer i.ft.mu.Unlock()
	return i.types
}

// members are the events of a system, and whether it goes when they go: all are dynamic.
func (i *Instance) members(system string) (types []*event.Type, passing bool) {
	i.ft.mu.Lock()
	defer i.ft.mu.Unlock()
	passing = true
	for _, t := range i.types {
		if t.System == system {
			types, passing = append(types, t), passing && i.ft.isDynamic(t)
		}
	}
	return types, passing
}

// systemDir is events/SYSTEM.
func (i *Instance) systemDir(system string) *tracefile.Dir {
	files := func() []tracefile.Node {
		if system == "ftrace" {
			return nil
		}
		return []tracefile.Node{i.enableFile(system), i.systemFilterFile(system)}
	}
	_, passing := i.members(system)
	return &tracefile.Dir{
		Name: system, Mode: 0o755, Passing: passing,
		Children: func() []tracefile.Node {
			nodes := files()
			types, _ := i.members(system)
			for _, t := range types {
				nodes = append(nodes, i.eventDir(t))
			}
			return nodes
		},
		Find: func(name string) tracefile.Node {
			for _, t := range i.eventTypes() {
				if t.System == system && t.Name == name {
					return i.eventDir(t)
				}
			}
			return named(files(), name)
		},
	}
}

// eventDir is events/SYSTEM/EVENT. Of a dynamic event it may be held open longer than
// there is such an event.
func (i *Instance) eventDir(t *event.Type) *tracefile.Dir {
	i.ft.mu.Lock()
	defer i.ft.mu.Unlock()
	dir := &tracefile.Dir{Name: t.Name, Mode: 0o755, Passing: i.ft.isDynamic(t), Children: func() []tracefile.Node { return i.eventFiles(t) }}
	if dir.Passing {
		dir.Children = func() []tracefile.Node { return i.whileThere(t, i.eventFiles(t)) }
	}
	return dir
}

// named is the node of a name, nil if there is none.
func named(nodes []tracefile.Node, name string) tracefile.Node {
	for _, node := range nodes {
		if node.NodeName() == name {
			return node
		}
	}
	return nil
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
	return append(nodes, i.histFile(t))
}

// enableFile is the enable file of a system, or of all events.
func (i *Instance) enableFile(system string) tracefile.Node {
	return i.value("enable", 0o640, func() string { return i.state(system) }, func(s string) error {
		n, err := tracefile.ParseUserUlong(s, 10)
		if err != nil {
			return fmt.Errorf("events/%s/enable: %w", system, err)
		}
		if err := i.expand(); err != nil {
			return err
		}
		if n > 1 {
			return fmt.Errorf("events/%s/enable: %q: %w", system, s, syscall.EINVAL)
		}
		return i.setEvents(system, "", n == 1)
	})
}
