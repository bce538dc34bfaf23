package output

import (
	"errors"

	"ftracelab/fgraph"
	"ftracelab/tracer/event"
)

// Config says what is printed and in which form. Types is required; everything else may
// be left out.
type Config struct {
	Tracer  string // current_tracer
	Options Options
	Graph   fgraph.Options // of function_graph

	Types   Types
	Symbols event.Symbols           // nil: addresses stay numbers
	HashPtr func(ptr uint64) uint64 // %p; nil: the pointer itself
	// NoPtrKey says that the kernel had no key for that hash yet; %p is then
	// (____ptrval____).
	NoPtrKey bool
	// Comm gives the name that saved_cmdlines has for a task, which may be empty, or <...>
	// if it has none. nil: <...> for all of them.
	Comm func(pid int32) string
	TGID func(pid int32) int32 // saved_tgids; nil or 0: unknown
	// NamesStay promises that Comm and TGID give the same answer for a task each time.
	NamesStay bool
	// String gives the kernel string at an address (printk_formats), for entries that
	// hold only the address of a format.
	String func(addr uint64) (string, bool)

	// UserFile gives the mapped file that holds a user address, and where its mapping
	// starts, for sym-userobj; nil or "": not known.
	UserFile func(tgid int32, ip uint64) (path string, start uint64)

	// ProbedEvent gives the event to which an eprobe is attached, as SYSTEM.EVENT; nil
	// or "": the type is no eprobe.
	ProbedEvent func(t *event.Type) string

	HZ           uint64 // jiffies in a second; 0: not known
	CPUs         int    // how many CPUs are online: the header's #P
	PossibleCPUs int    // nr_cpu_ids; 0: as many as CPUs
	CounterClock bool   // times are not nanoseconds (trace_clock counter, uptime, x86-tsc)
	TimeStart    uint64 // when the buffer was last reset, for times relative to it
	Overrun      bool   // the buffer has lost entries: a line then says where each CPU's entries begin
	// IRQStart and IRQEnd are where the interrupt entry code begins and ends, which the
	// call graph marks.
	IRQStart, IRQEnd uint64
	// TrampolineText stands in a stack for the addresses of ftrace's own trampolines;
	// "": [FTRACE TRAMPOLINE].
	TrampolineText string

	Latency Latency // for the header of the latency format
}

// Types finds the type of a record by its common_type; nil if there is none. An
// *event.Table does that.
type Types interface {
	ByID(id int) *event.Type
}

// Printer prints one reading of a trace file. It is not safe for concurrent use.
//
// Kernel: struct trace_iterator.
type Printer struct {
	cfg     Config
	env     event.Env
	graph   *fgraph.Text // the call graph; nil if the text is none
	alone   *fgraph.Text // prints the records of function_graph among others
	shapes  []*shape     // by event id
	started []bool       // the CPUs of which an entry was printed
	form    form         // the form of the tracer
	index   int          // how many entries were printed before this one; -1 before the first

	names, calls textCache        // names: of addresses, by the form of the name; calls: of function entries
	contexts     [256]contextText // the index is made of some bits of task, CPU and flags
	second       uint64           // when the second of the time printed last began, in microseconds

	start int  // where the entry begins in the caller's buffer
	full  bool // the entry did not fit into the kernel's line buffer

	rec     record // the present entry; kept here so that nothing is allocated
	saved   []byte // a copy of a record's data, which has to survive a peek
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
	p.env = event.Env{HZ: cfg.HZ, Strings: cfg.String, Symbols: cfg.Symbols, AppendSymbol: p.appendSymbolText}
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

// comm gives the name of a task in the text.
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
		return p.cfg.Comm(pid)
	}
	return "<...>"
}

// AppendNext appends the text of the next entry, after the lines that announce it, and
// reports whether there was an entry. An entry may have several lines, or none. A leaf
// of the call graph uses up two records.
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

	if r.shape.kind == fnReturn {
		return p.appendFnReturn(dst, r)
	}
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

// appendLost appends the line that says that events were lost before the next one.
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

// save copies r's data, so that it stays valid when the reader goes on.
func (p *Printer) save(r *record) {
	p.saved = append(p.saved[:0], r.Data...)
	r.Data = p.saved
}

// appendStarted appends the line that says that the entries of a CPU begin here: its
// older ones were overwritten, while other CPUs still have theirs.
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

// maxCPUs limits the memory that a damaged CPU number can cost.
const maxCPUs = 8192
