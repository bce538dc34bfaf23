package btf

import (
	"fmt"
	"strconv"
	"strings"
)

// Error says what is wrong in a text, and where.
type Error struct {
	Text string // "types" or "functions"
	Line int    // from 1
	Msg  string
}

func (e *Error) Error() string { return fmt.Sprintf("btf: %s: line %d: %s", e.Text, e.Line, e.Msg) }

// parser reads the two texts.
type parser struct {
	Model
	open []ID // the structures whose members follow, the outermost first
}

// Limits of what the texts may ask for.
const (
	maxSize  = 1 << 20 // bytes of a structure, elements of an array
	maxDepth = 16      // how deep structures without a name may be nested
)

// Parse reads the types and the functions of a kernel. The beginning of types.txt
// describes its form; functions.txt has a prototype on each line.
//
// The error is an *Error.
func Parse(types, functions string) (*Model, error) {
	p := &parser{Model: Model{
		types: []Type{{Name: "void"}}, names: map[string]ID{"void": 0},
		funcs: map[string]Prototype{}, ptrs: map[ID]ID{},
	}}
	p.base()
	for _, text := range []struct {
		name, text string
		line       func(string) error
	}{{"types", types, p.typeLine}, {"functions", functions, p.function}} {
		n := 0
		for line := range strings.Lines(text.text) {
			n++
			line = strings.TrimRight(line, "\r\n")
			if line == "" || line[0] == '#' {
				continue
			}
			if err := text.line(line); err != nil {
				return nil, &Error{text.name, n, err.Error()}
			}
		}
	}
	return &p.Model, nil
}

// base adds the types that exist without a declaration.
func (p *parser) base() {
	ints := []struct {
		size   int
		signed bool
		names  string
	}{
		{1, false, "char,bool,_Bool,u8,unsigned char"},
		{1, true, "s8,signed char"},
		{2, false, "u16,unsigned short"},
		{2, true, "s16,short"},
		{4, false, "u32,unsigned int,unsigned"},
		{4, true, "s32,int,signed"},
		{8, false, "u64,unsigned long,unsigned long long"},
		{8, true, "s64,long,long long"},
		{16, false, "u128"},
	}
	for _, i := range ints {
		for name := range strings.SplitSeq(i.names, ",") {
			p.names[name] = p.add(Type{Kind: Int, Name: name, Size: i.size, Signed: i.signed})
		}
	}
	p.names["func"] = p.add(Type{Kind: Func, Name: "func"})
}

func (p *parser) add(t Type) ID {
	p.types = append(p.types, t)
	return ID(len(p.types) - 1)
}

// typeLine reads a line of types.txt.
func (p *parser) typeLine(line string) error {
	depth := len(line) - len(strings.TrimLeft(line, "\t"))
	line = line[depth:]
	if depth > 0 {
		if depth > len(p.open) || depth > maxDepth {
			return fmt.Errorf("a member %q of nothing", line)
		}
		p.open = p.open[:depth]
		return p.member(line)
	}
	p.open = p.open[:0]
	kind, rest, _ := strings.Cut(line, " ")
	i := strings.LastIndexByte(rest, ' ')
	if i < 0 {
		return fmt.Errorf("%q: want a name and more", line)
	}
	switch kind {
	case "typedef":
		id, err := p.typeOf(rest[:i])
		if err != nil {
			return err
		}
		p.names[rest[i+1:]] = id
		return nil
	case "struct", "union":
		size, err := number(rest[i+1:])
		if err != nil {
			return err
		}
		id := p.structure(kind + " " + rest[:i])
		if len(p.types[id].Members) > 0 {
			return fmt.Errorf("%s %s is there twice", kind, rest[:i])
		}
		p.types[id].Size = size
		p.open = append(p.open, id)
		return nil
	}
	return fmt.Errorf("%q: want typedef, struct or union", kind)
}

// structure gives the structure or union with that name. It need not be declared yet.
func (p *parser) structure(name string) ID {
	id, ok := p.names[name]
	if !ok {
		id = p.add(Type{Kind: Struct, Name: name})
		p.names[name] = id
	}
	return id
}

