package machine

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"sync"
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
// Kernel: kernel/kallsyms.c.
type Kallsyms struct {
	syms   []Symbol // sorted by address; aliases in the kernel's order
	byName map[string]int32
}

// LoadKallsyms returns the embedded table, which is unpacked the first time.
func LoadKallsyms() (*Kallsyms, error) { return loadKallsyms() }

var loadKallsyms = sync.OnceValues(func() (*Kallsyms, error) {
	z, err := gzip.NewReader(bytes.NewReader(kallsymsImage))
	if err != nil {
		return nil, fmt.Errorf("kallsyms image: %w", err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("kallsyms image: %w", err)
	}
	syms, err := decodeKallsyms(b)
	if err != nil {
		return nil, fmt.Errorf("kallsyms image: %w", err)
	}
	return newKallsyms(slices.SortedStableFunc(slices.Values(append(syms, extraSymbols()...)), func(a, b Symbol) int {
		return cmp.Compare(a.Addr, b.Addr)
	})), nil
})

// newKallsyms makes a table from symbols that are sorted by address. A symbol without a
// name only ends the one before it.
func newKallsyms(syms []Symbol) *Kallsyms {
	k := &Kallsyms{byName: make(map[string]int32, len(syms))}
	end := uint64(0) // the address of the next symbol that is not at the present address
	for i := len(syms) - 1; i >= 0; i-- {
		if i+1 < len(syms) && syms[i+1].Addr != syms[i].Addr {
			end = syms[i+1].Addr
		}
		if end != 0 {
			syms[i].Size = end - syms[i].Addr
		}
	}
	for _, s := range syms {
		if s.Name == "" {
			continue
		}
		if _, dup := k.byName[s.Name]; !dup {
			k.byName[s.Name] = int32(len(k.syms))
		}
		k.syms = append(k.syms, s)
	}
	return k
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
	s := &k.syms[i]
	return s.Name, s.Module, addr - s.Addr, s.Size, true
}

// At returns the symbol in which addr lies.
func (k *Kallsyms) At(addr uint64) (Symbol, bool) {
	i := k.index(addr)
	if i < 0 {
		return Symbol{}, false
	}
	return k.syms[i], true
}

func (k *Kallsyms) index(addr uint64) int {
	i := sort.Search(len(k.syms), func(i int) bool { return k.syms[i].Addr > addr }) - 1
	if i < 0 || addr-k.syms[i].Addr >= max(k.syms[i].Size, 1) {
		return -1
	}
	for i > 0 && k.syms[i-1].Addr == k.syms[i].Addr {
		i--
	}
	return i
}

// ByName returns the symbol with that name; the first one if there are several.
//
// Kernel: kallsyms_lookup_name, kernel/kallsyms.c.
func (k *Kallsyms) ByName(name string) (Symbol, bool) {
	i, ok := k.byName[name]
	if !ok {
		return Symbol{}, false
	}
	return k.syms[i], true
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
	for i := range k.syms {
		if k.syms[i].Name == name {
			n++
		}
	}
	return n
}

// All returns the symbols in order of their addresses; the slice is the table's own.
func (k *Kallsyms) All() []Symbol { return k.syms }

// WriteTo writes the table as /proc/kallsyms shows it to root.
func (k *Kallsyms) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	for i := range k.syms {
		s := &k.syms[i]
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

var errKallsymsShort = errors.New("truncated")

// decodeKallsyms unpacks an image.
func decodeKallsyms(b []byte) ([]Symbol, error) {
	var n [4]uint64
	for i := range n {
		if n[i], b = uvarint(b); b == nil || n[i] > 1<<26 {
			return nil, errKallsymsShort
		}
	}
	count := n[0]
	if uint64(len(b)) < n[1]+2*count+n[2]+n[3] {
		return nil, errKallsymsShort
	}
	deltas, flags, types := b[:n[1]], b[n[1]:n[1]+count], b[n[1]+count:n[1]+2*count]
	rest := string(b[n[1]+2*count:])
	names, modules := rest[:n[2]], rest[n[2]:n[2]+n[3]]
	syms := make([]Symbol, 0, 2*count)
	var addr, d uint64
	for i := range count {
		if d, deltas = uvarint(deltas); deltas == nil {
			return nil, errKallsymsShort
		}
		addr += d
		s := Symbol{Addr: addr, Type: types[i], Traceable: flags[i]&symTraceable != 0, Endbr: flags[i]&symEndbr != 0}
		if flags[i]&symModule != 0 {
			s.Module, modules, _ = strings.Cut(modules, "\n")
		}
		if flags[i]&symEnd == 0 {
			long, rest, _ := strings.Cut(names, "\n")
			names = rest
			s.Name = long
			if flags[i]&symPrefixed != 0 && len(long) > len(symPrefix) {
				s.Name = long[len(symPrefix):]
				syms = append(syms, Symbol{Addr: addr - symPrefixSize, Type: s.Type, Name: long, Module: s.Module})
			}
		}
		syms = append(syms, s)
	}
	sort.SliceStable(syms, func(i, j int) bool { return syms[i].Addr < syms[j].Addr })
	return syms, nil
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
// first. rest is nil if b ends inside the number.
func uvarint(b []byte) (v uint64, rest []byte) {
	for i, c := range b {
		if i == 10 {
			break
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, b[i+1:]
		}
	}
	return 0, nil
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
	all := slices.Concat(k.syms, functions)
	slices.SortStableFunc(all, func(a, b Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
	with := &Kallsyms{syms: all, byName: make(map[string]int32, len(all))}
	for i := range all {
		if _, dup := with.byName[all[i].Name]; !dup {
			with.byName[all[i].Name] = int32(i)
		}
	}
	return with
}
