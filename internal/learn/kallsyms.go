package main

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"ftracelab/machine"
)

// dataSymbols are the symbols outside of the text that the kernel's own tests ask for.
var dataSymbols = map[string]bool{"linux_proc_banner": true, "_sdata": true, "init_task": true, "jiffies": true}

// readSymbols reads a kernel's symbol table: all text symbols and dataSymbols,
// each run of them ended by an unnamed symbol.
func readSymbols(o oracle) ([]machine.Symbol, error) {
	traceable := map[uint64]bool{}
	text, err := o.text("static/available_filter_functions_addrs.full.gz")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		hex, _, _ := strings.Cut(line, " ")
		if a, err := strconv.ParseUint(hex, 16, 64); err == nil {
			traceable[a] = true
		}
	}
	text, err = o.text("static/kallsyms.txt.gz")
	if err != nil {
		return nil, err
	}
	var syms []machine.Symbol
	open := false
	sc := bufio.NewScanner(strings.NewReader(text))
	for n := 1; sc.Scan(); n++ {
		f := strings.Fields(sc.Text())
		if len(f) < 3 {
			return nil, fmt.Errorf("kallsyms.txt.gz line %d: %d fields", n, len(f))
		}
		addr, err := strconv.ParseUint(f[0], 16, 64)
		if err != nil {
			return nil, fmt.Errorf("kallsyms.txt.gz line %d: %w", n, err)
		}
		s := machine.Symbol{Addr: addr, Type: f[1][0], Name: f[2]}
		if len(f) > 3 {
			s.Module = strings.Trim(f[3], "[]")
		}
		if !strings.ContainsRune("tTwW", rune(s.Type)) && !dataSymbols[s.Name] || addr < 1<<63 {
			if open && (len(syms) == 0 || addr != syms[len(syms)-1].Addr) {
				syms = append(syms, machine.Symbol{Addr: addr, Type: '-'})
				open = false
			}
			continue
		}
		first := len(syms) == 0 || syms[len(syms)-1].Addr != addr
		s.Endbr = first && traceable[addr+4]
		s.Traceable = first && traceable[addr] || s.Endbr
		syms = append(syms, s)
		open = true
	}
	return syms, sc.Err()
}
