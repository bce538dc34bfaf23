package capture

import (
	"bytes"
	"slices"
	"sort"
	"sync"
)

// kallsyms resolves kernel addresses. The files are read at the first look-up.
//
// Kernel: kallsyms_lookup_buildid, kernel/kallsyms.c.
type kallsyms struct {
	files kernelFiles
	once  sync.Once
	syms  []symbol // by address; of several with one address the first in the file
}

// symbol keeps names as places in the file's text.
type symbol struct {
	addr   uint64
	name   string
	module string
}

// Lookup implements event.Symbols. The size is the distance to the next symbol.
func (k *kallsyms) Lookup(addr uint64) (name, module string, offset, size uint64, ok bool) {
	k.once.Do(k.load)
	i := sort.Search(len(k.syms), func(i int) bool { return k.syms[i].addr > addr }) - 1
	if i < 0 || addr < kernelStart {
		return "", "", 0, 0, false
	}
	s := k.syms[i]
	if i+1 < len(k.syms) {
		size = k.syms[i+1].addr - s.addr
	}
	return s.name, s.module, addr - s.addr, size, true
}

// load reads kallsyms, and kallsyms.modules.txt of the captures nearby, whose
// modules replace those of kallsyms: modules move from boot to boot.
func (k *kallsyms) load() {
	modules, _, merr := k.files.read("kallsyms.modules.txt")
	all, _, err := k.files.read("kallsyms.txt", "kallsyms")
	if err != nil && merr != nil {
		return // addresses without names
	}
	var syms []symbol
	syms = appendSymbols(syms, all, merr != nil)
	k.set(appendSymbols(syms, modules, true))
}

// set sorts the symbols and keeps one of each address.
func (k *kallsyms) set(syms []symbol) {
	slices.SortStableFunc(syms, func(a, b symbol) int {
		switch {
		case a.addr < b.addr:
			return -1
		case a.addr > b.addr:
			return 1
		}
		return 0
	})
	k.syms = slices.CompactFunc(syms, func(a, b symbol) bool { return a.addr == b.addr })
}

// appendSymbols reads lines "address type name [module]"; others are passed over,
// and so are data symbols: only code is on a stack.
func appendSymbols(syms []symbol, text []byte, modules bool) []symbol {
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) < 3 || len(fields[1]) != 1 {
			continue
		}
		addr, ok := parseHex(fields[0])
		if !ok || addr < kernelStart || !bytes.Contains([]byte("tTwW"), fields[1]) {
			continue
		}
		s := symbol{addr: addr, name: string(fields[2])}
		if len(fields) > 3 {
			if !modules {
				continue
			}
			s.module = string(bytes.Trim(fields[3], "[]"))
		}
		syms = append(syms, s)
	}
	return syms
}
