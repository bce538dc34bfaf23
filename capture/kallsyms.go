package capture

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"strings"
	"sync"
)

// kallsyms finds the names of kernel addresses. The texts are indexed at the first
// look-up.
//
// Kernel: kallsyms_lookup_buildid, kernel/kallsyms.c.
type kallsyms struct {
	files   kernelFiles
	modules []byte // kallsyms.modules.txt; nil: there is none
	once    sync.Once
	symbolIndex
}

// symbolIndex is the index of the symbols. Once it is built it does not change any
// more.
type symbolIndex struct {
	text   [2][]byte // what kallsyms and kallsyms.modules.txt hold
	syms   []symbol  // sorted by address; only the first in the file of those with the same address
	sorted bool      // while lines are added: syms is in order so far
	// start and end are the addresses of _stext and _end, between which the kernel's
	// own symbols lie; 0: not known.
	start, end uint64

	anchors map[string]uint64 // addresses by name, see isAnchor
}

// symbol is a line of the text. A kernel has some 150,000 of them and a trace needs
// few, so a name stays in the text until it is looked up.
type symbol struct {
	addr uint64
	file uint32 // the index of the text
	at   uint32 // where the name begins in it
}

// Lookup implements event.Symbols. The size is the distance to the next symbol.
func (k *kallsyms) Lookup(addr uint64) (name, module string, offset, size uint64, ok bool) {
	k.once.Do(k.load)
	i := sort.Search(len(k.syms), func(i int) bool { return k.syms[i].addr > addr }) - 1
	if i < 0 || addr < max(kernelStart, k.start) {
		return "", "", 0, 0, false
	}
	s := k.syms[i]
	name, module = k.name(s)
	offset, size = addr-s.addr, k.size(i, module)
	if module != "" && offset >= size || module == "" && k.end != 0 && addr >= k.end {
		return "", "", 0, 0, false
	}
	return name, module, offset, size, true
}

// size is the distance of a symbol to the next one; 0 for the kernel's last. The code of
// a module ends with a page: behind its last function lies other memory, such as the init
// section of a module that is long gone.
//
// Kernel: find_kallsyms_symbol, kernel/module/kallsyms.c.
func (k *kallsyms) size(i int, module string) uint64 {
	s, last := k.syms[i], i+1 == len(k.syms)
	if module != "" {
		if !last {
			_, next := k.name(k.syms[i+1])
			last = next != module || k.isCode(k.syms[i+1]) != k.isCode(s)
		}
		if last {
			return pageSize - s.addr%pageSize
		}
	}
	if last {
		return 0
	}
	return k.syms[i+1].addr - s.addr
}

// pageSize is that of x86.
const pageSize = 4096

// isCode reports whether a symbol is a function or a label.
func (k *symbolIndex) isCode(s symbol) bool {
	kind := k.text[s.file][s.at-2]
	return kind|0x20 == 't' || kind|0x20 == 'w'
}

// each calls f for every symbol. The size is the distance to the next symbol.
func (k *kallsyms) each(f func(addr, size uint64, name, module string)) {
	k.once.Do(k.load)
	for i, s := range k.syms {
		name, module := k.name(s)
		f(s.addr, k.size(i, module), name, module)
	}
}

// isAnchor reports whether a symbol is looked up by its name: the bounds of the kernel,
// with which print formats calculate, and those of the interrupt entry code.
func isAnchor(name string) bool {
	switch name {
	case "_stext", "_end", "__irqentry_text_start", "__irqentry_text_end":
		return true
	}
	return false
}

// mayBeAnchor is a quick test that rules out most names; text begins with the name.
func mayBeAnchor(text []byte) bool {
	return text[0] == '_' && len(text) > 2 && (text[2] == 't' || text[2] == 'n' || text[2] == 'i')
}

// Address gives the address of an anchor.
func (k *kallsyms) Address(name string) (uint64, bool) {
	k.once.Do(k.load)
	addr, ok := k.anchors[name]
	return addr, ok
}

// load indexes kallsyms. Modules are loaded elsewhere after each boot, so if there is a
// kallsyms.modules.txt near the capture, its modules replace those of kallsyms.
func (k *kallsyms) load() {
	defer func() { k.files = kernelFiles{} }() // nothing is read from them any more
	if k.modules == nil {
		k.symbolIndex = k.files.cache.index(k.files)
		return
	}
	text, _, _ := k.files.cache.kallsyms(k.files) // setSymbols has read it without an error
	k.set(text, k.modules, true)
}

