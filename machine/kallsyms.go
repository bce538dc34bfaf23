package machine

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
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

// with returns a table to which the functions of a module were added. They are of one
// size, and come behind all other symbols.
func (k *Kallsyms) with(module string, names []string, addr uint64, size uint32) *Kallsyms {
	text := slices.IndexFunc(k.texts[1:], func(t symbolText) bool { return t.names == "" }) + 1
	n := &Kallsyms{addrs: slices.Clone(k.addrs), rows: slices.Clone(k.rows), texts: slices.Clone(k.texts)}
	if text == 0 {
		text = len(n.texts)
		n.texts = append(n.texts, symbolText{})
	}
	var lines strings.Builder
	for i, name := range names {
		n.addrs = append(n.addrs, addr+uint64(i)*uint64(size))
		n.rows = append(n.rows, symbolRow{uint32(lines.Len()), size, uint16(text), 't', symTraceable | symEndbr})
		lines.WriteString(name + "\n")
	}
	n.texts[text] = symbolText{module, lines.String()}
	n.indexNames()
	return n
}

// without returns a table without the symbols of a module that with has added.
func (k *Kallsyms) without(module string) *Kallsyms {
	n := &Kallsyms{texts: slices.Clone(k.texts)}
	for i, r := range k.rows {
		if k.texts[r.text].module != module {
			n.addrs, n.rows = append(n.addrs, k.addrs[i]), append(n.rows, r)
		}
	}
	for i, t := range n.texts {
		if t.module == module {
			n.texts[i] = symbolText{}
		}
	}
	n.indexNames()
	return n
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

// The image of the table consists of five columns, because each column compresses well
// by itself. It begins with the number of symbols and the lengths of the columns
// (uvarints). Then come the columns: address deltas (uvarints), flags, types, names
// (each with a newline) and modules (a line for each symbol with symModule set).
const (
	symPrefixed  = 1 << iota // a symbol __pfx_NAME lies symPrefixSize bytes before it
	symTraceable             // in available_filter_functions
	symEnd                   // this is no symbol but the end of the one before
	symModule                // belongs to a module, which the next line of the last column names
	symEndbr                 // an endbr64 is in front of the patched call
)

// symPrefixSize is the room for call depth tracking in front of a function
// (CONFIG_FUNCTION_PADDING_CFI, CONFIG_CALL_PADDING).
const (
	symPrefixSize = 16
	symPrefix     = "__pfx_"
)

var (
	errKallsymsShort   = errors.New("truncated")
	errKallsymsModules = errors.New("too many modules")
)

// decodeKallsyms reads an unpacked image. The table's sizes and names are not there yet,
// and symEnd marks symbols without a name; see finish.
func decodeKallsyms(image string) (*Kallsyms, error) {
	var n [4]uint64
	b, ok := image, false
	for i := range n {
		if n[i], b, ok = uvarint(b); !ok || n[i] > 1<<26 {
			return nil, errKallsymsShort
		}
	}
	count := n[0]
	if uint64(len(b)) < n[1]+2*count+n[2]+n[3] {
		return nil, errKallsymsShort
	}
	deltas, flags, types := b[:n[1]], b[n[1]:n[1]+count], b[n[1]+count:n[1]+2*count]
	rest := b[n[1]+2*count:]
	names, modules := rest[:n[2]], rest[n[2]:n[2]+n[3]]
	size := count + 64 // insert adds some
	for i := range count {
		size += uint64(flags[i] & symPrefixed)
	}
	k := &Kallsyms{
		addrs: make([]uint64, 0, size), rows: make([]symbolRow, 0, size), texts: []symbolText{{names: names}},
	}
	next, module := 0, 0 // where the next name begins; the text of the module of the last symbol
	var addr, d uint64
	for i := range count {
		if d, deltas, ok = uvarint(deltas); !ok {
			return nil, errKallsymsShort
		}
		addr += d
		f := flags[i]
		r := symbolRow{name: uint32(next), kind: types[i], flag: f & (symTraceable | symEndbr | symEnd)}
		if f&symModule != 0 {
			var name string
			name, modules, _ = strings.Cut(modules, "\n")
			if module = k.moduleText(name, module); module > math.MaxUint16 {
				return nil, errKallsymsModules
			}
			r.text = uint16(module)
		}
		if f&symEnd == 0 {
			long, _, _ := strings.Cut(names[next:], "\n")
			if f&symPrefixed != 0 && len(long) > len(symPrefix) {
				p := r
				p.flag = 0
				k.add(addr-symPrefixSize, p)
				r.name += uint32(len(symPrefix))
			}
			next = min(next+len(long)+1, len(names))
		}
		k.add(addr, r)
	}
	return k, nil
}

// moduleText gives the text of a module, which the image has in one piece; last is the
// one before.
func (k *Kallsyms) moduleText(module string, last int) int {
	if k.texts[last].module == module {
		return last
	}
	i := slices.IndexFunc(k.texts, func(t symbolText) bool { return t.module == module })
	if i < 0 {
		i = len(k.texts)
		k.texts = append(k.texts, symbolText{module, k.texts[0].names})
	}
	return i
}

// add adds a symbol behind those at the same address or a lower one. Few symbols that
// came before it lie higher: only the image's last thousand, those of modules, are not
// sorted.
func (k *Kallsyms) add(addr uint64, r symbolRow) {
	at := len(k.addrs)
	for at > 0 && k.addrs[at-1] > addr {
		at--
	}
	k.addrs, k.rows = slices.Insert(k.addrs, at, addr), slices.Insert(k.rows, at, r)
}

// EncodeKallsyms packs symbols, which have to be sorted by address, into an image. A
// symbol without a name ends the one before it.
func EncodeKallsyms(syms []Symbol) []byte {
	at := make(map[string]bool, len(syms))
	key := func(addr uint64, typ byte, name, module string) string {
		return fmt.Sprintf("%x %c %s %s", addr, typ, name, module)
	}
	for _, s := range syms {
		at[key(s.Addr, s.Type, s.Name, s.Module)] = true
	}
	var deltas, flags, types, names, modules []byte
	var count, prev uint64
	for _, s := range syms {
		base, isPrefix := strings.CutPrefix(s.Name, symPrefix)
		if isPrefix && at[key(s.Addr+symPrefixSize, s.Type, base, s.Module)] {
			continue // it is encoded together with its function
		}
		var f byte
		name := s.Name
		if at[key(s.Addr-symPrefixSize, s.Type, symPrefix+s.Name, s.Module)] {
			f |= symPrefixed
			name = symPrefix + name
		}
		if s.Traceable {
			f |= symTraceable
		}
		if s.Endbr {
			f |= symEndbr
		}
		if s.Module != "" {
			f |= symModule
			modules = append(append(modules, s.Module...), '\n')
		}
		if s.Name == "" {
			f |= symEnd
		} else {
			names = append(append(names, name...), '\n')
		}
		deltas, flags, types = appendUvarint(deltas, s.Addr-prev), append(flags, f), append(types, s.Type)
		prev, count = s.Addr, count+1
	}
	var b []byte
	for _, n := range []int{int(count), len(deltas), len(names), len(modules)} {
		b = appendUvarint(b, uint64(n))
	}
	for _, col := range [][]byte{deltas, flags, types, names, modules} {
		b = append(b, col...)
	}
	return b
}

// uvarint reads a number from b, which is stored in groups of seven bits, the lowest
// first. ok is false if b ends inside the number.
func uvarint(b string) (v uint64, rest string, ok bool) {
	for i := 0; i < min(len(b), 10); i++ {
		v |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return v, b[i+1:], true
		}
	}
	return 0, "", false
}

