package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// writer writes types in the form of the texts of machine/btf, and collects
// the typedefs and structures that these need.
type writer struct {
	types    []btfType
	typedefs map[string]string // what each of them means
	order    []string          // the typedefs, each behind those that it needs
	wanted   map[string]int    // the structures whose layout is needed, by "struct NAME"
	err      error             // the first thing that the texts cannot say
}

func (w *writer) fail(format string, args ...any) {
	w.err = cmp.Or(w.err, fmt.Errorf(format, args...))
}

// plain removes modifiers, which do not change the layout of a type.
func (w *writer) plain(id int) int {
	for {
		switch t := &w.types[id]; t.kind {
		case kindConst, kindVolatile, kindRestrict, kindTypeTag:
			id = t.to
		default:
			return id
		}
	}
}

// resolve removes modifiers and typedefs.
func (w *writer) resolve(id int) int {
	for {
		id = w.plain(id)
		if w.types[id].kind != kindTypedef {
			return id
		}
		id = w.types[id].to
	}
}

// numbers are the names of number types, by their size and whether they are signed: the
// names in layouts, and those in prototypes.
var numbers = map[int][2]struct{ fixed, c string }{
	1:  {{"u8", "unsigned char"}, {"s8", "signed char"}},
	2:  {{"u16", "unsigned short"}, {"s16", "short"}},
	4:  {{"u32", "unsigned int"}, {"s32", "int"}},
	8:  {{"u64", "unsigned long"}, {"s64", "long"}},
	16: {{"u128", "u128"}, {"u128", "u128"}},
}

// predeclared are the typedefs that need no line of their own in the texts.
var predeclared = map[string]bool{
	"u8": true, "u16": true, "u32": true, "u64": true, "s8": true, "s16": true, "s32": true, "s64": true, "bool": true,
}

func (w *writer) number(size int, signed, c bool) string {
	names, ok := numbers[size]
	if !ok {
		w.fail("btf: a number of %d bytes", size)
	}
	name := names[0]
	if signed {
		name = names[1]
	}
	if c {
		return name.c
	}
	return name.fixed
}

// text gives the name of a type; c says that numbers have their names of C. An array
// has no name: its brackets are written with the member or parameter.
func (w *writer) text(id int, c bool) string {
	id = w.plain(id)
	switch t := &w.types[id]; t.kind {
	case 0:
		return "void"
	case kindInt:
		switch t.name {
		case "char":
			return "char"
		case "_Bool":
			return "bool"
		}
		return w.number(t.size, t.flag, c)
	case kindEnum, kindEnum64:
		if t.name != "" && t.size == 4 {
			return "enum " + t.name
		}
		return w.number(t.size, t.flag, c)
	case kindPtr:
		return pointer(w.pointee(t.to, c))
	case kindProto:
		return "func"
	case kindStruct, kindUnion, kindFwd:
		if t.name == "" {
			w.fail("btf: type %d has no name", id)
		}
		if t.kind != kindFwd {
			w.wanted[w.tag(id)] = id
		}
		return w.tag(id)
	case kindTypedef:
		return w.typedef(t, c)
	}
	w.fail("btf: type %d (%s) is of kind %d", id, w.types[id].name, w.types[id].kind)
	return ""
}

// typedef gives the name of a typedef, and notes what it means.
func (w *writer) typedef(t *btfType, c bool) string {
	to := w.resolve(t.to)
	switch {
	case predeclared[t.name]:
		return t.name
	case w.types[to].kind == kindInt && w.types[to].name == t.name: // bool
		return w.text(to, c)
	case w.unnamed(to):
		// A structure without a name of its own gets that of the typedef.
		name := strings.Fields(w.tag(to))[0] + " " + t.name
		w.define(t.name, name)
		w.wanted[name] = to
		return t.name
	case w.types[to].kind == kindArray:
		w.fail("btf: the typedef %s is an array", t.name)
	}
	if _, ok := w.typedefs[t.name]; !ok {
		w.define(t.name, w.text(to, false))
	}
	return t.name
}

// define notes what a typedef means.
func (w *writer) define(name, means string) {
	switch have, ok := w.typedefs[name]; {
	case !ok:
		w.typedefs[name], w.order = means, append(w.order, name)
	case have != means:
		w.fail("btf: %s is %s and %s", name, have, means)
	}
}

