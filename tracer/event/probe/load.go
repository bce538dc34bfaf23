package probe

import (
	"strings"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
)

// fetch compiles the loading of a value and the following of addresses. Afterwards prog
// is at its last instruction.
//
// Kernel: parse_probe_arg.
func (p *argParser) fetch(arg string, prog *program) error {
	first := prog.now()
	if err := p.load(arg, prog); err != nil {
		return err
	}
	if first.op == opNop {
		return p.fail(p.offset, errBadFetchArg)
	}
	return nil
}

func (p *argParser) load(arg string, prog *program) error {
	var c byte
	if arg != "" {
		c = arg[0]
	}
	switch {
	case c == '$':
		return p.variable(arg, prog)
	case c == '%':
		return p.register(arg[1:], prog.now())
	case c == '@':
		return p.memory(arg[1:], prog)
	case c == '+' || c == '-':
		return p.deref(arg, prog)
	case c == '\\':
		return p.immediate(arg[1:], prog.now())
	case isAlpha(c) || c == '_':
		if !p.where.atEntry() && !p.where.atReturn() {
			return p.fail(p.offset, errNoBTF)
		}
		return p.btfVariable(arg, prog)
	}
	return nil // nothing was compiled; fetch reports that
}

// register compiles %NAME.
//
// For an event probe or an fprobe this reports a fault and goes on, as the
// kernel does; fetch then reports a second one.
func (p *argParser) register(name string, in *insn) error {
	if p.where.event || p.where.fprobe {
		p.report(p.offset, errBadVar)
		return nil
	}
	for n, r := range Registers {
		if r == name {
			*in = insn{op: opReg, n: n}
			return nil
		}
	}
	return p.fail(p.offset, errBadRegister)
}

// memory compiles @ADDR, @+OFFS of a file, @SYM+OFFS.
func (p *argParser) memory(arg string, prog *program) error {
	in := prog.now()
	switch {
	case arg != "" && isDigit(arg[0]):
		addr, err := tracefile.ParseUlong(arg, 0)
		if err != nil {
			return p.failWith(p.offset, errBadMemAddress, err)
		}
		*in = insn{op: opImm, imm: addr}
	case arg != "" && arg[0] == '+':
		if !p.where.user {
			return p.fail(p.offset, errFileOnKprobe)
		}
		offset, err := tracefile.ParseLong(arg[1:], 0)
		if err != nil {
			return p.failWith(p.offset, errBadFileOffset, err)
		}
		*in = insn{op: opFileOffset, imm: uint64(offset)}
	default:
		if p.where.user {
			return p.fail(p.offset, errSymOnUprobe)
		}
		*in = insn{op: opSymbol, data: arg}
		if !prog.next() {
			return p.fail(p.offset, errTooManyOps)
		}
		*prog.now() = insn{op: opImm}
	}
	if !prog.next() {
		return p.fail(p.offset, errTooManyOps)
	}
	*prog.now() = insn{op: opDeref}
	return nil
}

// deref compiles +OFFS(ARG), -OFFS(ARG), +uOFFS(ARG). The columns of faults
// inside the parentheses do not count the u.
func (p *argParser) deref(arg string, prog *program) error {
	op := opDeref
	if len(arg) > 1 && arg[1] == 'u' {
		op = opUserDeref
		arg = arg[:1] + arg[2:]
	}
	arg = strings.TrimPrefix(arg, "+")
	digits, inner, ok := strings.Cut(arg, "(")
	if !ok {
		return p.fail(p.offset, errDerefNeedBrace)
	}
	offset, err := tracefile.ParseLong(digits, 0)
	if err != nil {
		return p.failWith(p.offset, errBadDerefOffset, err)
	}
	p.offset += len(digits) + len("(")
	if digits[0] != '-' {
		p.offset += len("+")
	}
	end := strings.LastIndexByte(inner, ')')
	if end < 0 {
		return p.fail(p.offset+len(inner), errDerefOpenBrace)
	}
	at := p.offset
	if err := p.fetch(inner[:end], prog); err != nil {
		return err
	}
	p.offset = at
	if in := prog.now(); in.op == opComm || in.op == opData {
		return p.fail(p.offset, errCommCantDeref)
	}
	if !prog.next() {
		return p.fail(p.offset, errTooManyOps)
	}
	*prog.now() = insn{op: op, offset: int32(offset)}
	p.btf.typed = false
	return nil
}

