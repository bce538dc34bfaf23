package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// kind is the kind of a type in BTF.
type kind uint8

// Kernel: include/uapi/linux/btf.h.
const (
	kindInt kind = iota + 1
	kindPtr
	kindArray
	kindStruct
	kindUnion
	kindEnum
	kindFwd
	kindTypedef
	kindVolatile
	kindConst
	kindRestrict
	kindFunc
	kindProto
	kindVar
	kindDatasec
	kindFloat
	kindDeclTag
	kindTypeTag
	kindEnum64
)

// extra says how many bytes follow the head of a type: once, and for each of its parts.
var extra = map[kind]struct{ once, each int }{
	kindInt: {once: 4}, kindPtr: {}, kindArray: {once: 12}, kindStruct: {each: 12}, kindUnion: {each: 12},
	kindEnum: {each: 8}, kindFwd: {}, kindTypedef: {}, kindVolatile: {}, kindConst: {}, kindRestrict: {},
	kindFunc: {}, kindProto: {each: 8}, kindVar: {once: 4}, kindDatasec: {each: 12}, kindFloat: {},
	kindDeclTag: {once: 4}, kindTypeTag: {}, kindEnum64: {each: 12},
}

// btfType is one type. Which fields have a meaning depends on its kind.
type btfType struct {
	kind  kind
	name  string
	size  int  // for a number or a structure: in bytes
	flag  bool // a number or an enumeration is signed; a forward declaration is that of a union
	to    int  // the type to which a pointer, an array, a typedef, a function … refers
	count int  // for an array: how many elements it has
	parts []part
}

// part is a member of a structure, a parameter of a function or a constant of an
// enumeration.
type part struct {
	name  string
	to    int
	bit   int // for a member: its offset in bits
	bits  int // for a bitfield: how many bits it has
	value int // of a constant
}

// btfData holds the types of a kernel by their numbers; 0 is void. The types and names
// of a module follow those of its kernel.
type btfData struct {
	types []btfType
	names []byte
}

// parseELF reads the section .BTF of an ELF file.
func (d *btfData) parseELF(program []byte) error {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return err
	}
	section := f.Section(".BTF")
	if section == nil {
		return errors.New("there is no section .BTF")
	}
	data, err := section.Data()
	if err != nil {
		return err
	}
	return d.parse(data)
}

// parse reads the section .BTF of a little-endian kernel, or of a module after that of
// its kernel.
func (d *btfData) parse(data []byte) error {
	const head = 24
	if len(data) < head || binary.LittleEndian.Uint16(data) != 0xeb9f || data[2] != 1 {
		return fmt.Errorf("btf: no BTF of version 1")
	}
	word := func(b []byte, n int) int { return int(binary.LittleEndian.Uint32(b[4*n:])) }
	section := func(off, length int) ([]byte, error) {
		off += word(data, 1)
		if off+length > len(data) {
			return nil, fmt.Errorf("btf: a section ends at byte %d of %d", off+length, len(data))
		}
		return data[off : off+length], nil
	}
	text, err := section(word(data, 2), word(data, 3))
	if err != nil {
		return err
	}
	names, err := section(word(data, 4), word(data, 5))
	if err != nil {
		return err
	}
	d.names = append(d.names, names...)
	name := func(off int) string {
		if off >= len(d.names) {
			return ""
		}
		s, _, _ := strings.Cut(string(d.names[off:min(off+512, len(d.names))]), "\x00")
		return s
	}
	if d.types == nil {
		d.types = []btfType{{name: "void"}}
	}
	first := len(d.types)
	for len(text) > 0 {
		if len(text) < 12 {
			return fmt.Errorf("btf: type %d ends too early", len(d.types))
		}
		info := word(text, 1)
		t := btfType{kind: kind(info >> 24 & 31), name: name(word(text, 0)), size: word(text, 2), to: word(text, 2)}
		vlen, flagged := info&0xffff, info>>31 != 0
		more, ok := extra[t.kind]
		size := 12 + more.once + vlen*more.each
		if !ok || len(text) < size {
			return fmt.Errorf("btf: type %d is of kind %d with %d parts, %d bytes are left", len(d.types), t.kind, vlen, len(text))
		}
		rest := text[12:size]
		text = text[size:]
		switch t.kind {
		case kindInt:
			t.flag = word(rest, 0)>>24&1 != 0
		case kindEnum, kindEnum64, kindFwd:
			t.flag = flagged
			for ; t.kind == kindEnum && len(rest) > 0; rest = rest[8:] {
				t.parts = append(t.parts, part{name: name(word(rest, 0)), value: int(int32(word(rest, 1)))})
			}
		case kindArray:
			t.to, t.count = word(rest, 0), word(rest, 2)
		case kindStruct, kindUnion:
			for ; len(rest) > 0; rest = rest[12:] {
				p := part{name: name(word(rest, 0)), to: word(rest, 1), bit: word(rest, 2)}
				if flagged {
					p.bit, p.bits = p.bit&0xffffff, p.bit>>24
				}
				t.parts = append(t.parts, p)
			}
		case kindProto:
			for ; len(rest) > 0; rest = rest[8:] {
				t.parts = append(t.parts, part{name: name(word(rest, 0)), to: word(rest, 1)})
			}
		}
		d.types = append(d.types, t)
	}
	for n, t := range d.types[first:] {
		bad := t.refers() && t.to >= len(d.types)
		for _, p := range t.parts {
			bad = bad || p.to >= len(d.types)
		}
		if bad {
			return fmt.Errorf("btf: type %d refers to one that is not there", first+n)
		}
	}
	return nil
}

// refers reports whether a type refers to another one and so has no size.
func (t *btfType) refers() bool {
	switch t.kind {
	case 0, kindInt, kindStruct, kindUnion, kindEnum, kindEnum64, kindFloat, kindDatasec, kindFwd:
		return false
	}
	return true
}
