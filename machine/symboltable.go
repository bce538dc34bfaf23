package machine

import (
	"math"
	"math/bits"
	"slices"
	"sort"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// symbolTable holds symbols as rows without pointers, whose names stay in the unpacked
// image. So a table is made in one pass, and the garbage collector does not look into it.
type symbolTable struct {
	addrs  []uint64    // sorted; aliases in the kernel's order
	rows   []symbolRow // of the same symbols
	texts  []symbolText
	byName []int32 // an open hash table of 1 + the index of a symbol; 0: free
}

// symbolRow is a symbol without its address.
type symbolRow struct {
	name, size uint32 // where the name begins in its text
	text       uint16 // the index of that text
	kind, flag byte   // Symbol.Type; symTraceable, symEndbr, symEnd
}

// symbolText holds the names of symbols that belong to a module, or to vmlinux, each on a
// line.
type symbolText struct{ module, names string }

// insert adds symbols of vmlinux, which are sorted by address and have no others between
// them. finish has to follow.
func (t *symbolTable) insert(syms []Symbol) {
	at := sort.Search(len(t.addrs), func(i int) bool { return t.addrs[i] > syms[0].Addr })
	var names strings.Builder
	for i, s := range syms {
		r := symbolRow{name: uint32(names.Len()), text: uint16(len(t.texts)), kind: s.Type}
		names.WriteString(s.Name + "\n")
		t.addrs, t.rows = slices.Insert(t.addrs, at+i, s.Addr), slices.Insert(t.rows, at+i, r)
	}
	t.texts = append(t.texts, symbolText{names: names.String()})
}

// finish computes the sizes of all symbols, takes out the ends, and makes the tables of
// names. Nobody may use t afterwards.
func (t *symbolTable) finish() *Kallsyms {
	end := uint64(0) // the address of the next symbol that is not at the present address
	for i := len(t.addrs) - 1; i >= 0; i-- {
		if i+1 < len(t.addrs) && t.addrs[i+1] != t.addrs[i] {
			end = t.addrs[i+1]
		}
		if end != 0 {
			t.rows[i].size = uint32(min(end-t.addrs[i], math.MaxUint32))
		}
	}
	n := 0
	for i, r := range t.rows {
		if r.flag&symEnd == 0 {
			t.addrs[n], t.rows[n] = t.addrs[i], r
			n++
		}
	}
	t.addrs, t.rows = t.addrs[:n], t.rows[:n]
	at := sort.Search(n, func(i int) bool { return t.addrs[i] >= moduleSpace })
	modules := &symbolTable{addrs: slices.Clip(t.addrs[at:]), rows: slices.Clip(t.rows[at:]), texts: t.texts}
	t.addrs, t.rows = slices.Clip(t.addrs[:at]), slices.Clip(t.rows[:at])
	t.indexNames()
	modules.indexNames()
	return &Kallsyms{t, modules}
}

// indexNames makes the table of names. If several symbols have the same name, it has the
// first of them.
func (t *symbolTable) indexNames() {
	t.byName = make([]int32, 2<<bits.Len(uint(len(t.rows))))
	for i := range t.rows {
		if slot := t.slot(t.name(i)); t.byName[slot] == 0 {
			t.byName[slot] = int32(i) + 1
		}
	}
}

// slot is where the table of names has a name, or would have it.
func (t *symbolTable) slot(name string) uint64 {
	mask := uint64(len(t.byName) - 1)
	at := xxhash.Sum64String(name) & mask
	for t.byName[at] != 0 && t.name(int(t.byName[at])-1) != name {
		at = (at + 1) & mask
	}
	return at
}

func (t *symbolTable) name(i int) string {
	r := &t.rows[i]
	name, _, _ := strings.Cut(t.texts[r.text].names[r.name:], "\n")
	return name
}

func (t *symbolTable) symbol(i int) Symbol {
	r := &t.rows[i]
	return Symbol{
		Addr: t.addrs[i], Size: uint64(r.size), Name: t.name(i), Module: t.texts[r.text].module,
		Type: r.kind, Traceable: r.flag&symTraceable != 0, Endbr: r.flag&symEndbr != 0,
	}
}

func (t *symbolTable) index(addr uint64) int {
	i := sort.Search(len(t.addrs), func(i int) bool { return t.addrs[i] > addr }) - 1
	if i < 0 || addr-t.addrs[i] >= uint64(max(t.rows[i].size, 1)) {
		return -1
	}
	for i > 0 && t.addrs[i-1] == t.addrs[i] {
		i--
	}
	return i
}

// of lists the symbols of a module.
func (t *symbolTable) of(module string) (syms []Symbol) {
	for i, r := range t.rows {
		if t.texts[r.text].module == module {
			syms = append(syms, t.symbol(i))
		}
	}
	return syms
}