// immediate compiles \IMM and \"STRING".
func (p *argParser) immediate(arg string, in *insn) error {
	if text, ok := strings.CutPrefix(arg, `"`); ok {
		data, closed := strings.CutSuffix(text, `"`)
		if !closed {
			return p.fail(p.offset+2+len(text), errImmStringNoClose)
		}
		*in = insn{op: opData, data: data}
		return nil
	}
	imm, err := parseImmediate(arg)
	if err != nil {
		return p.failWith(p.offset+1, errBadImmediate, err)
	}
	*in = insn{op: opImm, imm: imm}
	return nil
}

// parseImmediate reads a number with or without a sign.
//
// Kernel: str_to_immediate.
func parseImmediate(s string) (uint64, error) {
	switch {
	case s == "":
	case isDigit(s[0]):
		return tracefile.ParseUlong(s, 0)
	case s[0] == '-':
		n, err := tracefile.ParseLong(s, 0)
		return uint64(n), err
	case s[0] == '+':
		n, err := tracefile.ParseLong(s[1:], 0)
		return uint64(n), err
	}
	return 0, syscall.EINVAL
}

// variable compiles $retval, $stack, $stackN, $comm, $argN, and $FIELD of an event.
//
// Kernel: parse_probe_vars.
func (p *argParser) variable(arg string, prog *program) error {
	name, in := arg[1:], prog.now()
	if p.where.event {
		if f := attachedField(p.d.Attached, name); f != nil {
			*in = insn{op: opField, field: f, kind: kindOfField(f)}
			return nil
		}
		if name == "comm" || name == "COMM" {
			*in = insn{op: opComm}
			return nil
		}
		return p.fail(p.offset, errBadVar)
	}
	if strings.HasPrefix(name, "retval") {
		switch {
		case !p.where.ret:
			return p.fail(p.offset, errRetvalOnProbe)
		case p.where.user || p.env.BTF() == nil:
			*in = insn{op: opRetVal}
			return nil
		}
		return p.btfVariable(arg, prog)
	}
	if word, ok := strings.CutPrefix(name, "stack"); ok {
		return p.stack(word, in)
	}
	if name == "comm" || name == "COMM" {
		*in = insn{op: opComm}
		return nil
	}
	if n, ok := strings.CutPrefix(name, "arg"); ok {
		return p.argument(n, in)
	}
	return p.fail(p.offset, errBadVar)
}

// maxStackWord is the largest N of $stackN, and of $argN.
//
// Kernel: PARAM_MAX_STACK, kernel/trace/trace_probe.c.
const maxStackWord = 2048

// stack compiles $stack and $stackN.
func (p *argParser) stack(word string, in *insn) error {
	if word == "" {
		*in = insn{op: opStackPointer}
		return nil
	}
	if !isDigit(word[0]) {
		return p.fail(p.offset, errBadVar)
	}
	n, err := tracefile.ParseUlong(word, 10)
	switch {
	case err != nil:
		return p.fail(p.offset, errBadVar)
	case !p.where.user && n > maxStackWord:
		return p.fail(p.offset, errBadStackNumber)
	}
	*in = insn{op: opStack, n: int(uint32(n))}
	return nil
}

// argument compiles $argN. At a return, that is the argument that was saved at the
// entry.
func (p *argParser) argument(word string, in *insn) error {
	n, err := tracefile.ParseUlong(word, 10)
	switch {
	case err != nil:
		return p.fail(p.offset, errBadVar)
	case n == 0 || n > maxStackWord:
		return p.fail(p.offset, errBadArgNumber)
	case p.where.atEntry():
		*in = insn{op: opArg, n: int(n - 1)}
	case p.where.atReturn():
		*in = insn{op: opEntry, n: p.d.saveArg(int(n - 1))}
	default:
		return p.fail(p.offset, errNotEntryArgs)
	}
	return nil
}

// saveArg notes that argument n of the function has to be saved at the entry. It
// returns the index among the saved words.
//
// Kernel: __store_entry_arg.
func (d *Definition) saveArg(n int) int {
	for i, saved := range d.entry {
		if saved == n {
			return i
		}
	}
	d.entry = append(d.entry, n)
	return len(d.entry) - 1
}
