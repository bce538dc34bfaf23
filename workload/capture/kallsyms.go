package capture

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// kallsyms resolves kernel addresses. The files are read at the first look-up.
//
// Kernel: kallsyms_lookup_buildid, kernel/kallsyms.c.
type kallsyms struct {
	files kernelFiles
	once  sync.Once
	syms  []symbol // by address; of several with one address the first in the file
	// start and end bound the kernel's own symbols: _stext and _end; 0: not known.
	start, end uint64

	anchors map[string]uint64 // by name, see isAnchor
}

// symbol keeps names as places in the file's text.
type symbol struct {
	addr   uint64
	name   string
	module string
}

// maxModuleSymbol bounds what belongs to the last symbol before a gap between
// modules: no file tells where a module ends.
const maxModuleSymbol = 4096

// Lookup implements event.Symbols. The size is the distance to the next symbol.
func (k *kallsyms) Lookup(addr uint64) (name, module string, offset, size uint64, ok bool) {
	k.once.Do(k.load)
	i := sort.Search(len(k.syms), func(i int) bool { return k.syms[i].addr > addr }) - 1
	if i < 0 || addr < max(kernelStart, k.start) {
		return "", "", 0, 0, false
	}
	s := k.syms[i]
	offset = addr - s.addr
	if k.end != 0 && addr >= k.end && (s.module == "" || offset > maxModuleSymbol) {
		return "", "", 0, 0, false
	}
	if i+1 < len(k.syms) {
		size = k.syms[i+1].addr - s.addr
	}
	return s.name, s.module, offset, size, true
}

// isAnchor says which symbols are looked for by name: the kernel's bounds, with
// which print formats calculate, and those of the interrupt entry code.
func isAnchor(name string) bool {
	switch name {
	case "_stext", "_end", "__irqentry_text_start", "__irqentry_text_end":
		return true
	}
	return false
}

// Address is where an anchor is.
func (k *kallsyms) Address(name string) (uint64, bool) {
	k.once.Do(k.load)
	addr, ok := k.anchors[name]
	return addr, ok
}

// load reads kallsyms, and kallsyms.modules.txt of the captures nearby, whose
// modules replace those of kallsyms: modules move from boot to boot.
func (k *kallsyms) load() {
	modules, _, merr := readFirst(k.files.near, "kallsyms.modules.txt")
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
	byAddr := func(a, b symbol) int { return cmp.Compare(a.addr, b.addr) }
	if !slices.IsSortedFunc(syms, byAddr) {
		slices.SortStableFunc(syms, byAddr)
	}
	k.anchors = map[string]uint64{}
	for _, s := range syms {
		if s.module == "" && isAnchor(s.name) {
			k.anchors[s.name] = s.addr
		}
	}
	k.start, k.end = k.anchors["_stext"], k.anchors["_end"]
	k.syms = slices.CompactFunc(syms, func(a, b symbol) bool { return a.addr == b.addr })
}

// appendSymbols reads lines "address type name [module]"; others are passed over.
// Data counts: a kernel whose kallsyms lists it names it, too.
func appendSymbols(syms []symbol, text []byte, modules bool) []symbol {
	for line := range strings.Lines(string(text)) {
		digits, rest, _ := strings.Cut(strings.TrimRight(line, " \r\n"), " ")
		addr, err := strconv.ParseUint(digits, 16, 64)
		if err != nil || addr < kernelStart || len(rest) < 3 || rest[1] != ' ' {
			continue
		}
		name, module, ofModule := strings.Cut(rest[2:], "\t")
		if !ofModule {
			name, module, ofModule = strings.Cut(name, " ")
		}
		if ofModule && !modules {
			continue
		}
		syms = append(syms, symbol{addr, name, strings.Trim(module, "[] ")})
	}
	return syms
}
