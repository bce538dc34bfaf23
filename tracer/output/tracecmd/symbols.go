package tracecmd

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// symbols are all symbols of kallsyms, also those of data, but not the offsets of
// per-CPU data.
type symbols struct{ list []symbol }

type symbol struct {
	addr uint64
	name string
}

// parseSymbols reads the text of /proc/kallsyms up to the first line that does not fit.
// Of symbols with the same address, the last one comes first in the list; that decides
// which of them a look-up finds.
func parseSymbols(text []byte) *symbols {
	s := &symbols{}
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) < 3 || len(f[1]) != 1 {
			break
		}
		addr, err := strconv.ParseUint(string(f[0]), 16, 64)
		if err != nil {
			break
		}
		if f[2][0] == '$' || f[1][0] == 'a' || f[1][0] == 'A' {
			continue
		}
		s.list = append(s.list, symbol{addr, string(f[2])})
	}
	slices.Reverse(s.list)
	slices.SortStableFunc(s.list, func(a, b symbol) int {
		switch {
		case a.addr < b.addr:
			return -1
		case a.addr > b.addr:
			return 1
		}
		return 0
	})
	return s
}

// find searches the list in the steps of C's bsearch, so that among symbols with the
// same address it finds the same one.
func (s *symbols) find(addr uint64) (symbol, bool) {
	low, high := 0, len(s.list)
	for low < high {
		mid := (low + high) / 2
		at, after := s.list[mid].addr, uint64(0)
		if mid+1 < len(s.list) {
			after = s.list[mid+1].addr
		}
		switch {
		case addr == at || addr > at && addr < after:
			return s.list[mid], true
		case addr < at:
			high = mid
		default:
			low = mid + 1
		}
	}
	return symbol{}, false
}

// name gives the name of the symbol that holds addr; empty if there is none.
func (s *symbols) name(addr uint64) string {
	sym, _ := s.find(addr)
	return sym.name
}

// Lookup implements event.Symbols. It does not tell module and size.
func (s *symbols) Lookup(addr uint64) (name, module string, offset, size uint64, ok bool) {
	sym, ok := s.find(addr)
	return sym.name, "", addr - sym.addr, 0, ok
}

// Address gives the address of a symbol.
func (s *symbols) Address(name string) (uint64, bool) {
	for _, sym := range s.list {
		if sym.name == name {
			return sym.addr, true
		}
	}
	return 0, false
}

// parsePrintk reads the lines ADDRESS : "TEXT" of printk_formats.
func parsePrintk(text []byte) map[uint64]string {
	texts := map[uint64]string{}
	for line := range bytes.Lines(text) {
		number, rest, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), ":")
		number = strings.TrimPrefix(strings.TrimSpace(number), "0x")
		addr, err := strconv.ParseUint(number, 16, 64)
		if !ok || err != nil || rest == "" {
			continue
		}
		texts[addr] = printkText(rest[1:])
	}
	return texts
}

// printkText removes the quotes around a text, and the line break at its end.
func printkText(s string) string {
	s = strings.TrimPrefix(s, `"`)
	s = strings.TrimSuffix(s, `"`)
	return strings.TrimSuffix(s, `\n`)
}
