package machine

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

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
	errKallsymsRange   = errors.New("an address outside of the kernel's")
)

// decodeKallsyms reads an image. The table's sizes and names are not there yet,
// and symEnd marks symbols without a name; see finish.
func decodeKallsyms(image string) (*symbolTable, error) {
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
	t := &symbolTable{
		addrs: make([]uint32, 0, size), rows: make([]symbolRow, 0, size), texts: []symbolText{{names: names}},
	}
	next, module := 0, 0 // where the next name begins; the text of the module of the last symbol
	var addr, d uint64
	for i := range count {
		if d, deltas, ok = uvarint(deltas); !ok {
			return nil, errKallsymsShort
		}
		if addr += d; addr < kernelHalf+symPrefixSize {
			return nil, errKallsymsRange
		}
		f := flags[i]
		r := symbolRow{name: uint32(next), kind: types[i], flag: f & (symTraceable | symEndbr | symEnd)}
		if f&symModule != 0 {
			var name string
			name, modules, _ = strings.Cut(modules, "\n")
			if module = t.moduleText(name, module); module > math.MaxUint16 {
				return nil, errKallsymsModules
			}
			r.text = uint16(module)
		}
		if f&symEnd == 0 {
			long, _, _ := strings.Cut(names[next:], "\n")
			if f&symPrefixed != 0 && len(long) > len(symPrefix) {
				p := r
				p.flag = symPrefixed
				t.add(uint32(addr-symPrefixSize), p)
				r.name += uint32(len(symPrefix))
			}
			next = min(next+len(long)+1, len(names))
		}
		t.add(uint32(addr), r)
	}
	return t, nil
}

// moduleText gives the text of a module, which the image has in one piece; last is the
// one before.
func (t *symbolTable) moduleText(module string, last int) int {
	if t.texts[last].module == module {
		return last
	}
	i := slices.IndexFunc(t.texts, func(t symbolText) bool { return t.module == module })
	if i < 0 {
		i = len(t.texts)
		t.texts = append(t.texts, symbolText{module, t.texts[0].names})
	}
	return i
}

// add adds a symbol behind those at the same address or a lower one. Few symbols that
// came before it lie higher: only the image's last thousand, those of modules, are not
// sorted.
func (t *symbolTable) add(addr uint32, r symbolRow) {
	at := len(t.addrs)
	if at == 0 || t.addrs[at-1] <= addr {
		t.addrs, t.rows = append(t.addrs, addr), append(t.rows, r)
		return
	}
	for at > 0 && t.addrs[at-1] > addr {
		at--
	}
	t.addrs, t.rows = slices.Insert(t.addrs, at, addr), slices.Insert(t.rows, at, r)
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