// checkSymbols gives an error for a text that is of no use as kallsyms: one that was
// cut off, has no symbols, or hides the addresses.
//
// Kernel: kptr_restrict; s_show, kernel/kallsyms.c.
func checkSymbols(text []byte, shown string) error {
	if len(text) == 0 {
		return nil
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	at := func(line []byte, what string) error {
		n := 1 + bytes.Count(text[:len(text)-len(line)], []byte("\n"))
		return &Error{File: shown, Line: n, Offset: -1, What: what + ": " + excerpt(line)}
	}
	if !isSymbolLine(first) {
		return &Error{File: shown, Line: 1, Offset: -1, What: "no line of kallsyms (ADDRESS TYPE NAME): " + excerpt(first)}
	}
	if last := text[bytes.LastIndexByte(text, '\n')+1:]; len(last) > 0 {
		return at(last, "the text ends inside a line")
	}
	for line := range bytes.Lines(text) {
		if addr, n := leadingHex(line[:min(16, len(line))]); n > 0 && addr != 0 {
			return nil
		}
	}
	return fileError(shown, "all addresses are 0: take it as root (kptr_restrict)", nil)
}

// isSymbolLine reports whether a line has the form "address type name …".
func isSymbolLine(line []byte) bool {
	_, n := leadingHex(line[:min(16, len(line))])
	return n > 0 && n+3 < len(line) && line[n] == ' ' && line[n+2] == ' ' && line[n+3] > ' '
}

// set indexes the lines of all and then those of modules; with replaced, it leaves out
// the modules in all. It keeps one symbol for each address.
func (k *symbolIndex) set(all, modules []byte, replaced bool) {
	k.text = [2][]byte{all, modules}
	k.anchors = map[string]uint64{}
	k.syms = make([]symbol, 0, (symbolsCost(all)+symbolsCost(modules))/symbolCost)
	k.sorted = true
	k.add(0, replaced)
	k.add(1, false)
	k.start, k.end = k.anchors["_stext"], k.anchors["_end"]
	if !k.sorted {
		k.sort()
	}
}

// symbolCost is the size of a symbol in bytes.
const symbolCost = 16

// symbolsCost is the memory that the index of a text takes: a symbol for each line.
func symbolsCost(text []byte) int64 {
	return symbolCost * int64(bytes.Count(text, []byte("\n"))+1)
}

// readSymbols reads a text of symbols. It asks for the memory of the index as well.
func readSymbols(places []place, names ...string) (text []byte, shown string, err error) {
	text, shown, err = readFirst(places, names...)
	if err != nil {
		return nil, shown, err
	}
	if err := places[0].fsys.memory.Take(symbolsCost(text), "the index of its symbols"); err != nil {
		return nil, shown, fileError(shown, "too large", err)
	}
	return text, shown, nil
}

// add appends the lines "address type name [module]" of a text and passes over all
// others. Data symbols are taken, too: if a kernel's kallsyms lists them, that kernel
// prints their names.
func (k *symbolIndex) add(file uint32, noModules bool) {
	text := k.text[file]
	var high highDigits
	for from := 0; from < len(text); {
		line := text[from:]
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line = line[:n]
		}
		at := from
		from += len(line) + 1
		addr, n := high.address(line)
		if addr < kernelStart || n+3 >= len(line) || line[n] != ' ' || line[n+2] != ' ' || line[n+3] <= ' ' {
			continue
		}
		if noModules && line[len(line)-1] == ']' {
			continue
		}
		s := symbol{addr, file, uint32(at + n + 3)}
		if mayBeAnchor(line[n+3:]) {
			if name, module := k.name(s); module == "" && isAnchor(name) {
				k.anchors[name] = addr
			}
		}
		switch last := len(k.syms) - 1; {
		case last >= 0 && k.syms[last].addr == addr:
			continue
		case last >= 0 && k.syms[last].addr > addr:
			k.sorted = false
		}
		k.syms = append(k.syms, s)
	}
}

// highDigits remembers the first digits of an address, because most lines share them
// with the line before.
type highDigits struct {
	text  [12]byte
	value uint64 // what they stand for; 0: nothing is remembered
}

// address reads the number at the beginning of a line, and gives its length in bytes.
func (h *highDigits) address(line []byte) (addr uint64, n int) {
	const all = 16
	if h.value == 0 || len(line) < all || [len(h.text)]byte(line) != h.text {
		if addr, n = leadingHex(line[:min(all, len(line))]); n == all {
			h.text, h.value = [len(h.text)]byte(line), addr&^0xffff
		}
		return addr, n
	}
	addr, n = leadingHex(line[len(h.text):all])
	if n < all-len(h.text) {
		return leadingHex(line[:all])
	}
	return h.value | addr, all
}

// leadingHex reads the hexadecimal number at the beginning of a text of at most 16
// bytes, and gives its length in bytes.
func leadingHex(text []byte) (v uint64, n int) {
	for _, c := range text {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20-'a' <= 5:
			c = c | 0x20 - 'a' + 10
		default:
			return v, n
		}
		v = v<<4 | uint64(c)
		n++
	}
	return v, n
}

// name gives the name of a symbol and its module, which is "" for the kernel's own.
func (k *symbolIndex) name(s symbol) (name, module string) {
	line, _, _ := bytes.Cut(k.text[s.file][s.at:], []byte("\n"))
	return splitModule(string(bytes.TrimRight(line, " \r")))
}

// splitModule divides "name\t[module]".
func splitModule(s string) (name, module string) {
	name, module, ok := strings.Cut(s, "\t")
	if !ok {
		name, module, ok = strings.Cut(name, " ")
	}
	if !ok {
		return name, ""
	}
	return name, strings.Trim(module, "[] ")
}

// sort sorts the symbols by address and keeps the first of those with the same address.
// The kernel's own symbols come in order; those of modules follow, and often all of
// their addresses are higher.
func (k *symbolIndex) sort() {
	byAddr := func(a, b symbol) int { return cmp.Compare(a.addr, b.addr) }
	n := 1
	for n < len(k.syms) && k.syms[n-1].addr <= k.syms[n].addr {
		n++
	}
	slices.SortStableFunc(k.syms[n:], byAddr)
	if k.syms[n].addr < k.syms[n-1].addr {
		slices.SortStableFunc(k.syms, byAddr)
	}
	k.syms = slices.CompactFunc(k.syms, func(a, b symbol) bool { return a.addr == b.addr })
}
