package machine

import (
	"math/bits"
	"slices"
	"sort"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// symbolTable holds symbols as rows without pointers, whose names stay in the image. So a
// table is made in one pass, and the garbage collector does not look into it.
type symbolTable struct {
	addrs  []uint32    // above kernelHalf; sorted; aliases in the kernel's order
	rows   []symbolRow // of the same symbols
	sizes  []uint32    // likewise; nil: a symbol without symEnd ends where the next one begins
	ends   map[int]uint32
	texts  []symbolText
	byName []int32 // an open hash table of 1 + the index of a symbol; 0: free
}

// kernelHalf is what all addresses of symbols begin with.
const kernelHalf = 0xffffffff_00000000

// symbolRow is a symbol without its address and size.
type symbolRow struct {
	name       uint32 // where the name begins in its text
	text       uint16 // the index of that text
	kind, flag byte   // Symbol.Type; symTraceable, symEndbr; symEnd: its size is in ends; symPrefixed: it is the room in front of a function
}

// symbolText holds the names of symbols that belong to a module, or to vmlinux, each on a
// line.
type symbolText struct{ module, names string }

// insert adds symbols of vmlinux, which are sorted by address and have no others between
// them. finish has to follow.
func (t *symbolTable) insert(syms []Symbol) {
	low := uint32(syms[0].Addr)
	at := sort.Search(len(t.addrs), func(i int) bool { return t.addrs[i] > low })
	var names strings.Builder
	addrs, rows := make([]uint32, len(syms)), make([]symbolRow, len(syms))
	for i, s := range syms {
		addrs[i], rows[i] = uint32(s.Addr), symbolRow{name: uint32(names.Len()), text: uint16(len(t.texts)), kind: s.Type}
		names.WriteString(s.Name + "\n")
	}
	t.addrs, t.rows = slices.Insert(t.addrs, at, addrs...), slices.Insert(t.rows, at, rows...)
	t.texts = append(t.texts, symbolText{names: names.String()})
}

// finish takes out the ends of symbols, and makes the tables of sizes and names. Nobody may
// use t afterwards.
func (t *symbolTable) finish() *Kallsyms {
	t.takeOutEnds()
	at := sort.Search(len(t.addrs), func(i int) bool { return t.addr(i) >= moduleSpace })
	modules := &symbolTable{addrs: slices.Clip(t.addrs[at:]), rows: slices.Clip(t.rows[at:]), texts: t.texts}
	for i := range modules.rows {
		modules.sizes = append(modules.sizes, uint32(t.size(at+i)))
		modules.rows[i].flag &^= symEnd
	}
	for i := at - 1; i >= 0 && t.addrs[i] == t.addrs[at-1]; i-- {
		t.endAt(i, uint32(t.size(i))) // the next symbol is a module's
	}
	t.addrs, t.rows = slices.Clip(t.addrs[:at]), slices.Clip(t.rows[:at])
	t.indexNames()
	modules.indexNames()
	return &Kallsyms{t, modules}
}

// takeOutEnds notes the sizes of symbols behind which something else lies.
func (t *symbolTable) takeOutEnds() {
	t.ends = map[int]uint32{}
	group, n := 0, 0 // the first symbol at the last address; how many stay
	for i, r := range t.rows {
		if r.flag&symEnd != 0 {
			for at := group; at < n && t.rows[at].flag&symEnd == 0 && t.addrs[at] < t.addrs[i]; at++ {
				t.endAt(at, t.addrs[i]-t.addrs[at])
			}
			continue
		}
		if n > 0 && t.addrs[n-1] != t.addrs[i] {
			group = n
		}
		t.addrs[n], t.rows[n] = t.addrs[i], r
		n++
	}
	t.addrs, t.rows = t.addrs[:n], t.rows[:n]
}

// endAt sets the size of a symbol that does not end where the next one begins.
func (t *symbolTable) endAt(i int, size uint32) {
	t.ends[i] = size
	t.rows[i].flag |= symEnd
}

func (t *symbolTable) addr(i int) uint64 { return kernelHalf + uint64(t.addrs[i]) }

// size is the distance to the next address, where another symbol or none begins; 0 if
// nothing follows.
func (t *symbolTable) size(i int) uint64 {
	switch {
	case t.sizes != nil:
		return uint64(t.sizes[i])
	case t.rows[i].flag&symEnd != 0:
		return uint64(t.ends[i])
	}
	for _, next := range t.addrs[i+1:] {
		if next != t.addrs[i] {
			return uint64(next - t.addrs[i])
		}
	}
	return 0
}

// indexNames makes the table of names. If several symbols have the same name, it has the
// first of them. The room in front of functions, half of the symbols, is left out.
func (t *symbolTable) indexNames() {
	names := 0
	for _, r := range t.rows {
		if r.flag&symPrefixed == 0 {
			names++
		}
	}
	t.byName = make([]int32, 2<<bits.Len(uint(names)))
	for i, r := range t.rows {
		if r.flag&symPrefixed != 0 {
			continue
		}
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

// find gives the first symbol of that name, -1 if there is none.
func (t *symbolTable) find(name string) int {
	first := int(t.byName[t.slot(name)]) - 1
	function, ok := strings.CutPrefix(name, symPrefix)
	if !ok {
		return first
	}
	at := int(t.byName[t.slot(function)]) - 1
	if at < 0 {
		return first
	}
	for ; at < len(t.rows); at++ { // mostly it is in front of the first function
		if room := t.roomOf(at, function); room >= 0 && (first < 0 || room < first) {
			return room
		}
	}
	return first
}

// roomOf gives the symbol of the room in front of a function, if it is that function and
// has one; -1 otherwise.
func (t *symbolTable) roomOf(at int, function string) int {
	r := &t.rows[at]
	if r.flag&symPrefixed != 0 || t.name(at) != function {
		return -1
	}
	for i := at - 1; i >= 0 && t.addrs[i]+symPrefixSize >= t.addrs[at]; i-- {
		room := &t.rows[i]
		if room.flag&symPrefixed != 0 && room.text == r.text && room.name+uint32(len(symPrefix)) == r.name {
			return i
		}
	}
	return -1
}

func (t *symbolTable) name(i int) string {
	r := &t.rows[i]
	name, _, _ := strings.Cut(t.texts[r.text].names[r.name:], "\n")
	return name
}

func (t *symbolTable) symbol(i int) Symbol {
	r := &t.rows[i]
	return Symbol{
		Addr: t.addr(i), Size: t.size(i), Name: t.name(i), Module: t.texts[r.text].module,
		Type: r.kind, Traceable: r.flag&symTraceable != 0, Endbr: r.flag&symEndbr != 0,
	}
}

func (t *symbolTable) index(addr uint64) int {
	if addr < kernelHalf {
		return -1
	}
	low := uint32(addr)
	i := sort.Search(len(t.addrs), func(i int) bool { return t.addrs[i] > low }) - 1
	if i < 0 || addr-t.addr(i) >= max(t.size(i), 1) {
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