// member reads a member of the innermost open structure.
func (p *parser) member(line string) error {
	at, rest, _ := strings.Cut(line, " ")
	bytes, bits, _ := strings.Cut(at, ".")
	off, err := number(bytes)
	if err != nil {
		return err
	}
	m := Member{Bit: 8 * off}
	if bits != "" {
		bit, err := number(bits)
		if err != nil {
			return err
		}
		m.Bit += bit
	}
	decl, width, isField := strings.Cut(rest, ":")
	if isField {
		if m.Bits, err = number(width); err != nil {
			return err
		}
	}
	if id, name, ok := p.unnamed(decl); ok {
		m.Type = id
		if m.Name, m.Type, err = p.array(name, m.Type); err != nil {
			return err
		}
		p.enclose(m)
		p.open = append(p.open, id)
		return nil
	}
	i := strings.LastIndexAny(decl, " *")
	if i < 0 {
		return fmt.Errorf("%q: want a type and a name", rest)
	}
	if m.Type, err = p.typeOf(decl[:i+1]); err != nil {
		return err
	}
	if m.Name, m.Type, err = p.array(decl[i+1:], m.Type); err != nil {
		return err
	}
	if m.Name == "" {
		return fmt.Errorf("%q: want a name", rest)
	}
	p.enclose(m)
	return nil
}

func (p *parser) enclose(m Member) {
	t := &p.types[p.open[len(p.open)-1]]
	t.Members = append(t.Members, m)
}

// unnamed reads a structure without a name of its own: "union 16 NAME".
func (p *parser) unnamed(decl string) (id ID, name string, ok bool) {
	f := strings.Fields(decl)
	if len(f) < 2 || len(f) > 3 || f[0] != "struct" && f[0] != "union" {
		return 0, "", false
	}
	size, err := number(f[1])
	if err != nil {
		return 0, "", false
	}
	if len(f) == 3 {
		name = f[2]
	}
	return p.add(Type{Kind: Struct, Size: size}), name, true
}

// array cuts the brackets off a name and makes the array types for which they stand.
func (p *parser) array(name string, of ID) (string, ID, error) {
	for {
		open := strings.LastIndexByte(name, '[')
		if open < 0 {
			return name, of, nil
		}
		n, err := number(strings.TrimSuffix(name[open+1:], "]"))
		if err != nil {
			return "", 0, err
		}
		size := n * p.types[of].Size
		if size > maxSize {
			return "", 0, fmt.Errorf("%q is too large", name)
		}
		of = p.add(Type{Kind: Array, Elem: of, Size: size})
		name = name[:open]
	}
}

// typeOf finds or makes the type that text names.
func (p *parser) typeOf(text string) (ID, error) {
	text = strings.TrimSpace(text)
	stars := len(text) - len(strings.TrimRight(text, "*"))
	name := strings.TrimSpace(text[:len(text)-stars])
	id, ok := p.names[name]
	if !ok {
		switch kind, tag, _ := strings.Cut(name, " "); {
		case tag == "" || strings.ContainsAny(tag, " *"):
			return 0, fmt.Errorf("no type %q", text)
		case kind == "enum":
			id = p.add(Type{Kind: Enum, Name: name, Size: 4})
			p.names[name] = id
		case kind == "struct" || kind == "union":
			id = p.structure(name)
		default:
			return 0, fmt.Errorf("no type %q", text)
		}
	}
	for range stars {
		ptr, ok := p.ptrs[id]
		if !ok {
			ptr = p.add(Type{Kind: Ptr, Size: 8, Elem: id})
			p.ptrs[id] = ptr
		}
		id = ptr
	}
	return id, nil
}

// function reads a line of functions.txt.
func (p *parser) function(line string) error {
	head, params, ok := strings.Cut(line, "(")
	params, closed := strings.CutSuffix(params, ")")
	i := strings.LastIndexAny(head, " *")
	if !ok || !closed || i < 0 || i+1 == len(head) {
		return fmt.Errorf("%q is no prototype", line)
	}
	var f Prototype
	var err error
	if f.Result, err = p.typeOf(head[:i+1]); err != nil {
		return err
	}
	for params != "" {
		var param string
		param, params, _ = strings.Cut(params, ", ")
		j := strings.LastIndexAny(param, " *")
		if j < 0 || j+1 == len(param) {
			return fmt.Errorf("parameter %q: want a type and a name", param)
		}
		id, err := p.typeOf(param[:j+1])
		if err != nil {
			return err
		}
		f.Params = append(f.Params, Param{Name: param[j+1:], Type: id})
	}
	p.funcs[head[i+1:]] = f
	return nil
}

// number reads a decimal number. It refuses numbers that are too large for all uses.
func number(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n > maxSize {
		return 0, fmt.Errorf("number %q", s)
	}
	return int(n), nil
}
