package machine

// Happening is an event of a subsystem that the machine does not model: a file system,
// the network, the reclaim of memory. It happens where the code of a learned activity
// has an OpLearned, with the arguments that it had in a capture. Those that depend on
// the moment or on the task are computed.
type Happening struct {
	Name   string     // "system:event"
	Values []Quantity // the fields of its record, in their order
	// Raises is 1 more than the index in Kernel.Pieces of the interrupt that follows from
	// the event; 0: none does.
	Raises int32
}

// Quantity is an argument of a Happening.
type Quantity struct {
	Kind  QuantityKind
	Word  uint64
	Bytes []byte // QuantityBytes: characters or an array
}

// QuantityKind says how an argument is found.
type QuantityKind uint8

const (
	QuantityWord    QuantityKind = iota // Word
	QuantityBytes                       // Bytes
	QuantityComm                        // the name of the current task
	QuantityPID                         // the pid of the current task
	QuantityTime                        // Word ns after the event
	QuantityJiffies                     // Word ticks after the event
	QuantityRound                       // Word, and Stay.Round more
	QuantityCPU                         // the number of the CPU
	QuantityCaller                      // the address to which the innermost function returns
)

// Piece is the code of an interrupt that a Happening raises.
type Piece struct {
	Code    Code
	After   Time // from the event to the interrupt
	IRQ     int
	Handler string
}

// Said is a Happening as it happens: what Hooks.Learned gets. It is valid during the
// call only.
type Said struct {
	*Happening
	cpu *CPU
}

// Value gives the argument n as a number; for characters it is 0.
func (s Said) Value(n int) uint64 {
	q, c := &s.Values[n], s.cpu
	switch q.Kind {
	case QuantityPID:
		return uint64(c.Current.PID)
	case QuantityCPU:
		return uint64(c.ID)
	case QuantityTime:
		return c.Time + q.Word
	case QuantityJiffies:
		return c.Jiffies() + q.Word
	case QuantityRound:
		return q.Word + c.Current.stay.Round
	case QuantityCaller:
		fs := c.Current.frames
		for n := len(fs) - 1; n >= 0; n-- {
			if fs[n].orig != 0 { // a function that was jumped to returns to its caller's caller
				return fs[n].orig
			}
		}
	}
	return q.Word
}

// Text appends the argument n to dst if it is characters or an array, and says whether
// it is.
func (s Said) Text(dst []byte, n int) ([]byte, bool) {
	switch q := &s.Values[n]; q.Kind {
	case QuantityBytes:
		return append(dst, q.Bytes...), true
	case QuantityComm:
		return append(dst, s.cpu.Current.Comm...), true
	}
	return dst, false
}

// performLearned reports a Happening and raises its interrupt.
func (c *CPU) performLearned(op *Op) {
	h := &c.m.kernel.Happenings[op.Arg]
	if c.m.Hooks.Learned != nil && c.m.learned[h.Name] {
		c.m.Hooks.Learned(c, Said{h, c})
	}
	if h.Raises > 0 {
		p := &c.m.kernel.Pieces[h.Raises-1]
		c.Interrupt(Interrupt{At: c.Time + p.After, Kind: Device, IRQ: p.IRQ, Name: p.Handler, Piece: h.Raises})
	}
}
