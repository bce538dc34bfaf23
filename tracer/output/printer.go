package output

import (
	"errors"

	"ftracelab/fgraph"
	"ftracelab/tracer/event"
)

// Config says what is read and how it is to look. Types is required.
type Config struct {
	Tracer  string // current_tracer
	Options Options
	Graph   fgraph.Options // of function_graph

	Types   Types
	Symbols event.Symbols           // nil: addresses stay numbers
	HashPtr func(ptr uint64) uint64 // %p; nil: the pointer itself
	// NoPtrKey is a kernel without a key for that yet: %p is (____ptrval____).
	NoPtrKey bool
	Comm     func(pid int32) string // saved_cmdlines; nil or "": <...>
	TGID     func(pid int32) int32  // saved_tgids; nil or 0: unknown
	// NamesStay promises that Comm and TGID answer the same for a task each time.
	NamesStay bool
	// String is the kernel string at an address (printk_formats), for entries
	// that hold only the address of a format.
	String func(addr uint64) (string, bool)

	// UserFile is the mapped file that holds a user address, and where its mapping
	// starts, for sym-userobj; nil or "": not known.
	UserFile func(tgid int32, ip uint64) (path string, start uint64)

	// ProbedEvent is the event an eprobe sits on, SYSTEM.EVENT; nil or "" for types
	// that are no eprobes.
	ProbedEvent func(t *event.Type) string

	CPUs         int    // CPUs that are online, the header's #P
	PossibleCPUs int    // nr_cpu_ids; 0 is CPUs
	CounterClock bool   // time is not in ns (trace_clock counter, uptime, x86-tsc)
	TimeStart    uint64 // when the buffer was last reset, for times relative to it
	Overrun      bool   // the buffer has lost entries; says when each CPU's begin
	// IRQStart and IRQEnd bound the interrupt entry code in the call graph.
	IRQStart, IRQEnd uint64
	// TrampolineText replaces the addresses of ftrace's own trampolines in a
	// stack; "" is [FTRACE TRAMPOLINE].
	TrampolineText string

	Latency Latency // for the header of the latency format
}

// Types finds the type of a record by its common_type; nil if there is none. An
// *event.Table is one.
type Types interface {
	ByID(id int) *event.Type
}

// Printer prints one reading of a trace file. It is not safe for concurrent use.
//
// Kernel: struct trace_iterator.
type Printer struct {
	cfg     Config
	env     event.Env
	graph   *fgraph.Text // the call graph, when it is the tracer's form
	alone   *fgraph.Text // graph records among others
	shapes  []*shape     // by event id
	started []bool       // CPUs of which an entry was printed
	form    form         // the tracer's
	index   int          // of the entry in the reading, -1 before the first

	names, calls textCache        // of addresses by their form, and of function entries
	contexts     [256]contextText // by some bits of task, CPU and flags
	second       uint64           // of the last time, when it began, in microseconds

	start int  // of the entry in the caller's buffer
	full  bool // the entry did not fit into the kernel's line buffer

	rec     record // the entry, kept here so that none is allocated
	saved   []byte // a copy of a record that must survive a peek
	scratch []byte
}

// New returns a printer for one reading.
func New(cfg Config) (*Printer, error) {
	if cfg.Types == nil {
		return nil, errors.New("output: Config.Types is missing")
	}
	if cfg.PossibleCPUs == 0 {
		cfg.PossibleCPUs = max(1, cfg.CPUs)
	}
	if cfg.TrampolineText == "" {
		cfg.TrampolineText = "[FTRACE TRAMPOLINE]"
	}
	p := &Printer{cfg: cfg, form: forms[cfg.Tracer], index: -1}
	p.env = event.Env{Strings: cfg.String, Symbols: cfg.Symbols, AppendSymbol: p.appendSymbolText}
	if cfg.Options&HashPtr != 0 {
		p.env.HashPtr, p.env.NoPtrKey = cfg.HashPtr, cfg.NoPtrKey
	}
	text := fgraph.TextConfig{
		Options:      cfg.Graph,
		NoContext:    cfg.Options&ContextInfo == 0,
		Latency:      cfg.Options&LatencyFormat != 0,
		PossibleCPUs: cfg.PossibleCPUs,
		TimeStart:    cfg.TimeStart,
		IRQStart:     cfg.IRQStart,
		IRQEnd:       cfg.IRQEnd,
		Symbol:       p.appendFunc,
		Comm:         p.comm,
		Flags:        AppendFlags,
	}
	switch {
	case p.form.graph:
		p.graph = fgraph.NewText(text)
	case cfg.Options&DisplayGraph != 0 && p.form.latency != 0:
		text.Options = p.form.latency
		p.graph = fgraph.NewText(text)
	}
	text.Stateless = true
	p.alone = fgraph.NewText(text)
	return p, nil
}

