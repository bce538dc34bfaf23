package filter

import "strings"

// Limits of an operand's length in bytes.
//
// Kernel: num_buf of parse_pred, kernel/trace/trace_events_filter.c;
// MAX_FILTER_STR_VAL, include/linux/trace_events.h.
const (
	maxNumber  = 24
	maxPattern = 256
)

// operand reads the value at p.at and chooses the test. The form of the value
// decides which fields and operators are allowed.
func (p *operandParser) operand() error {
	c := p.byte(p.at)
	switch {
	case p.function:
		return p.functionOperand()
	case p.typ.System == "ftrace" && p.typ.Name == "function":
		return p.ipOperand()
	case strings.HasPrefix(p.text[p.at:], "CPUS"):
		return p.cpusOperand()
	case c == '\'' || c == '"':
		return p.textOperand(c)
	case isDigit(c) || c == '-':
		return p.numberOperand()
	}
	return p.bad(msgInvalidValue, p.at)
}

// functionOperand reads an address or a name, which goes up to the next blank.
func (p *operandParser) functionOperand() error {
	switch {
	case p.pred.field.Size != 8:
		return p.bad(msgIllegalFieldOp, p.at)
	case !p.pred.op.isEquality():
		return p.bad(msgInvalidOp, p.at)
	}
	addr, err := p.functionAddress()
	if err != nil {
		return err
	}
	if p.env.Symbols == nil {
		return p.bad(msgNoFunction, p.at)
	}
	_, _, offset, size, ok := p.env.Symbols.Lookup(addr)
	if !ok {
		return p.bad(msgNoFunction, p.at)
	}
	p.pred.test = testFunction
	p.pred.value = addr - offset
	p.pred.end = p.pred.value + size
	return nil
}

func (p *operandParser) functionAddress() (uint64, error) {
	start := p.at
	if isDigit(p.byte(start)) {
		p.skipAlnum()
		digits := p.text[start:p.at]
		if len(digits) >= maxNumber {
			return 0, p.bad(msgOperandTooLong, p.at)
		}
		addr, ok := parseUnsigned(digits)
		if !ok {
			return 0, p.bad(msgInvalidValue, p.at)
		}
		return addr, nil
	}
	for p.at < len(p.text) && !isSpace(p.text[p.at]) {
		p.at++
	}
	if p.env.Symbols != nil {
		if addr, ok := p.env.Symbols.Address(p.text[start:p.at]); ok && addr != 0 {
			return addr, nil
		}
	}
	return 0, p.bad(msgNoFunction, p.at)
}

func (p *operandParser) skipAlnum() {
	for isAlnum(p.byte(p.at)) {
		p.at++
	}
}

// ipOperand reads the value of a predicate for ftrace:function: anything up to
// the closing quote, which stays unread as it does in the kernel, or without
// quotes up to the next ) & or |.
func (p *operandParser) ipOperand() error {
	if p.pred.field.Name != "ip" {
		return p.bad(msgIPFieldOnly, p.at)
	}
	start, ends := p.at, ")&|"
	if c := p.byte(p.at); c == '\'' || c == '"' {
		start, ends = p.at+1, p.text[p.at:p.at+1]
	}
	for p.at++; p.at < len(p.text) && strings.IndexByte(ends, p.text[p.at]) < 0; p.at++ {
	}
	p.at = min(p.at, len(p.text))
	if p.at-start >= maxPattern {
		return p.bad(msgOperandTooLong, p.at)
	}
	p.pred.test = testNever
	return nil
}

// cpusOperand reads CPUS{list}. A list of one CPU is the same as its number.
func (p *operandParser) cpusOperand() error {
	switch {
	case p.kind != CPUMask && p.kind != CPU && p.kind != Number,
		!p.pred.op.isEquality() && p.pred.op != opAnd:
		return p.bad(msgIllegalFieldOp, p.at)
	}
	p.at += len("CPUS")
	if p.byte(p.at) != '{' {
		return p.bad(msgMissingBraceOpen, p.at+1)
	}
	p.at++
	length := strings.IndexByte(p.text[p.at:], '}')
	if length < 0 {
		return p.bad(msgMissingBraceClose, len(p.text))
	}
	list := p.text[p.at : p.at+length]
	p.at += length
	mask, ok := parseCPUList(list, p.env.CPUs)
	if list == "" || !ok {
		return p.bad(msgInvalidCPUList, p.at)
	}
	p.at++
	p.pred.cpus = mask
	cpu, single := mask.single()
	p.pred.value = uint64(cpu)
	p.pred.test = p.cpusTest(single)
	if single && p.kind != CPUMask && p.pred.op == opAnd {
		p.pred.op = opEQ
	}
	return nil
}

func (p *operandParser) cpusTest(single bool) test {
	switch {
	case p.kind == CPUMask:
		return testMask
	case p.kind == CPU && single:
		return testCurrentCPU
	case p.kind == CPU:
		return testCurrentCPUIn
	case single:
		return unsignedTest(p.pred.field.Size)
	}
	return scalarTest(p.pred.field.Size, testNumberIn)
}

// textOperand reads a text in quotes. Nothing escapes a quote.
func (p *operandParser) textOperand(quote byte) error {
	switch {
	case !p.pred.op.isEquality() && p.pred.op != opGlob:
		return p.bad(msgIllegalFieldOp, p.at)
	case !p.kind.IsText():
		return p.bad(msgExpectDigit, p.at)
	}
	p.at++
	length := strings.IndexByte(p.text[p.at:], quote)
	if length < 0 {
		return p.bad(msgMissingQuote, len(p.text))
	}
	s := p.text[p.at : p.at+length]
	p.at += length
	if length >= maxPattern {
		return p.bad(msgOperandTooLong, p.at)
	}
	p.at++
	p.pred.pattern = newPattern(s, p.pred.op)
	p.pred.test = p.textTest()
	return nil
}

func (p *operandParser) textTest() test {
	switch {
	case p.kind == Comm:
		return testComm
	case p.kind == Text:
		return testText
	case p.kind == Dynamic:
		return testDynamic
	case p.kind == Relative:
		return testRelative
	case p.user:
		return testUserPointer
	}
	return testPointer
}

// numberOperand reads a number of the field's signedness.
func (p *operandParser) numberOperand() error {
	switch {
	case p.kind.IsText():
		return p.bad(msgExpectString, p.at)
	case p.pred.op == opGlob:
		return p.bad(msgIllegalFieldOp, p.at)
	}
	start := p.at
	if p.byte(p.at) == '-' {
		p.at++
	}
	p.skipAlnum()
	digits := p.text[start:p.at]
	if len(digits) >= maxNumber {
		return p.bad(msgOperandTooLong, p.at)
	}
	parse := parseUnsigned
	if p.pred.field.Signed {
		parse = parseSigned
	}
	value, ok := parse(digits)
	if !ok {
		return p.bad(msgIllegalIntval, start)
	}
	size := p.pred.field.Size
	switch {
	case p.kind == CPU:
		p.pred.test, p.pred.value = testCurrentCPU, uint64(int32(value))
	case p.pred.field.Signed:
		p.pred.test, p.pred.value = scalarTest(size, testSigned), signExtend(value, size)
	default:
		p.pred.test, p.pred.value = unsignedTest(size), truncate(value, size)
	}
	return nil
}
