package probe

// Source is what a probe reads at the moment it is hit. A probe never asks for what its
// kind does not have, such as registers at an event; embed [None] for that.
//
// The strings and slices that it returns stay its own. They are not used any more after
// Append has returned.
type Source interface {
	// Reg is register n, an index of [Registers].
	Reg(n int) uint64

	// StackPointer is $stack.
	StackPointer() uint64

	// Stack is $stackN, the n-th word from the stack pointer; 0 if that lies beyond the
	// end of the stack.
	Stack(n int) uint64

	// Arg is the n-th argument of the function or tracepoint, from 0.
	Arg(n int) uint64

	// RetVal is what the function returns.
	RetVal() uint64

	// Comm is the name of the current task.
	Comm() string

	// Kernel copies kernel memory at addr to dst, as far as it can be read, and returns
	// how many bytes that was. It does not keep dst.
	Kernel(dst []byte, addr uint64) int

	// User does the same with the memory of the current task.
	User(dst []byte, addr uint64) int

	// AppendSymbol appends "name+0x12/0x340", as sprint_symbol does, or the address in
	// hex if there is no symbol.
	AppendSymbol(dst []byte, addr uint64) []byte

	// FileAddr is the address at which the byte at an offset of the probed file is
	// mapped.
	FileAddr(offset uint64) uint64

	// Record is the record of the event to which an event probe is attached, common
	// header included.
	Record() []byte
}

// None is a source that has nothing: it gives zeros and faults. It serves to be
// embedded.
type None struct{}

func (None) Reg(int) uint64                { return 0 }
func (None) StackPointer() uint64          { return 0 }
func (None) Stack(int) uint64              { return 0 }
func (None) Arg(int) uint64                { return 0 }
func (None) RetVal() uint64                { return 0 }
func (None) Comm() string                  { return "" }
func (None) Kernel([]byte, uint64) int     { return 0 }
func (None) User([]byte, uint64) int       { return 0 }
func (None) FileAddr(offset uint64) uint64 { return offset }
func (None) Record() []byte                { return nil }

// AppendSymbol knows no symbol.
func (None) AppendSymbol(dst []byte, addr uint64) []byte {
	return appendHex(dst, addr)
}

func appendHex(dst []byte, v uint64) []byte {
	dst = append(dst, "0x"...)
	shift := 60
	for shift > 0 && v>>shift == 0 {
		shift -= 4
	}
	for ; shift >= 0; shift -= 4 {
		dst = append(dst, "0123456789abcdef"[v>>shift&15])
	}
	return dst
}

// Registers are the names of the registers, which a definition writes as %NAME, in the
// order of struct pt_regs.
//
// Kernel: regoffset_table, arch/x86/kernel/ptrace.c.
var Registers = [...]string{
	"r15", "r14", "r13", "r12", "bp", "bx", "r11", "r10", "r9", "r8", "ax", "cx",
	"dx", "si", "di", "orig_ax", "ip", "cs", "flags", "sp", "ss",
}
