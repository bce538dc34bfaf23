package machine

// Printk is a call of trace_printk or trace_puts in a module's code.
type Printk struct {
	Kind PrintkKind
	Text string // the string or the format
	Args []any  // the arguments of a format: string, int32, uint32, uint64; for a PrintkText also Pointer
	IP   uint64 // the address of the call; 0: it is in the function that is being assembled
}

// Pointer is an argument that is printed with %p, that is, as a hash.
type Pointer uint64

// PrintkKind says to what the call was compiled.
type PrintkKind uint8

const (
	// PrintkBputs records the address of a constant string.
	PrintkBputs PrintkKind = iota
	// PrintkBprintk records the address of a constant format, and the arguments.
	PrintkBprintk
	// PrintkText records the formatted text.
	PrintkText
)

// Printk adds a call of trace_printk or trace_puts.
func (a *Assembler) Printk(p Printk) *Assembler {
	const callAt = 0x1c // somewhere in the function
	if n := len(a.stack); p.IP == 0 && n > 0 {
		p.IP = a.stack[n-1] + callAt
	}
	a.Printks = append(a.Printks, p)
	return a.add(Op{Kind: OpPrintk, Arg: int32(len(a.Printks) - 1)})
}