func appendUvarint(b []byte, v uint64) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// With gives a table that also has the functions of modules. They must not overlap with
// those of the table.
func (k *Kallsyms) With(functions []Symbol) *Kallsyms {
	functions = slices.Clone(functions)
	slices.SortStableFunc(functions, func(a, b Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
	n := &Kallsyms{texts: slices.Clone(k.texts)}
	n.addrs, n.rows = slices.Grow(n.addrs, len(k.addrs)+len(functions)), slices.Grow(n.rows, len(k.rows)+len(functions))
	texts, lines := map[string]uint16{}, map[string]*strings.Builder{}
	at := 0 // the next of k's symbols
	for _, s := range functions {
		for ; at < len(k.addrs) && k.addrs[at] <= s.Addr; at++ {
			n.addrs, n.rows = append(n.addrs, k.addrs[at]), append(n.rows, k.rows[at])
		}
		names, ok := lines[s.Module]
		if !ok {
			names = new(strings.Builder)
			lines[s.Module], texts[s.Module] = names, uint16(len(n.texts))
			n.texts = append(n.texts, symbolText{module: s.Module})
		}
		r := symbolRow{uint32(names.Len()), uint32(min(s.Size, math.MaxUint32)), texts[s.Module], s.Type, 0}
		if s.Traceable {
			r.flag |= symTraceable
		}
		if s.Endbr {
			r.flag |= symEndbr
		}
		names.WriteString(s.Name + "\n")
		n.addrs, n.rows = append(n.addrs, s.Addr), append(n.rows, r)
	}
	n.addrs, n.rows = append(n.addrs, k.addrs[at:]...), append(n.rows, k.rows[at:]...)
	for module, text := range texts {
		n.texts[text].names = lines[module].String()
	}
	n.indexNames()
	return n
}
