package printfmt

import (
	"fmt"
	"slices"
	"strings"
)

// Env is what rendering needs from outside the record. A nil *Env has nothing.
type Env struct {
	// Symbols resolves the addresses of %pS, %ps and their kin; nil prints them
	// as the kernel prints an address without a symbol, 0x and hex digits.
	Symbols Symbols
	// HashPtr gives %p's hashed value; nil prints the pointer itself in 16 digits
	// (the option hash-ptr cleared).
	HashPtr func(uint64) uint64
	// NoPtrKey says that the kernel has not made the key of that hash yet: %p prints
	// (____ptrval____) for every address.
	NoPtrKey bool
	// Strings gives the kernel's constant text at an address, for %s of a pointer
	// (printk_formats); nil, or not ok, prints the address.
	Strings func(addr uint64) (s string, ok bool)
	// HZ is how many jiffies a second has in the kernel (CONFIG_HZ), for
	// jiffies_to_msecs; 0: not known, and the call prints as unknown.
	HZ uint64
	// AppendSymbol appends the text that %pS and its kin print for an address; how is
	// the letter. A caller that caches such texts sets it; nil: the text is made with
	// Symbols each time.
	AppendSymbol func(dst []byte, how byte, addr uint64) []byte
	// Library selects the text of libtraceevent, which uses C's printf, instead of the
	// kernel's: %p and %#x follow C, a symbol has an offset but neither size nor
	// module, arrays are decimal and have no braces.
	Library bool
}

// library reports whether the text follows libtraceevent and not the kernel.
func (e *Env) library() bool { return e != nil && e.Library }

// Symbols resolves kernel addresses (kallsyms). If it also has a method Address(name
// string) (uint64, bool), that is asked for the symbols with which a print fmt
// calculates, such as _stext.
type Symbols interface {
	// Lookup finds the symbol that covers addr. size 0 = unknown.
	Lookup(addr uint64) (name, module string, offset, size uint64, ok bool)
}

// address finds the address of a symbol by its name, if Symbols has a method for that.
func (e *Env) address(name string) (uint64, bool) {
	if e == nil {
		return 0, false
	}
	s, ok := e.Symbols.(interface{ Address(string) (uint64, bool) })
	if !ok {
		return 0, false
	}
	return s.Address(name)
}

// Program is a compiled print fmt. It is immutable and safe for concurrent use.
type Program struct {
	convs   []conversion
	tail    string // text after the last conversion
	unknown []string
}

// Compile parses a print fmt, everything after "print fmt: ". lookup describes
// the fields of the record by name.
//
// A function, constant or field unknown here is no error, see
// [Program.Unknown]; anything that is not a format string followed by C
// expressions is, and so is a conversion without its argument. Errors name the
// offset in src.
func Compile(src string, lookup func(name string) (Field, bool)) (*Program, error) {
	if len(src) > maxSource {
		return nil, fmt.Errorf("%d bytes long, more than %d", len(src), maxSource)
	}
	toks, err := lex(src)
	if err != nil {
		return nil, err
	}
	p := &parser{toks: toks, lookup: lookup}
	if p.peek().kind != tokString {
		return nil, p.errorf("expected the format string, found %q", p.peek().text)
	}
	format := p.strings()
	var args []*node
	for p.accept(",") {
		n, err := p.expr()
		if err != nil {
			return nil, err
		}
		args = append(args, n)
	}
	if p.peek().kind != tokEOF {
		return nil, p.errorf("unexpected %q after an argument", p.peek().text)
	}
	prog := &Program{unknown: p.unknown}
	if err := prog.split(format, args); err != nil {
		return nil, fmt.Errorf("format %q: %w", format, err)
	}
	return prog, nil
}

// Unknown lists, in order of appearance, the functions, constants and fields
// that only the kernel could evaluate, at most 100.
func (p *Program) Unknown() []string { return p.unknown }

// Append appends the text of data, common header included in data, to dst.
// Like the kernel's it has no line break but those of the format itself.
func (p *Program) Append(dst, data []byte, env *Env) []byte {
	for i := range p.convs {
		c := &p.convs[i]
		dst = append(dst, c.before...)
		if c.widthArg == nil && c.precArg == nil {
			dst = c.appendArg(dst, data, env)
		} else {
			f := c.starred(data, env)
			dst = f.appendArg(dst, data, env)
		}
	}
	return append(dst, p.tail...)
}

// Bind gives p for one env, whose symbols must not move: what p calculates from their
// addresses is computed once. before and after are put around the text of each record.
func (p *Program) Bind(env *Env, before, after string) *Program {
	bound := *p
	bound.convs = slices.Clone(p.convs)
	bound.tail += after
	if len(bound.convs) > 0 {
		bound.convs[0].before = before + bound.convs[0].before
	} else {
		bound.tail = before + bound.tail
	}
	for i := range bound.convs {
		c := &bound.convs[i]
		c.arg, c.widthArg, c.precArg = bind(c.arg, env), bind(c.widthArg, env), bind(c.precArg, env)
	}
	return &bound
}

// bind gives n with the addresses that env knows filled in; n itself does not change.
func bind(n *node, env *Env) *node {
	if n == nil {
		return nil
	}
	if n.op == opSymbol {
		if addr, ok := env.address(n.name); ok {
			n = &node{op: opConst, val: addr, typ: ulongType, weight: 1}
			settle(n)
		}
		return n
	}
	a, b, c := bind(n.a, env), bind(n.b, env), bind(n.c, env)
	if a == n.a && b == n.b && c == n.c {
		return n
	}
	bound := *n
	bound.a, bound.b, bound.c, bound.settled = a, b, c, false
	n = fold(&bound)
	settle(n)
	return n
}

// split cuts a format string into conversions and gives each its arguments.
func (p *Program) split(format string, args []*node) error {
	take := func() (*node, error) {
		if len(args) == 0 {
			return nil, fmt.Errorf("more conversions than arguments")
		}
		n := args[0]
		args = args[1:]
		return n, nil
	}
	var text strings.Builder
	for format != "" {
		i := strings.IndexByte(format, '%')
		if i < 0 || i+1 == len(format) {
			break
		}
		text.WriteString(format[:i])
		format = format[i+1:]
		if format[0] == '%' {
			text.WriteByte('%')
			format = format[1:]
			continue
		}
		c, n, err := parseConversion(format, take)
		if err != nil {
			return err
		}
		c.before = text.String()
		text.Reset()
		format = format[n:]
		p.convs = append(p.convs, c)
	}
	p.tail = text.String() + format
	return nil
}
