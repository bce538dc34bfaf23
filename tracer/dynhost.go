package tracer

import (
	"io/fs"
	"slices"

	"ftracelab/fgraph"
	"ftracelab/fgraph/rethook"
	"ftracelab/machine"
	"ftracelab/machine/klog"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/dynevent"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
	"ftracelab/tracer/functions"
)

// This file holds what dynamic events see of ftrace (dynevent.Host) and of an
// instance (dynevent.Instance).

type (
	dynHost     Ftrace
	dynInstance Instance
)

var (
	_ dynevent.Host     = (*dynHost)(nil)
	_ dynevent.Instance = (*dynInstance)(nil)
)

func (h *dynHost) ftrace() *Ftrace           { return (*Ftrace)(h) }
func (h *dynHost) Machine() *machine.Machine { return h.machine }
func (h *dynHost) Types() *event.Table       { return h.types }

func (h *dynHost) AddEvent(t *event.Type, reg func(in dynevent.Instance, on bool) error) error {
	return h.ftrace().addEvent(t, reg)
}

func (h *dynHost) RemoveEvent(t *event.Type) error { return h.ftrace().removeEvent(t) }

func (h *dynHost) HoldEvent(t *event.Type, on bool) {
	if on {
		h.ftrace().holdEvent(t)
	} else {
		h.ftrace().releaseEvent(t)
	}
}

func (h *dynHost) Enabled(t *event.Type) bool            { return h.ftrace().enabledSomewhere(t) }
func (h *dynHost) Listens(t *event.Type) bool            { return h.listening[t.ID] }
func (h *dynHost) SetInnermost(t *event.Type, ip uint64) { h.probes[t.ID] = ip }
func (h *dynHost) ResetCleared()                         { h.ftrace().resetCleared() }
func (*dynHost) Common(c *machine.CPU) event.Common      { return common(c) }
func (h *dynHost) RegisterOps(o *functions.Ops)          { h.users.Register(o) }
func (h *dynHost) UnregisterOps(o *functions.Ops)        { h.users.Unregister(o) }
func (h *dynHost) RegisterGraph(o *fgraph.Ops, hash *functions.OpsHash) error {
	return h.users.RegisterGraph(o, hash)
}
func (h *dynHost) UnregisterGraph(o *fgraph.Ops)          { h.users.UnregisterGraph(o) }
func (h *dynHost) Touch(ip uint64)                        { h.users.Touch(ip) }
func (h *dynHost) Rethooks(t *machine.Task) *rethook.Task { return &h.ftrace().data(t).rethooks }
func (h *dynHost) Rehook()                                { h.ftrace().changed() }
func (h *dynHost) HashPtr(ptr uint64) uint64              { return h.ptrKey.Ptr(ptr) }
func (h *dynHost) FilterEnv() filter.Env                  { return h.top.filterEnv() }
func (h *dynHost) LogFilter(fault *filter.Error)          { h.top.logFilterFault(fault) }
func (h *dynHost) Locked(do func() error) error           { return h.top.locked(do) }

func (h *dynHost) Emit(c *machine.CPU, t *event.Type, hdr event.Common, rec []byte, around dynevent.Around) {
	h.ftrace().emit(&happening{Around: around, cpu: c, t: t, h: hdr, data: rec})
}

func (h *dynHost) EmitNested(c *machine.CPU, t *event.Type, hdr event.Common, rec []byte, around dynevent.Around) {
	h.ftrace().emitNested(&happening{Around: around, cpu: c, ctx: contextOf(c), t: t, h: hdr, data: rec})
}

func (h *dynHost) Users(ip uint64) int {
	return h.users.Count(ip)
}

func (h *dynHost) Match(set *functions.Hash, pattern string) int {
	return h.ftrace().matchInto(set, pattern, nil)
}

func (h *dynHost) ForgetModule(name string, set *functions.Hash) { h.ftrace().forgetModule(name, set) }

func (h *dynHost) Warn(text string) { h.ftrace().say(klog.Warning, text) }

func (h *dynHost) LogError(location, message, command string, pos int) {
	h.top.errors.add(errorEntry{ns: h.machine.Now(), location: location, message: message, command: command, pos: pos})
}

func (h *dynHost) Value(name string, mode fs.FileMode, show func() string, store func(string) error) tracefile.Node {
	return h.top.value(name, mode, show, store)
}

func (h *dynHost) Seq(name string, mode fs.FileMode, show func() ([]byte, error)) *tracefile.File {
	return h.top.seq(name, mode, show)
}

func (n *dynInstance) instance() *Instance             { return (*Instance)(n) }
func (n *dynInstance) FilterEnv() filter.Env           { return n.instance().filterEnv() }
func (n *dynInstance) SoftDisabled(t *event.Type) bool { return n.events[t.ID].softDisabled }

func (n *dynInstance) Attach(t *event.Type, e *dynevent.Eprobe) {
	s := &n.events[t.ID]
	s.eprobes = append(slices.Clone(s.eprobes), e)
	n.instance().softEnableEvent(t, true)
}

func (n *dynInstance) Detach(t *event.Type, e *dynevent.Eprobe) {
	s := &n.events[t.ID]
	s.eprobes = slices.DeleteFunc(slices.Clone(s.eprobes), func(have *dynevent.Eprobe) bool { return have == e })
	n.instance().softEnableEvent(t, false)
}

func (n *dynInstance) Happen(c *machine.CPU, t *event.Type, h event.Common, rec []byte, around dynevent.Around) {
	n.instance().happen(&happening{Around: around, cpu: c, ctx: contextOf(c), t: t, h: h, data: rec})
}

// KprobesDir returns the folder kprobes of debugfs.
func (ft *Ftrace) KprobesDir() *tracefile.Dir { return ft.dyn.KprobesDir() }
