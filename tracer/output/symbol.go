package output

import (
	"strconv"

	"ftracelab/tracer/event"
)

// appendFunction appends a function, its caller unless that is switched off, and the
// newline. The texts are cached: a trace has only a few thousand different ones.
//
// Kernel: print_fn_trace, trace_fn_trace.
func (p *Printer) appendFunction(dst []byte, ip, parent uint64) []byte {
	t := p.calls.find(ip, parent)
	if t == nil {
		p.scratch = append(p.appendCall(p.scratch[:0], ip, parent), '\n')
		t = p.calls.add(ip, parent, p.scratch)
	}
	return t.appendTo(dst)
}

// The forms of a name in Printer.names. The letters of print formats are forms as well.
const (
	bareName = iota
	nameWithOffset
	nameWithModule
)

// appendSymbolText appends an address in the form that a print format asks for; how is
// its letter.
func (p *Printer) appendSymbolText(dst []byte, how byte, addr uint64) []byte {
	t := p.names.find(addr, uint64(how))
	if t == nil {
		t = p.names.add(addr, uint64(how), p.env.AppendSymbolText(nil, how, addr))
	}
	return t.appendTo(dst)
}

// appendIP appends a code address in the form that the options ask for: the bare name,
// with sym-offset also the offset in the function, with sym-addr also the address.
//
// Kernel: seq_print_ip_sym, kernel/trace/trace_output.c.
func (p *Printer) appendIP(dst []byte, ip uint64) []byte {
	return p.appendIPWith(dst, ip, p.cfg.Options&SymOffset != 0)
}

func (p *Printer) appendIPWith(dst []byte, ip uint64, offset bool) []byte {
	if ip == 0 {
		return append(dst, '0')
	}
	form := uint64(bareName)
	if offset {
		form = nameWithOffset
	}
	t := p.names.find(ip, form)
	if t == nil {
		t = p.names.add(ip, form, appendSymbol(nil, p.cfg.Symbols, ip, offset))
	}
	dst = t.appendTo(dst)
	if p.cfg.Options&SymAddr != 0 {
		dst = append(hexPadded(append(dst, " <"...), ip, 16), '>')
	}
	return dst
}

// appendSymbol appends the name of a code address. With offset, it adds the offset and
// the module. Only without it, an unknown address has at least eight digits.
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

// appendFunc appends a function in the form of %ps: its name and module.
func (p *Printer) appendFunc(dst []byte, fn uint64) []byte {
	t := p.names.find(fn, nameWithModule)
	if t == nil {
		var b []byte
		if p.cfg.Symbols != nil {
			if sym, module, _, _, found := p.cfg.Symbols.Lookup(fn); found {
				b = appendModule(append(b, sym...), module)
			}
		}
		if b == nil {
			b = strconv.AppendUint(append(b, "0x"...), fn, 16)
		}
		t = p.names.add(fn, nameWithModule, b)
	}
	return t.appendTo(dst)
}