func (w *writer) unnamed(id int) bool {
	t := &w.types[id]
	return (t.kind == kindStruct || t.kind == kindUnion) && t.name == ""
}

// pointee gives the name of the type to which a pointer points. If nothing but pointers
// refer to a structure, its layout is not needed.
func (w *writer) pointee(id int, c bool) string {
	to := w.resolve(id)
	switch t := &w.types[to]; t.kind {
	case kindStruct, kindUnion, kindFwd:
		if name := w.types[w.plain(id)]; name.kind == kindTypedef {
			tag := w.tag(to)
			if t.name == "" {
				tag += name.name
			}
			w.define(name.name, tag)
			return name.name
		}
		if t.name == "" {
			return "void"
		}
		return w.tag(to)
	case kindArray:
		return w.pointee(t.to, c) // its first element
	}
	return w.text(id, c)
}

func pointer(to string) string {
	if strings.HasSuffix(to, "*") {
		return to + "*"
	}
	return to + " *"
}

// tag gives "struct NAME" or "union NAME".
func (w *writer) tag(id int) string {
	t := &w.types[id]
	if t.kind == kindUnion || t.kind == kindFwd && t.flag {
		return "union " + t.name
	}
	return "struct " + t.name
}

// declare puts a type before a name.
func declare(typ, name string) string {
	if strings.HasSuffix(typ, "*") {
		return typ + name
	}
	return typ + " " + name
}

// prototype gives the declaration of a function in C, without const.
func (w *writer) prototype(fn *btfType) string {
	proto := &w.types[fn.to]
	var params []string
	for n, p := range proto.parts {
		if p.to == 0 {
			break // …
		}
		if p.name == "" {
			w.fail("btf: %s: parameter %d has no name", fn.name, n+1)
		}
		params = append(params, declare(w.text(p.to, true), p.name))
	}
	return declare(w.text(proto.to, true), fn.name) + "(" + strings.Join(params, ", ") + ")"
}

// layouts writes the structures that are wanted and those within them, each behind
// those that it needs. That may make further structures wanted.
func (w *writer) layouts() string {
	var b strings.Builder
	done := map[string]bool{}
	var write func(name string)
	write = func(name string) {
		if done[name] {
			return
		}
		done[name] = true
		id := w.wanted[name]
		var text strings.Builder
		fmt.Fprintf(&text, "%s %d\n", name, w.types[id].size)
		before := w.wanted
		w.wanted = map[string]int{}
		w.members(&text, id, 1)
		within := w.wanted
		w.wanted = before
		for _, inner := range sortedKeys(within) {
			if have, ok := w.wanted[inner]; ok && w.types[have].size != w.types[within[inner]].size {
				w.fail("btf: two kinds of %s", inner)
			}
			w.wanted[inner] = within[inner]
			write(inner)
		}
		b.WriteString(text.String())
	}
	for _, name := range sortedKeys(w.wanted) {
		write(name)
	}
	return b.String()
}

// members writes the members of a structure, indented by depth tabs.
func (w *writer) members(b *strings.Builder, id, depth int) {
	for _, p := range w.types[id].parts {
		fmt.Fprintf(b, "%s%d", strings.Repeat("\t", depth), p.bit/8)
		if p.bits != 0 {
			fmt.Fprintf(b, ".%d", p.bit%8)
		}
		elem, dims := p.to, ""
		for {
			at := w.resolve(elem)
			if w.types[at].kind != kindArray {
				break
			}
			dims += fmt.Sprintf("[%d]", w.types[at].count)
			elem = w.types[at].to
		}
		if at := w.plain(elem); w.unnamed(at) {
			fmt.Fprintf(b, " %s%d", w.tag(at), w.types[at].size)
			if p.name != "" {
				b.WriteString(" " + p.name + dims)
			}
			b.WriteByte('\n')
			w.members(b, at, depth+1)
			continue
		}
		b.WriteString(" " + declare(w.text(elem, false), p.name) + dims)
		if p.bits != 0 {
			fmt.Fprintf(b, ":%d", p.bits)
		}
		b.WriteByte('\n')
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
