package machine

// Request is a transfer between memory and a block device, as a driver gets it. It
// consists of bios of equal size that follow each other on the device.
//
// Kernel: struct request and struct bio, include/linux/blk-mq.h and blk_types.h.
type Request struct {
	Dev      uint32 // MKDEV(major, minor): the minor number has 20 bits
	Op       uint32 // Req…: operation and flags
	Sector   uint64 // of 512 bytes
	Bytes    uint32
	Bio      uint32 // how many bytes each bio has
	Priority uint16 // ioprio

	// When the request is issued, the device interrupts that CPU after Latency, by the
	// interrupt IRQ, whose handler has the name Handler.
	Latency Time
	IRQ     int
	Handler string
	Done    bool // the request is complete
}

// Operations and flags of a Request.
//
// Kernel: enum req_op and enum req_flag_bits, include/linux/blk_types.h.
const (
	ReqRead      = 0
	ReqWrite     = 1
	ReqOp        = 0xff // mask of the operation
	ReqSync      = 1 << 11
	ReqMeta      = 1 << 12
	ReqFUA       = 1 << 17
	ReqPreflush  = 1 << 18
	ReqReadahead = 1 << 19
)

// Block is the argument list of the events of the system block. Sector and Bytes are
// those of a bio or of the whole request, depending on the event.
type Block struct {
	ID       Event
	Request  *Request
	Sector   uint64
	Bytes    uint32
	Priority uint16
	Depth    int32 // block_unplug: how many requests
}

// Event implements Tracepoint.
func (a *Block) Event() Event { return a.ID }

// performBlock reports an event of the block layer. It is about the request of the
// stay, or of the interrupt, in which it happens. A request that is issued here
// interrupts c later.
func (c *CPU) performBlock(t *Task, a *activation, op *Op) {
	r := t.stay.Request
	if a.kind == actInterrupt {
		r = a.irq.Request
	}
	if r == nil {
		return
	}
	e := op.Event
	if c.on(e) {
		c.args.block = Block{ID: e, Request: r, Sector: r.Sector}
		b := &c.args.block
		switch e {
		case EvBlockBioQueue, EvBlockBackmerge, EvBlockGetrq, EvBlockIOStart, EvBlockDirtyBuffer:
			b.Sector, b.Bytes, b.Priority = r.Sector+uint64(op.Arg)*uint64(r.Bio)>>sectorShift, r.Bio, r.Priority
		case EvBlockRqIssue, EvBlockRqComplete:
			b.Bytes, b.Priority = r.Bytes, r.Priority
		case EvBlockUnplug:
			b.Depth = op.Arg
		}
		c.report(e, b)
	}
	switch e {
	case EvBlockRqIssue:
		c.Interrupt(Interrupt{At: c.Time + r.Latency, Kind: Device, IRQ: r.IRQ, Name: r.Handler, Request: r})
	case EvBlockRqComplete:
		r.Done = true
	}
}

const sectorShift = 9
