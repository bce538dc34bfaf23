package probe

import "ftracelab/tracer/event"

// op is an instruction of a fetch program. A program loads a value, follows it
// through memory, stores it, and may then cut bits out of it or go on to the next
// element of an array.
//
//	+8(+0(%si)):string       opReg si; opDeref +0; opStoreString +8; opEnd
//	%dx:b4@2/32              opReg dx; opStoreRaw 4; opBitfield; opEnd
//	+0(%di):u8[4]            opReg di; opStoreMem +0, 1; opArray 4; opEnd
//
// Kernel: enum fetch_op, kernel/trace/trace_probe.h.
type op uint8

const (
	opNop op = iota // free: nothing was compiled here

	// Load.
	opReg          // register n
	opStack        // stack word n
	opStackPointer // the stack pointer
	opRetVal       // the return value
	opImm          // the number imm
	opComm         // the current task's name
	opArg          // argument n of the function
	opFileOffset   // where the byte imm of the file is mapped
	opData         // the string data
	opEntry        // word n of what was saved at the entry
	opSymbol       // nothing; the next one loads the address of the symbol data
	opField        // a field of the attached event

	// Follow: load the word at offset.
	opDeref
	opUserDeref

	// Store.
	opStoreRaw     // the value itself, size bytes
	opStoreMem     // size bytes at offset
	opStoreUserMem // the same of user memory
	opStoreString
	opStoreUserString
	opStoreSymString // the name of the symbol the value points to

	opBitfield // shift what was stored left, then right
	opArray    // again from the store on, until n elements are stored
	opEnd
)

// insn is one instruction.
//
// Kernel: struct fetch_insn.
type insn struct {
	op          op
	left, right uint8 // shifts of a bitfield
	size        uint8 // bytes that are stored; of a bitfield's container
	n           int   // register, stack word, argument, saved word, array elements
	offset      int32 // bytes that are added to an address
	imm         uint64
	data        string
	field       *event.Field
	kind        fieldKind // of the field
}

// maxInsns is the room for a program, opEnd included.
const maxInsns = 16

// program is a fetch program while it is compiled. It is filled from the front,
// and its last place is always opEnd.
type program struct {
	code [maxInsns]insn
	at   int // the instruction compiled last
}

func newProgram() *program {
	p := new(program)
	p.code[maxInsns-1].op = opEnd
	return p
}

func (p *program) now() *insn { return &p.code[p.at] }

// next goes to the next free place. It returns false if there is none.
func (p *program) next() bool {
	p.at++
	return p.now().op == opNop
}

// finish ends the program and returns its code.
func (p *program) finish() []insn {
	p.at++
	p.now().op = opEnd
	code := make([]insn, p.at+1)
	copy(code, p.code[:])
	return code
}
