package machine

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// with returns a table to which the functions of modules were added. They are of one size.
// Those of each module come behind all other symbols, at a place of the module's own.
func (k *Kallsyms) with(mods []Module, size uint32) *Kallsyms {
	have := k.modules
	n := &symbolTable{
		addrs: slices.Clone(have.addrs), rows: slices.Clone(have.rows), sizes: slices.Clone(have.sizes), texts: slices.Clone(have.texts),
	}
	for i := range mods {
		addr := uint64(moduleBase)
		if i := len(n.addrs) - 1; i >= 0 && n.addr(i) >= addr {
			addr = (n.addr(i)/moduleSize + 1) * moduleSize
		}
		n.append(&mods[i], addr, size)
	}
	n.indexNames()
	return &Kallsyms{k.kernel, n}
}

// append adds the functions of a module, whose names are not in the index yet.
func (n *symbolTable) append(mod *Module, addr uint64, size uint32) {
	text := slices.IndexFunc(n.texts[1:], func(t symbolText) bool { return t.names == "" }) + 1
	if text == 0 {
		text = len(n.texts)
		n.texts = append(n.texts, symbolText{})
	}
	var lines strings.Builder
	for i, name := range slices.Concat(mod.Functions, mod.Untraced) {
		r := symbolRow{uint32(lines.Len()), uint16(text), 't', symTraceable | symEndbr}
		if i >= len(mod.Functions) {
			r.flag = symEndbr
		}
		n.addrs, n.sizes = append(n.addrs, uint32(addr)+uint32(i)*size), append(n.sizes, size)
		n.rows = append(n.rows, r)
		lines.WriteString(name + "\n")
	}
	n.texts[text] = symbolText{mod.Name, lines.String()}
}

// without returns a table without the symbols of a module that with has added.
func (k *Kallsyms) without(module string) *Kallsyms {
	have := k.modules
	n := &symbolTable{texts: slices.Clone(have.texts)}
	for i, r := range have.rows {
		if have.texts[r.text].module != module {
			n.addrs, n.rows, n.sizes = append(n.addrs, have.addrs[i]), append(n.rows, r), append(n.sizes, have.sizes[i])
		}
	}
	for i, t := range n.texts {
		if t.module == module {
			n.texts[i] = symbolText{}
		}
	}
	n.indexNames()
	return &Kallsyms{k.kernel, n}
}

// With gives a table that also has the functions of modules. They lie where modules do,
// and must not overlap with those of the table.
func (k *Kallsyms) With(functions []Symbol) *Kallsyms {
	functions = slices.Clone(functions)
	slices.SortStableFunc(functions, func(a, b Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
	have := k.modules
	n := &symbolTable{texts: slices.Clone(have.texts)}
	room := len(have.addrs) + len(functions)
	n.addrs, n.rows, n.sizes = make([]uint32, 0, room), make([]symbolRow, 0, room), make([]uint32, 0, room)
	texts, lines := map[string]uint16{}, map[string]*strings.Builder{}
	at := 0 // the next of k's symbols
	for _, s := range functions {
		for ; at < len(have.addrs) && have.addr(at) <= s.Addr; at++ {
			n.addrs, n.rows, n.sizes = append(n.addrs, have.addrs[at]), append(n.rows, have.rows[at]), append(n.sizes, have.sizes[at])
		}
		names, ok := lines[s.Module]
		if !ok {
			names = new(strings.Builder)
			lines[s.Module], texts[s.Module] = names, uint16(len(n.texts))
			n.texts = append(n.texts, symbolText{module: s.Module})
		}
		r := symbolRow{uint32(names.Len()), texts[s.Module], s.Type, 0}
		if s.Traceable {
			r.flag |= symTraceable
		}
		if s.Endbr {
			r.flag |= symEndbr
		}
		names.WriteString(s.Name + "\n")
		n.addrs, n.rows = append(n.addrs, uint32(s.Addr)), append(n.rows, r)
		n.sizes = append(n.sizes, uint32(min(s.Size, math.MaxUint32)))
	}
	n.addrs, n.rows = append(n.addrs, have.addrs[at:]...), append(n.rows, have.rows[at:]...)
	n.sizes = append(n.sizes, have.sizes[at:]...)
	for module, text := range texts {
		n.texts[text].names = lines[module].String()
	}
	n.indexNames()
	return &Kallsyms{k.kernel, n}
}
