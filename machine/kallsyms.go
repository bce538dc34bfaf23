package machine

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"iter"
	"sync"
)

// kallsymsImage is not packed, because names stay where they are in it.
//
//go:embed kallsyms.bin
var kallsymsImage string

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
// The modules have a table of their own, because it changes: a table with one module more
// shares all the rest.
//
// Kernel: kernel/kallsyms.c.
type Kallsyms struct {
	kernel, modules *symbolTable // all addresses of modules are higher
}

// moduleSpace is where modules may lie.
//
// Kernel: MODULES_VADDR, arch/x86/include/asm/pgtable_64_types.h.
const moduleSpace = 0xffffffffc0000000

// LoadKallsyms returns the embedded table, which is made the first time.
func LoadKallsyms() (*Kallsyms, error) { return loadKallsyms() }

var loadKallsyms = sync.OnceValues(func() (*Kallsyms, error) {
	t, err := decodeKallsyms(kallsymsImage)
	if err != nil {
		return nil, fmt.Errorf("kallsyms image: %w", err)
	}
	t.insert(extraSymbols())
	return t.finish(), nil
})

// table is where the symbol of an address has to be.
func (k *Kallsyms) table(addr uint64) *symbolTable {
	if addr >= moduleSpace {
		return k.modules
	}
	return k.kernel
}

// Lookup resolves an address: it gives the symbol in which the address lies, the offset
// into it, and the symbol's size, which is the distance to the next symbol. If several
// symbols have the same address, it takes the first one in the table. It does not
// allocate.
//
// Kernel: kallsyms_lookup and get_symbol_pos, kernel/kallsyms.c.
func (k *Kallsyms) Lookup(addr uint64) (name, module string, offset, size uint64, ok bool) {
	t := k.table(addr)
	i := t.index(addr)
	if i < 0 {
		return "", "", 0, 0, false
	}
	r := &t.rows[i]
	return t.name(i), t.texts[r.text].module, addr - t.addr(i), t.size(i), true
}

// At returns the symbol in which addr lies.
func (k *Kallsyms) At(addr uint64) (Symbol, bool) {
	t := k.table(addr)
	i := t.index(addr)
	if i < 0 {
		return Symbol{}, false
	}
	return t.symbol(i), true
}

// ByName returns the symbol with that name; the first one if there are several.
//
// Kernel: kallsyms_lookup_name, kernel/kallsyms.c.
func (k *Kallsyms) ByName(name string) (Symbol, bool) {
	for _, t := range []*symbolTable{k.kernel, k.modules} {
		if i := t.find(name); i >= 0 {
			return t.symbol(i), true
		}
	}
	return Symbol{}, false
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
	for _, t := range []*symbolTable{k.kernel, k.modules} {
		for i := range t.rows {
			if t.name(i) == name {
				n++
			}
		}
	}
	return n
}

// All yields the symbols, with their numbers, in order of their addresses.
func (k *Kallsyms) All() iter.Seq2[int, Symbol] {
	return func(yield func(int, Symbol) bool) {
		for i := range k.kernel.rows {
			if !yield(i, k.kernel.symbol(i)) {
				return
			}
		}
		for i := range k.modules.rows {
			if !yield(len(k.kernel.rows)+i, k.modules.symbol(i)) {
				return
			}
		}
	}
}

// Traceable counts the functions of the kernel itself that ftrace can trace.
func (k *Kallsyms) Traceable() (n int) {
	for i := range k.kernel.rows {
		n += int(k.kernel.rows[i].flag & symTraceable / symTraceable)
	}
	return n
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
