package main

import (
	"bytes"
	"fmt"
	"slices"

	"ftracelab/machine"
)

// modules is /proc/modules: the youngest module first.
//
// Departure: each module has the same size.
//
// Kernel: m_show, kernel/module/procfs.c.
func (l *lab) modules() ([]byte, error) {
	var b bytes.Buffer
	err := l.ft.Do(func(m *machine.Machine) error {
		base := map[string]uint64{}
		for _, s := range m.Kallsyms().All() { // in the order of addresses
			if _, known := base[s.Module]; !known {
				base[s.Module] = s.Addr
			}
		}
		for _, name := range slices.Backward(m.LoadedModules()) {
			fmt.Fprintf(&b, "%s 16384 %d - Live 0x%016x\n", name, m.ModuleRefs(name), base[name])
		}
		return nil
	})
	return b.Bytes(), err
}
