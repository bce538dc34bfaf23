package tracer

import (
	"bytes"
	"fmt"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/record"
)

// stackmapFiles are stack_map, stack_map_stat and stack_map_bin. Only the top
// instance has a map, and so only it has the files.
//
// Kernel: the stackmap patches' trace_stackmap.c; modes as measured.
func (tr *Instance) stackmapFiles() []tracefile.Node {
	m := tr.ft.stackmap
	if m == nil || !tr.top() || !tr.madeMap() {
		return nil
	}
	return []tracefile.Node{
		tr.stackMapFile(),
		tr.seq("stack_map_stat", 0o440, func() ([]byte, error) { return m.AppendStat(nil), nil }),
		tr.seq("stack_map_bin", 0o440, func() ([]byte, error) { return m.AppendBinary(nil), nil }),
	}
}

// madeMap reports whether the boot has come far enough that there is a map.
func (tr *Instance) madeMap() (made bool) {
	_ = tr.locked(func() error { made = tr.ft.booted.mapped; return nil })
	return made
}

// newStacks returns how an instance writes stacks: in full until options/stackmap is
// set; see setStackMode.
func (ft *Ftrace) newStacks() *record.Stacks {
	s := &record.Stacks{Kernel: record.FullStack, User: record.FullStack, IDs: record.CatalogueIDs()}
	if ft.interner != nil {
		s.ShareKernelMap(ft.interner, ft.cfg.Stackmap)
	}
	return s
}

// showStackmap is the text of stack_map.
func (tr *Instance) showStackmap() ([]byte, error) {
	var text bytes.Buffer
	err := tr.ft.stackmap.WriteText(&text, tr.ft.appendSymbol)
	return text.Bytes(), err
}

// appendSymbol appends addr as %pS prints it.
//
// Kernel: __sprint_symbol, kernel/kallsyms.c.
func (ft *Ftrace) appendSymbol(dst []byte, addr uint64) []byte {
	name, module, offset, size, ok := ft.machine.Kallsyms().Lookup(addr)
	if !ok {
		return fmt.Appendf(dst, "0x%x", addr)
	}
	dst = fmt.Appendf(dst, "%s+0x%x/0x%x", name, offset, size)
	if module != "" {
		dst = fmt.Appendf(dst, " [%s]", module)
	}
	return dst
}

// resetStackmap carries out a write to stack_map. A kernel of the v4 kind empties the
// buffer and the snapshot first, so that no id in them can outlive its stack.
func (tr *Instance) resetStackmap(p []byte) error {
	var before func()
	if tr.ft.cfg.Stackmap.ClearBufferOnReset {
		before = func() { tr.resetBuffer(); tr.resetSnapshot() }
	}
	return tr.ft.stackmap.ResetWrite(p, tr.buf.Recording(), before)
}
