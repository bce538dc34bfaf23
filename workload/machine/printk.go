package machine

// Printk is a call of trace_printk or trace_puts in a module's code.
type Printk struct {
	Kind PrintkKind
	Text string // the string or the format
	Args []any  // of a format: string, int32, uint32, uint64; of a PrintkText Pointer, too
	IP   uint64 // where it is called; 0: in the function that is being assembled
}

// Pointer is an argument that is printed as %p: as a hash.
type Pointer uint64

// PrintkKind says what the call was compiled to.
type PrintkKind uint8

const (
	// PrintkBputs keeps the address of a string that does not change.
	PrintkBputs PrintkKind = iota
	// PrintkBprintk keeps the address of a format that does not change, and its
	// arguments.
	PrintkBprintk
	// PrintkText keeps the text.
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
