package probe

import (
	"strings"
	"syscall"
)

// btfState holds what the BTF tells about the place of a probe and about the variable
// that was named last.
type btfState struct {
	types  BTF // nil: the BTF was not asked yet, or does not describe the function
	proto  Proto
	params []Param // without a tracepoint's hidden data pointer

	typed   bool  // the BTF tells the type of the value
	last    CType // that type
	bitOff  int   // where it begins in its first byte
	bitSize int   // how many bits a bitfield has
}

// forget forgets the type of the last variable.
func (b *btfState) forget() { b.typed = false }

// askBTF finds the function's prototype. It returns false if there is none.
//
// Kernel: query_btf_context, kernel/trace/trace_probe.c.
func (p *argParser) askBTF() bool {
	b := &p.btf
	if b.types != nil {
		return true
	}
	types := p.env.BTF()
	if types == nil || p.function == "" {
		return false
	}
	proto, ok := types.Proto(p.function)
	if !ok {
		return false
	}
	b.types, b.proto, b.params = types, proto, proto.Params
	if p.where.tpoint && len(b.params) > 0 {
		b.params = b.params[1:]
	}
	return true
}

// splitField splits a name from the field that follows it: at "->", or at ".".
//
// Kernel: split_next_field.
func (p *argParser) splitField(s string) (name, field string, more, arrow bool, err error) {
	i := strings.IndexAny(s, ".-")
	switch {
	case i < 0:
		return s, "", false, false, nil
	case s[i] == '.':
		return s[:i], s[i+1:], true, false, nil
	case strings.HasPrefix(s[i:], "->"):
		return s[:i], s[i+2:], true, true, nil
	}
	return "", "", false, false, p.fail(p.offset+i, errBadHyphen)
}

// btfVariable compiles a parameter's name or $retval, and the fields after it.
//
// Kernel: parse_btf_arg.
func (p *argParser) btfVariable(arg string, prog *program) error {
	if p.env.BTF() == nil {
		return p.failWith(p.offset, errNoBTF, syscall.EOPNOTSUPP)
	}
	if p.function == "" {
		return syscall.EINVAL
	}
	name, field, more, arrow, err := p.splitField(arg)
	if err != nil {
		return err
	}
	at := len(arg) - len(field) // where the field's name begins
	if more && !arrow {
		return p.failWith(p.offset+at, errDotOnArg, syscall.EOPNOTSUPP)
	}
	in := prog.now()
	id := TypeID(0)
	if p.where.ret && name == "$retval" {
		*in = insn{op: opRetVal}
		switch described := p.askBTF(); {
		case described && p.btf.proto.Result == 0:
			return p.failWith(p.offset, errNoRetval, syscall.ENOENT)
		case described:
			id = p.btf.proto.Result
		case more:
			return p.failWith(p.offset+at, errNoBTFEntry, syscall.ENOENT)
		default:
			return nil
		}
	} else if id, err = p.parameter(name, in); err != nil {
		return err
	}
	p.btf.typed, p.btf.last = true, p.btf.types.Type(id)
	p.btf.bitOff, p.btf.bitSize = 0, 0
	if !more {
		return nil
	}
	p.offset += at
	return p.fields(field, prog)
}

// parameter compiles a parameter of the function by its name and returns its type.
func (p *argParser) parameter(name string, in *insn) (TypeID, error) {
	// If the BTF was asked before, the kernel does not check again whether
	// there are parameters.
	if p.btf.types == nil && (!p.askBTF() || len(p.btf.params) == 0) {
		return 0, p.failWith(p.offset, errNoBTFEntry, syscall.ENOENT)
	}
	for i, param := range p.btf.params {
		if param.Name != name {
			continue
		}
		if p.where.atReturn() {
			*in = insn{op: opEntry, n: p.d.saveArg(i)}
		} else {
			*in = insn{op: opArg, n: i}
		}
		return param.Type, nil
	}
	return 0, p.failWith(p.offset, errNoBTFArg, syscall.ENOENT)
}

// fields compiles the path of fields that follows a value, which points to a structure:
// one step for every "->".
//
// Departure: a fault after the last field has the column of that field. The kernel
// computes it as the difference to a null pointer.
//
// Kernel: parse_btf_field.
func (p *argParser) fields(path string, prog *program) error {
	b := &p.btf
	for more := true; more; {
		if b.last.Kind != CPtr {
			return p.fail(p.offset, errNoStructPointer)
		}
		id := b.last.Elem
		bits := 0
		for arrow := false; more && !arrow; {
			name, rest, follows, isArrow, err := p.splitField(path)
			if err != nil {
				return err
			}
			if b.types.Type(id).Kind != CStruct {
				return p.fail(p.offset, errBadBTFType)
			}
			m, ok := b.types.Member(id, name)
			if !ok {
				return p.failWith(p.offset, errNoBTFField, syscall.ENOENT)
			}
			bits += m.BitOff
			b.bitSize = m.BitSize
			id = m.Type
			if follows {
				p.offset += len(path) - len(rest)
			}
			path, more, arrow = rest, follows, isArrow
		}
		if !prog.next() {
			return p.fail(p.offset, errTooManyOps)
		}
		*prog.now() = insn{op: opDeref, offset: int32(bits / 8)}
		b.bitOff = bits % 8
		b.last = b.types.Type(id)
	}
	return nil
}

// fetchType gives the fetch type for the C type of the value. A value without a type is
// a plain word.
//
// Kernel: fetch_type_from_btf_type.
func (b *btfState) fetchType() *fetchType {
	name := defaultType
	switch b.last.Kind {
	case CEnum:
		name = "s32"
	case CEnum64:
		name = "s64"
	case CInt:
		sign := "u"
		if b.last.Signed {
			sign = "s"
		}
		switch b.last.Bits {
		case 8:
			name = sign + "8"
		case 16:
			name = sign + "16"
		case 32:
			name = sign + "32"
		case 64:
			name = sign + "64"
		default:
			if !b.last.Signed {
				b.bitSize = b.last.Bits
				name = "u64"
			}
		}
	}
	return findType(name, false)
}

// btfString makes a string of a char array, or of what a char pointer points to.
//
// Kernel: check_prepare_btf_string_fetch.
func (p *argParser) btfString(name string, prog *program) error {
	b := &p.btf
	isChar := func(id TypeID) bool {
		t := b.types.Type(id)
		return t.Kind == CInt && t.Bits == 8 && !t.Signed
	}
	switch {
	case b.last.Kind == CArray && isChar(b.last.Elem):
		return nil
	case b.last.Kind == CPtr && isChar(b.last.Elem):
		in := insn{op: opDeref}
		if name[0] == 'u' {
			in.op = opUserDeref
		}
		if !prog.next() {
			return p.failWith(p.offset, errTooManyOps, syscall.E2BIG)
		}
		*prog.now() = in
		return nil
	}
	return p.fail(p.offset, errBadStringType)
}

// btfBitfield cuts a member that is a bitfield out of its word.
//
// Kernel: parse_btf_bitfield.
func (p *argParser) btfBitfield(prog *program) error {
	b := &p.btf
	if b.bitSize%8 == 0 && b.bitOff == 0 {
		return nil
	}
	if !prog.next() {
		return p.fail(p.offset, errTooManyOps)
	}
	*prog.now() = insn{op: opBitfield, left: uint8(64 - (b.bitSize + b.bitOff)), right: uint8(64 - b.bitSize), size: 8}
	return nil
}