// comm names a task as the trace does.
//
// Kernel: trace_find_cmdline, kernel/trace/trace_sched_switch.c.
func (p *Printer) comm(pid int32) string {
	switch {
	case pid == 0:
		return "<idle>"
	case pid < 0:
		return "<XXX>"
	}
	if p.cfg.Comm != nil {
		if comm := p.cfg.Comm(pid); comm != "" {
			return comm
		}
	}
	return "<...>"
}

// AppendNext appends the text of the next entry, with what announces it, and
// reports whether there was one. An entry may have several lines, or none: a
// leaf of the call graph takes two records.
//
// Kernel: s_show and print_trace_line, kernel/trace/trace.c.
func (p *Printer) AppendNext(dst []byte, m *Merge) ([]byte, bool) {
	reader, ok := m.next(&p.rec.Entry)
	if !ok {
		return dst, false
	}
	p.index++
	p.start, p.full = len(dst), false
	dst = p.appendEntry(dst, m, reader)
	return p.limit(dst), true
}

// record is an entry on its way through the printer.
type record struct {
	Entry
	common event.Common
	shape  *shape
}

// appendEntry appends the entry that is in p.rec.
func (p *Printer) appendEntry(dst []byte, m *Merge, reader int) []byte {
	r := &p.rec
	if r.Lost != 0 {
		dst = appendLost(dst, r.CPU, r.Lost)
	}
	r.common = event.ParseCommon(r.Data)
	r.shape = p.shapeOf(int(r.common.Type))

	if p.graph != nil && r.shape.kind != stackEntry && r.shape.kind != functionEntry {
		return p.appendGraph(dst, r, m, reader)
	}
	if p.form.mmio {
		return p.appendMMIO(dst, r)
	}
	o := p.cfg.Options
	if r.shape.kind == blkEntry && o&BlkClassic != 0 && p.form.classic {
		return p.appendBlk(dst, r)
	}
	if o&TracePrintk != 0 && o&PrintkMsgOnly != 0 && r.shape.isPrintk() {
		return p.appendMessage(dst, r)
	}
	switch {
	case o&Bin != 0:
		return p.appendBin(dst, r)
	case o&Hex != 0:
		return p.appendHex(dst, r)
	case o&Raw != 0:
		return p.appendRaw(dst, r)
	}
	return p.appendLine(dst, r, m, reader)
}

// appendLost appends the line that says events were lost before the next one.
func appendLost(dst []byte, cpu int, lost uint64) []byte {
	dst = paddedInt(append(dst, "CPU:"...), int64(cpu), 0)
	if lost == ^uint64(0) {
		return append(dst, " [LOST EVENTS]\n"...)
	}
	dst = padded(append(dst, " [LOST "...), lost, 0)
	return append(dst, " EVENTS]\n"...)
}

// appendLine appends an entry in the default, verbose or latency form.
//
// Kernel: print_trace_fmt, kernel/trace/trace.c.
func (p *Printer) appendLine(dst []byte, r *record, m *Merge, reader int) []byte {
	dst = p.appendStarted(dst, r.CPU)
	o := p.cfg.Options
	if o&ContextInfo != 0 {
		if o&LatencyFormat != 0 {
			p.save(r)
			dst = p.appendLatencyContext(dst, r, m)
		} else {
			dst = p.appendContext(dst, r)
		}
	}
	if r.shape.kind == unknownEntry {
		dst = padded(append(dst, "Unknown type "...), uint64(r.common.Type), 0)
		return append(dst, '\n')
	}
	if o&Fields != 0 {
		return p.appendFields(dst, r)
	}
	return p.appendText(dst, r, m, reader)
}

// save makes r's data independent of the reader it came from.
func (p *Printer) save(r *record) {
	p.saved = append(p.saved[:0], r.Data...)
	r.Data = p.saved
}

// appendStarted tells that the entries of a CPU begin here: its older ones were
// overwritten while other CPUs still have theirs.
//
// Kernel: test_cpu_buff_start, kernel/trace/trace.c.
func (p *Printer) appendStarted(dst []byte, cpu int) []byte {
	if !p.cfg.Overrun || p.cfg.Options&Annotate == 0 || cpu < 0 || cpu >= maxCPUs {
		return dst
	}
	for len(p.started) <= cpu {
		p.started = append(p.started, false)
	}
	if p.started[cpu] {
		return dst
	}
	p.started[cpu] = true
	if p.index <= 1 {
		return dst
	}
	dst = padded(append(dst, "##### CPU "...), uint64(cpu), 0)
	return append(dst, " buffer started ####\n"...)
}

// maxCPUs bounds what a damaged CPU number can cost.
const maxCPUs = 8192
