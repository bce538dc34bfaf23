package machine

// Request is a transfer between memory and a block device: what a driver gets. It is
// put together of bios of one size that lie one behind the other.
//
// Kernel: struct request and struct bio, include/linux/blk-mq.h and blk_types.h.
type Request struct {
	Dev      uint32 // MKDEV(major, minor): the minor number has 20 bits
	Op       uint32 // Req…: operation and flags
	Sector   uint64 // of 512 bytes
	Bytes    uint32
	Bio      uint32 // bytes of each bio
	Priority uint16 // ioprio

	// When it is issued, the device interrupts that CPU Latency later by IRQ, whose
	// handler's name is Handler.
	Latency Time
	IRQ     int
	Handler string
	Done    bool // it was completed
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

// Block is the events of the block system; Sector and Bytes are those of the bio in
// question or of the whole request.
type Block struct {
	ID       Event
	Request  *Request
	Sector   uint64
	Bytes    uint32
	Priority uint16
	Depth    int32 // block_unplug: how many requests
}

// TracepointName implements Tracepoint.
func (a *Block) Event() Event { return a.ID }

// performBlock reports an event of the block layer about the request of the stay or
// interrupt that it happens in. What is issued will interrupt c.
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
