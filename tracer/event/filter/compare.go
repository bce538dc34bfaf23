package filter

// test is the way a predicate looks at a record.
//
// Kernel: enum filter_pred_fn, kernel/trace/trace_events_filter.c.
type test uint8

const (
	testNever        test = iota // a field that cannot be compared like this
	testSigned                   // number with number
	testUnsigned                 //
	testNumberIn                 // number, a CPU, with a set
	testCurrentCPU               // CPU with number
	testCurrentCPUIn             // CPU with a set
	testMask                     // cpumask with a set
	testFunction                 // address with a function's
	testComm                     // texts
	testText                     //
	testDynamic                  //
	testRelative                 //
	testPointer                  //
	testUserPointer              //
)

// scalarTest returns t for a field that has the size of one of C's integers.
//
// Kernel: select_comparison_fn, kernel/trace/trace_events_filter.c.
func scalarTest(size int, t test) test {
	switch size {
	case 1, 2, 4, 8:
		return t
	}
	return testNever
}

func unsignedTest(size int) test { return scalarTest(size, testUnsigned) }

const (
	commSize = 16 // TASK_COMM_LEN

	// maxString is how much of a text outside of the record is looked at.
	//
	// Kernel: USTRING_BUF_SIZE, kernel/trace/trace_events_filter.c.
	maxString = 1024
)

// match makes the comparison.
//
// Kernel: filter_pred_fn_call, kernel/trace/trace_events_filter.c.
func (p *predicate) match(data []byte, ctx *Context, kernelStrings func(uint64) (string, bool)) bool {
	switch p.test {
	case testSigned:
		return compare(p.op, p.field.Int(data), int64(p.value))
	case testUnsigned:
		return compare(p.op, p.field.Uint(data), p.value)
	case testNumberIn:
		cpu := uint32(p.field.Uint(data))
		return uint64(cpu) < uint64(p.nrCPUs) && p.inSet(int(cpu))
	case testCurrentCPU:
		return p.op != opAnd && compare(p.op, int64(ctx.CPU), int64(p.value))
	case testCurrentCPUIn:
		return p.inSet(ctx.CPU)
	case testMask:
		return p.compareMask(cpuMask(p.located(data)))
	case testFunction:
		addr := p.field.Uint(data)
		return (addr >= p.value && addr < p.end) == (p.op == opEQ)
	case testComm:
		return matches(&p.pattern, ctx.Comm[:min(len(ctx.Comm), commSize-1)], commSize)
	case testText:
		return matches(&p.pattern, tail(data, p.field.Offset), p.field.Size)
	case testDynamic, testRelative:
		return matches(&p.pattern, p.located(data), int(p.field.Uint(data)>>16))
	case testPointer:
		return p.comparePointer(data, kernelStrings)
	case testUserPointer:
		return p.comparePointer(data, ctx.UserStrings)
	}
	return false
}

func compare[N int64 | uint64](o op, a, b N) bool {
	switch o {
	case opEQ:
		return a == b
	case opNE:
		return a != b
	case opLT:
		return a < b
	case opLE:
		return a <= b
	case opGT:
		return a > b
	case opGE:
		return a >= b
	}
	return a&b != 0
}

// inSet compares one CPU with the set. The set never has just one CPU, because
// such a set has become a number.
//
// Kernel: do_filter_scalar_cpumask, kernel/trace/trace_events_filter.c.
func (p *predicate) inSet(cpu int) bool {
	switch p.op {
	case opNE:
		return true
	case opAnd:
		return p.cpus.has(cpu)
	}
	return false
}

// compareMask compares a mask of the record with the set.
//
// Kernel: do_filter_cpumask, kernel/trace/trace_events_filter.c.
func (p *predicate) compareMask(mask cpuMask) bool {
	if p.op == opAnd {
		return mask.intersects(p.cpus, p.nrCPUs)
	}
	return mask.equal(p.cpus, p.nrCPUs) == (p.op == opEQ)
}

// located is the record from the place on that the field's location word points to.
func (p *predicate) located(data []byte) []byte {
	offset := int(p.field.Uint(data) & 0xffff)
	if p.test == testRelative {
		offset += p.field.Offset + p.field.Size
	}
	return tail(data, offset)
}

// comparePointer compares the text at the address that the field holds.
func (p *predicate) comparePointer(data []byte, memory func(uint64) (string, bool)) bool {
	if memory == nil {
		return false
	}
	s, ok := memory(p.field.Uint(data))
	if !ok {
		return false
	}
	s = s[:min(cLength(s), maxString-1)]
	return matches(&p.pattern, s, len(s)+1)
}

// tail is the record from offset on.
func tail(data []byte, offset int) []byte {
	if offset < 0 || offset >= len(data) {
		return nil
	}
	return data[offset:]
}
