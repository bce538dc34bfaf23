package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ftracelab/machine"
	"ftracelab/tracer"
	"ftracelab/tracer/event/events"
	"ftracelab/workload"
)

// foreign is the folder of the captures of a kernel of the same version that was built in
// another way. Its functions are taken for those of the same name, without what the compiler
// has added. A function that is no function of its own in our kernel is left out.
const foreign = "stackmap/v2"

// moduleTable reads the symbols of modules, with their modules.
func moduleTable(file string) (syms []machine.Symbol, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.ContainsAny(f[1], "tT") {
			continue
		}
		var addr uint64
		if _, err := fmt.Sscanf(f[0], "%x", &addr); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		syms = append(syms, machine.Symbol{Addr: addr, Name: f[2], Module: strings.Trim(f[3], "[]")})
	}
	slices.SortStableFunc(syms, func(a, b machine.Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
	return syms, nil
}

// symbol finds the function in which an address is; nil if there is none.
func (l *trailLearner) symbol(addr uint64) *machine.Symbol {
	for _, table := range [][]machine.Symbol{l.syms, l.modules} {
		i, exact := slices.BinarySearchFunc(table, addr, func(s machine.Symbol, a uint64) int { return cmp.Compare(s.Addr, a) })
		for exact && i > 0 && table[i-1].Addr == addr {
			i--
		}
		if !exact {
			i--
			for i > 0 && table[i-1].Addr == table[i].Addr {
				i--
			}
		}
		if i >= 0 && table[i].Name != "" && addr-table[i].Addr < 1<<16 {
			return &table[i]
		}
	}
	return nil
}

// translate makes the foreign kernel the one whose symbols are used.
func (l *trailLearner) translate() error {
	text, err := oracle(filepath.Join(l.oracle, foreign)).text("static/kallsyms.txt.gz")
	if err != nil {
		return err
	}
	ours := map[string]string{}
	for _, s := range l.syms {
		base, _, _ := strings.Cut(s.Name, ".")
		if ours[base] == "" || s.Name == base {
			ours[base] = s.Name
		}
		ours[s.Name] = s.Name
	}
	l.syms, l.alias, l.moved = nil, map[string]string{}, map[workload.TrailSite]uint32{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 3 || !strings.ContainsAny(f[1], "tTwW") {
			continue
		}
		s := machine.Symbol{Name: f[2]}
		if _, err := fmt.Sscanf(f[0], "%x", &s.Addr); err != nil {
			return fmt.Errorf("%s/static/kallsyms.txt.gz: %w", foreign, err)
		}
		l.syms = append(l.syms, s)
		base, _, _ := strings.Cut(s.Name, ".")
		l.alias[s.Name] = cmp.Or(ours[s.Name], ours[base])
	}
	slices.SortStableFunc(l.syms, func(a, b machine.Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
	return nil
}

// offset gives the offset of a call in our kernel. Where captures show calls of the same
// function by the same caller, it is one of theirs, a different one for each; else it
// stays that of the foreign kernel.
func (l *trailLearner) offset(site workload.TrailSite) uint32 {
	if at, ok := l.moved[site]; ok {
		return at
	}
	taken := map[uint32]bool{}
	for s, at := range l.moved {
		if s.Func == site.Func && s.Caller == site.Caller {
			taken[at] = true
		}
	}
	l.moved[site] = site.Offset
	for _, s := range l.out.Sites {
		if s.Func == site.Func && s.Caller == site.Caller && !taken[s.Offset] {
			l.moved[site] = s.Offset
			break
		}
	}
	return l.moved[site]
}

// syscallNumbers gives the numbers of the system calls that have events, by name.
func syscallNumbers() (map[string]int32, error) {
	m, err := machine.New(machine.Config{CPUs: 2})
	if err != nil {
		return nil, err
	}
	ft, err := tracer.New(m, tracer.Config{NoStackmap: true})
	if err != nil {
		return nil, err
	}
	numbers := map[string]int32{}
	for nr, typ := range events.NewSyscallTypes(ft.Types()).Enter {
		numbers[strings.TrimPrefix(typ.Name, "sys_enter_")] = int32(nr)
	}
	return numbers, nil
}

// callOf gives the name of the system call that a function carries out: "" if it is none.
func callOf(fn string) string {
	for _, prefix := range []string{"__x64_sys_", "__do_sys_", "__se_sys_", "ksys_", "__sys_"} {
		if name, ok := strings.CutPrefix(fn, prefix); ok {
			return name
		}
	}
	return ""
}
