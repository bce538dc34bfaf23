package output

import (
	"strconv"

	"ftracelab/tracer/event"
)

// nameCache keeps the text of addresses. It is an open hash table that doubles
// until it holds maxNames and is then emptied, so that its memory stays bounded
// whatever addresses a capture holds.
type nameCache struct {
	slots []nameSlot // a power of two of them
	used  int
}

type nameSlot struct {
	addr uint64
	text string // "" is a free slot
}

const (
	minNames = 1 << 9
	maxNames = 1 << 16
)

// slot is where addr is or belongs.
func (c *nameCache) slot(addr uint64) *nameSlot {
	mask := uint64(len(c.slots) - 1)
	for i := addr * 0x9e3779b97f4a7c15 >> 32; ; i++ {
		s := &c.slots[i&mask]
		if s.text == "" || s.addr == addr {
			return s
		}
	}
}

func (c *nameCache) find(addr uint64) (string, bool) {
	if len(c.slots) == 0 {
		return "", false
	}
	s := c.slot(addr)
	return s.text, s.text != ""
}

func (c *nameCache) add(addr uint64, text string) {
	if c.used*2 >= len(c.slots) {
		c.grow()
	}
	*c.slot(addr) = nameSlot{addr, text}
	c.used++
}

func (c *nameCache) grow() {
	old := c.slots
	if len(old) >= maxNames {
		clear(old)
		c.used = 0
		return
	}
	c.slots = make([]nameSlot, max(minNames, 2*len(old)))
	for _, s := range old {
		if s.text != "" {
			*c.slot(s.addr) = s
		}
	}
}

// callText is the text of a function entry. A trace has a few thousand different
// ones.
type callText struct {
	ip, parent uint64
	text       cachedText // empty: none yet
}

const callTextBits = 12

// appendFunction appends a function and, unless switched off, its caller, and ends
// the line.
//
// Kernel: print_fn_trace, trace_fn_trace.
func (p *Printer) appendFunction(dst []byte, ip, parent uint64) []byte {
	if p.calls == nil {
		p.calls = make([]callText, 1<<callTextBits)
	}
	t := &p.calls[(ip^parent<<20)*0x9e3779b97f4a7c15>>(64-callTextBits)]
	if t.ip != ip || t.parent != parent || t.text.len == 0 {
		t.ip, t.parent = ip, parent
		p.scratch = append(p.appendCall(p.scratch[:0], ip, parent), '\n')
		t.text.set(p.scratch)
	}
	return t.text.appendTo(dst)
}

// symbolText is what %pS or %ps makes of an address. To look it up would cost as much
// as the rest of a line.
type symbolText struct {
	addr uint64
	how  byte
	text cachedText // empty: none yet
}

const symbolTextBits = 10

// appendSymbolText appends an address as print formats do, how being S or s.
func (p *Printer) appendSymbolText(dst []byte, how byte, addr uint64) []byte {
	if p.symbols == nil {
		p.symbols = make([]symbolText, 1<<symbolTextBits)
	}
	t := &p.symbols[(addr+uint64(how))*0x9e3779b97f4a7c15>>(64-symbolTextBits)]
	if t.addr != addr || t.how != how || t.text.len == 0 {
		t.addr, t.how = addr, how
		t.text.set(p.env.AppendSymbolText(nil, how, addr))
	}
	return t.text.appendTo(dst)
}

// appendIP appends a code address as the options ask for it: the bare name,
// with sym-offset its place in the function, with sym-addr the number as well.
//
// Kernel: seq_print_ip_sym, kernel/trace/trace_output.c.
func (p *Printer) appendIP(dst []byte, ip uint64) []byte {
	return p.appendIPWith(dst, ip, p.cfg.Options&SymOffset != 0)
}

func (p *Printer) appendIPWith(dst []byte, ip uint64, offset bool) []byte {
	if ip == 0 {
		return append(dst, '0')
	}
	names := &p.names
	if offset {
		names = &p.offsets
	}
	name, ok := names.find(ip)
	if !ok {
		name = string(appendSymbol(nil, p.cfg.Symbols, ip, offset))
		names.add(ip, name)
	}
	dst = append(dst, name...)
	if p.cfg.Options&SymAddr != 0 {
		dst = append(hexPadded(append(dst, " <"...), ip, 16), '>')
	}
	return dst
}

// appendSymbol looks ip up. Without offset the module is not named and an
// unknown address has at least eight digits; with it both are otherwise.
//
// Kernel: trace_seq_print_sym (kallsyms_lookup or sprint_symbol).
func appendSymbol(dst []byte, syms event.Symbols, ip uint64, offset bool) []byte {
	var name, module string
	var off, size uint64
	ok := false
	if syms != nil {
		name, module, off, size, ok = syms.Lookup(ip)
	}
	switch {
	case !ok && offset:
		return strconv.AppendUint(append(dst, "0x"...), ip, 16)
	case !ok:
		return hexPadded(append(dst, "0x"...), ip, 8)
	}
	dst = append(dst, name...)
	if !offset {
		return dst
	}
	dst = strconv.AppendUint(append(dst, "+0x"...), off, 16)
	dst = strconv.AppendUint(append(dst, "/0x"...), size, 16)
	return appendModule(dst, module)
}

func appendModule(dst []byte, module string) []byte {
	if module == "" {
		return dst
	}
	return append(append(append(dst, " ["...), module...), ']')
}

// appendFunc appends a function as %ps does: the name with its module.
func (p *Printer) appendFunc(dst []byte, fn uint64) []byte {
	name, ok := p.funcs.find(fn)
	if !ok {
		var b []byte
		if p.cfg.Symbols != nil {
			if sym, module, _, _, found := p.cfg.Symbols.Lookup(fn); found {
				b = appendModule(append(b, sym...), module)
			}
		}
		if b == nil {
			b = strconv.AppendUint(append(b, "0x"...), fn, 16)
		}
		name = string(b)
		p.funcs.add(fn, name)
	}
	return append(dst, name...)
}
