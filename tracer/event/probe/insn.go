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
	opNop op = iota // a free place: nothing was compiled here

	// Load.
	opReg          // register n
	opStack        // stack word n
	opStackPointer // the stack pointer
	opRetVal       // the return value
	opImm          // the number imm
	opComm         // the current task's name
	opArg          // argument n of the function
	opFileOffset   // the address at which byte imm of the file is mapped
	opData         // the string data
	opEntry        // word n of what was saved at the entry
	opSymbol       // nothing yet: the next instruction loads the address of the symbol data
	opField        // a field of the attached event

	// Follow: load the word at the address plus offset.
	opDeref
	opUserDeref

	// Store.
	opStoreRaw     // store the value itself, size bytes
	opStoreMem     // store size bytes of memory, at the address plus offset
	opStoreUserMem // store size bytes of user memory
	opStoreString
	opStoreUserString
	opStoreSymString // the name of the symbol the value points to

	opBitfield // shift what was stored left, then right
	opArray    // go back to the store, until n elements are stored
	opEnd
)

// insn is one instruction.
//
// Kernel: struct fetch_insn.
type insn struct {
	op          op
	left, right uint8 // shifts of a bitfield
	size        uint8 // how many bytes are stored; for a bitfield, the bytes of its container
	n           int   // number of a register, stack word, argument or saved word; or how many elements
	offset      int32 // how many bytes are added to an address
	imm         uint64
	data        string
	field       *event.Field
	kind        fieldKind // how the field is loaded
}

// maxInsns is how many instructions a program may have, opEnd included.
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
