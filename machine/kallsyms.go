package machine

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"iter"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/gzip"
)

//go:embed kallsyms.bin.gz
var kallsymsImage []byte

// Symbol is one line of /proc/kallsyms.
type Symbol struct {
	Addr, Size   uint64
	Name, Module string // Module is empty for vmlinux
	Type         byte   // as nm prints it: t, T, W, D, …
	Traceable    bool   // in available_filter_functions
	Endbr        bool   // traceable, and begins with an endbr64 in front of the patched call
}

// IP is the address of the patched call of a traceable function. Function events record
// this address.
func (s Symbol) IP() uint64 {
	if s.Endbr {
		return s.Addr + endbrSize
	}
	return s.Addr
}

// Kallsyms is the symbol table of the simulated kernel: the text symbols of
// Debian's 6.12.117 image at their real addresses, those of the modules that
// were loaded, and a few data symbols. It is read-only.
//
// Symbols are rows without pointers, whose names stay in the unpacked image. So a table
// is made in one pass, and the garbage collector does not look into it.
//
// Kernel: kernel/kallsyms.c.
type Kallsyms struct {
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

// LoadKallsyms returns the embedded table, which is unpacked the first time.
func LoadKallsyms() (*Kallsyms, error) { return loadKallsyms() }

var loadKallsyms = sync.OnceValues(func() (*Kallsyms, error) {
	z, err := gzip.NewReader(bytes.NewReader(kallsymsImage))
	if err != nil {
		return nil, fmt.Errorf("kallsyms image: %w", err)
	}
	var image strings.Builder
	image.Grow(unpackedSize(kallsymsImage))
	if _, err := io.Copy(&image, z); err != nil {
		return nil, fmt.Errorf("kallsyms image: %w", err)
	}
	k, err := decodeKallsyms(image.String())
	if err != nil {
		return nil, fmt.Errorf("kallsyms image: %w", err)
	}
	k.insert(extraSymbols())
	k.finish()
	return k, nil
})

// unpackedSize is the size that is at the end of a gzip file.
func unpackedSize(z []byte) (n int) {
	for i, c := range z[len(z)-4:] {
		n |= int(c) << (8 * i)
	}
	return n
}

// insert adds symbols of vmlinux, which are sorted by address and have no others between
// them. finish has to follow.
func (k *Kallsyms) insert(syms []Symbol) {
	at := sort.Search(len(k.addrs), func(i int) bool { return k.addrs[i] > syms[0].Addr })
	var names strings.Builder
	for i, s := range syms {
		r := symbolRow{name: uint32(names.Len()), text: uint16(len(k.texts)), kind: s.Type}
		names.WriteString(s.Name + "\n")
		k.addrs, k.rows = slices.Insert(k.addrs, at+i, s.Addr), slices.Insert(k.rows, at+i, r)
	}
	k.texts = append(k.texts, symbolText{names: names.String()})
}

// finish computes the sizes of all symbols, takes out the ends, and makes the table of
// names.
func (k *Kallsyms) finish() {
	end := uint64(0) // the address of the next symbol that is not at the present address
	for i := len(k.addrs) - 1; i >= 0; i-- {
		if i+1 < len(k.addrs) && k.addrs[i+1] != k.addrs[i] {
			end = k.addrs[i+1]
		}
		if end != 0 {
			k.rows[i].size = uint32(min(end-k.addrs[i], math.MaxUint32))
		}
	}
	n := 0
	for i, r := range k.rows {
		if r.flag&symEnd == 0 {
			k.addrs[n], k.rows[n] = k.addrs[i], r
			n++
		}
	}
	k.addrs, k.rows = k.addrs[:n], k.rows[:n]
	k.indexNames()
}

// indexNames makes the table of names. If several symbols have the same name, it has the
// first of them.
func (k *Kallsyms) indexNames() {
	k.byName = make([]int32, 2<<bits.Len(uint(len(k.rows))))
	for i := range k.rows {
		if slot := k.slot(k.name(i)); k.byName[slot] == 0 {
			k.byName[slot] = int32(i) + 1
		}
	}
}

// slot is where the table of names has a name, or would have it.
func (k *Kallsyms) slot(name string) uint64 {
	mask := uint64(len(k.byName) - 1)
	at := xxhash.Sum64String(name) & mask
	for k.byName[at] != 0 && k.name(int(k.byName[at])-1) != name {
		at = (at + 1) & mask
	}
	return at
}

func (k *Kallsyms) name(i int) string {
	r := &k.rows[i]
	name, _, _ := strings.Cut(k.texts[r.text].names[r.name:], "\n")
	return name
}

func (k *Kallsyms) symbol(i int) Symbol {
	r := &k.rows[i]
	return Symbol{
		Addr: k.addrs[i], Size: uint64(r.size), Name: k.name(i), Module: k.texts[r.text].module,
		Type: r.kind, Traceable: r.flag&symTraceable != 0, Endbr: r.flag&symEndbr != 0,
	}
}

// Lookup resolves an address: it gives the symbol in which the address lies, the offset
// into it, and the symbol's size, which is the distance to the next symbol. If several
// symbols have the same address, it takes the first one in the table. It does not
// allocate.
//
// Kernel: kallsyms_lookup and get_symbol_pos, kernel/kallsyms.c.
func (k *Kallsyms) Lookup(addr uint64) (name, module string, offset, size uint64, ok bool) {
	i := k.index(addr)
	if i < 0 {
		return "", "", 0, 0, false
	}
	r := &k.rows[i]
	return k.name(i), k.texts[r.text].module, addr - k.addrs[i], uint64(r.size), true
}

// At returns the symbol in which addr lies.
func (k *Kallsyms) At(addr uint64) (Symbol, bool) {
	i := k.index(addr)
	if i < 0 {
		return Symbol{}, false
	}
	return k.symbol(i), true
}

func (k *Kallsyms) index(addr uint64) int {
	i := sort.Search(len(k.addrs), func(i int) bool { return k.addrs[i] > addr }) - 1
	if i < 0 || addr-k.addrs[i] >= uint64(max(k.rows[i].size, 1)) {
		return -1
	}
	for i > 0 && k.addrs[i-1] == k.addrs[i] {
		i--
	}
	return i
}

// ByName returns the symbol with that name; the first one if there are several.
//
// Kernel: kallsyms_lookup_name, kernel/kallsyms.c.
func (k *Kallsyms) ByName(name string) (Symbol, bool) {
	i := k.byName[k.slot(name)] - 1
	if i < 0 {
		return Symbol{}, false
	}
	return k.symbol(int(i)), true
}

// Address is the address of the symbol of that name.
func (k *Kallsyms) Address(name string) (addr uint64, ok bool) {
	s, ok := k.ByName(name)
	return s.Addr, ok
}

// addr is the address of a symbol, 0 if there is none.
func (k *Kallsyms) addr(name string) uint64 {
	s, _ := k.ByName(name)
	return s.Addr
}

// Count tells how many symbols have a name.
func (k *Kallsyms) Count(name string) (n int) {
	for i := range k.rows {
		if k.name(i) == name {
			n++
		}
	}
	return n
}

// All yields the symbols, with their numbers, in order of their addresses.
func (k *Kallsyms) All() iter.Seq2[int, Symbol] {
	return func(yield func(int, Symbol) bool) {
		for i := range k.rows {
			if !yield(i, k.symbol(i)) {
				return
			}
		}
	}
}

// WriteTo writes the table as /proc/kallsyms shows it to root.
func (k *Kallsyms) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	for _, s := range k.All() {
		fmt.Fprintf(&b, "%016x %c %s", s.Addr, s.Type, s.Name)
		if s.Module != "" {
			fmt.Fprintf(&b, "\t[%s]", s.Module)
		}
		b.WriteByte('\n')
	}
	return b.WriteTo(w)
}
