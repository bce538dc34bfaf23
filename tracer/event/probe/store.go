package probe

import (
	"strings"
	"syscall"
)

// store compiles the storing of a value as the argument's type. It also compiles the
// cutting out of a bitfield and the step to the next element of an array.
//
// Kernel: finalize_fetch_insn, kernel/trace/trace_probe.c.
func (p *argParser) store(prog *program, a *Arg, t typeText) error {
	in := prog.now()
	switch {
	case a.typ.text:
		if err := p.storeText(prog, a, t); err != nil {
			return err
		}
	case in.op == opDeref:
		in.op = opStoreMem
	case in.op == opUserDeref:
		in.op = opStoreUserMem
	default:
		if !prog.next() {
			return p.failWith(p.offset, errTooManyOps, syscall.E2BIG)
		}
		prog.now().op = opStoreRaw
	}
	stored := prog.now()
	stored.size = uint8(a.typ.size)

	switch {
	case t.given:
		if !bitfield(t.name, a.typ, prog) {
			return p.fail(p.offset+t.at, errBadBitfield)
		}
	case p.btf.typed:
		if err := p.btfBitfield(prog); err != nil {
			return err
		}
	}
	if a.Count == 0 {
		return nil
	}
	if stored.op != opStoreMem && stored.op != opStoreString && stored.op != opStoreUserString {
		return p.fail(p.offset+t.at, errBadString)
	}
	if !prog.next() {
		return p.failWith(p.offset, errTooManyOps, syscall.E2BIG)
	}
	*prog.now() = insn{op: opArray, n: a.Count}
	return nil
}

// storeText compiles the storing of a string. The last step, which would load the
// string's address, becomes the store. If the value itself is the address, or the
// address of an array's element, the store is a step of its own.
func (p *argParser) storeText(prog *program, a *Arg, t typeText) error {
	in := prog.now()
	symbol := a.typ.name == "symstr"
	step := a.Count != 0
	switch in.op {
	case opReg, opStack, opRetVal, opArg:
		if !symbol {
			return p.fail(p.offset+t.at, errBadString)
		}
		step = true
	case opDeref:
		step = step || symbol
	case opField:
		step = true
	case opUserDeref, opImm, opComm, opData:
		if symbol {
			return p.fail(p.offset+t.at, errBadSymString)
		}
		step = step || in.op != opUserDeref
	default:
		if symbol {
			return p.fail(p.offset+t.at, errBadSymString)
		}
		return p.fail(p.offset+t.at, errBadString)
	}
	if step && !prog.next() {
		return p.fail(p.offset, errTooManyOps)
	}
	in = prog.now()
	switch {
	case a.typ.name == "ustring" || in.op == opUserDeref:
		in.op = opStoreUserString
	case symbol:
		in.op = opStoreSymString
	default:
		in.op = opStoreString
	}
	return nil
}

// bitfield compiles b<WIDTH>@<OFFSET>/<CONTAINER>; for other types it does nothing. It
// returns false if the text is no bitfield of that container.
//
// Kernel: __parse_bitfield_probe_arg.
func bitfield(name string, t *fetchType, prog *program) bool {
	digits, ok := strings.CutPrefix(name, "b")
	if !ok {
		return true
	}
	width, rest := leadingNumber(digits, 0)
	digits, ok = strings.CutPrefix(rest, "@")
	if width == 0 || !ok {
		return false
	}
	offset, rest := leadingNumber(digits, 0)
	if rest == digits || !strings.HasPrefix(rest, "/") || !prog.next() {
		return false
	}
	bits := uint64(8 * t.size)
	if width > bits || offset > bits || width+offset > bits {
		return false
	}
	*prog.now() = insn{op: opBitfield, left: uint8(bits - width - offset), right: uint8(bits - width), size: uint8(t.size)}
	return true
}
