package tracer

import (
	"bytes"
	"fmt"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/record"
)

// stackmapFiles are stack_map, stack_map_stat and stack_map_bin, which an instance with a
// map has.
//
// Kernel: the stackmap patches' trace_stackmap.c; modes as measured. Only the top
// instance has a map there.
func (tr *Instance) stackmapFiles() []tracefile.Node {
	m := tr.stackmap
	if m == nil || !tr.madeMap() {
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

// maxMapBytes limits what the maps of all instances together may take of a kernel's memory.
//
// Departure: a kernel fails with ENOMEM when its memory is used up; the emulation refuses
// above 1 GiB.
const maxMapBytes = 1 << 30

// openMap makes the map of an instance; nil for one that has none.
func (ft *Ftrace) openMap(top bool) (record.Interner, error) {
	cfg := ft.cfg.Stackmap
	if ft.cfg.NoStackmap || !top && !cfg.PerInstance {
		return nil, nil
	}
	m, err := cfg.Open()
	if err != nil || top {
		return m, err
	}
	size := func(m record.Interner) uint64 { c := m.Cost(); return c.Table + c.Pool }
	total := size(m)
	for tr := range ft.all {
		total += size(tr.interner)
	}
	if total > maxMapBytes {
		return nil, fmt.Errorf("the stack maps of all instances would take %d bytes, more than %d: %w", total, maxMapBytes, syscall.ENOMEM)
	}
	return m, nil
}

// newStacks returns how an instance writes stacks: in full until options/stackmap is
// set; see setStackMode.
func (tr *Instance) newStacks() *record.Stacks {
	s := &record.Stacks{Kernel: record.FullStack, User: record.FullStack, IDs: record.CatalogueIDs()}
	if tr.interner != nil {
		s.ShareKernelMap(tr.interner, tr.ft.cfg.Stackmap)
	}
	return s
}

// showStackmap is the text of stack_map.
func (tr *Instance) showStackmap() ([]byte, error) {
	var text bytes.Buffer
	err := tr.stackmap.WriteText(&text, tr.ft.appendSymbol)
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
	return tr.stackmap.ResetWrite(p, tr.buf.Recording(), before)
}
