package fgraph

import (
	"strconv"

	"ftracelab/tracer/event"
)

// Options select the columns of the call-graph text.
type Options uint32

// The options of the function_graph tracer that concern text.
const (
	Overrun   Options = 1 << iota // funcgraph-overrun: a line with the stack's overrun after each return
	ShowCPU                       // funcgraph-cpu
	Overhead                      // funcgraph-overhead: the mark before a duration
	Proc                          // funcgraph-proc: task and pid
	Duration                      // funcgraph-duration
	AbsTime                       // funcgraph-abstime
	RelTime                       // time since the buffer's start: the latency tracers' form
	IRQs                          // funcgraph-irqs: show functions called from interrupts
	Tail                          // funcgraph-tail: the name after each closing brace
	Retval                        // funcgraph-retval
	RetvalHex                     // funcgraph-retval-hex

	DefaultOptions = ShowCPU | Overhead | Duration | IRQs
)

// enterFuncs is the depth down to which the text remembers which function a brace
// opened.
//
// Kernel: FTRACE_RETFUNC_DEPTH, include/linux/ftrace.h.
const enterFuncs = 50

// maxIndent bounds the blanks before a function: more would not fit into the
// kernel's line buffer either.
const maxIndent = 8156

// TextConfig configures a Text. Symbol, Comm and Flags are required.
type TextConfig struct {
	Options Options
	// NoContext leaves out all columns but the function (nocontext-info).
	NoContext bool
	// Latency adds the five flag characters (latency-format).
	Latency bool
	// PossibleCPUs decides the width of the CPU column (nr_cpu_ids).
	PossibleCPUs int
	// TimeStart is the buffer's start in ns, for RelTime.
	TimeStart uint64
	// IRQStart and IRQEnd bound the interrupt entry code (__irqentry_text_start
	// and _end); both 0 if unknown.
	IRQStart, IRQEnd uint64
	// Stateless prints each record by itself, without switch banners and
	// without matching braces, as when function_graph is not the tracer.
	Stateless bool

	Symbol func(dst []byte, addr uint64) []byte    // as %ps prints it
	Comm   func(pid int32) string                  // as saved_cmdlines knows it
	Flags  func(dst []byte, c event.Common) []byte // irqs-off … migrate-disable
}

// Text prints funcgraph_entry and funcgraph_exit records, and other events as
// comments between them, as an indented call graph. It remembers per CPU which
// task ran last, how deep it was and which functions are open, so the records
// must come in order, and each new reading needs a new Text.
//
// Kernel: print_graph_function_flags and struct fgraph_data,
// kernel/trace/trace_functions_graph.c.
type Text struct {
	cfg   TextConfig
	width int // digits of the CPU column
	cpus  []cpuText
}

// cpuText is what Text remembers of a CPU.
//
// Kernel: struct fgraph_cpu_data.
type cpuText struct {
	pid     int32 // of the task that ran last
	started bool  // pid is valid
	depth   int   // where comments go
	inIRQ   bool  // hidden interrupt code is running
	irqFrom int   // depth of its first function
	enter   [enterFuncs]uint64
}

// NewText returns the text of one reading.
func NewText(cfg TextConfig) *Text {
	t := &Text{cfg: cfg, width: 1}
	for n := cfg.PossibleCPUs - 1; n >= 10; n /= 10 {
		t.width++
	}
	return t
}

// Line says where and when a record was written.
type Line struct {
	CPU    int
	Time   uint64 // ns
	Common event.Common
}

// CallRecord is a funcgraph_entry record.
type CallRecord struct {
	Func  uint64
	Depth int32
}

// RetRecord is a funcgraph_exit record.
type RetRecord struct {
	Func, Retval      uint64
	Calltime, Rettime uint64 // ns
	Depth             int32
	Overrun           uint32
}

// maxCPUs bounds the memory that a damaged CPU number can cost.
const maxCPUs = 8192

// cpu returns what Text remembers of a CPU; it is nil if Text is stateless or
// the number is impossible.
func (t *Text) cpu(n int) *cpuText {
	if t.cfg.Stateless || n < 0 || n >= maxCPUs {
		return nil
	}
	for len(t.cpus) <= n {
		t.cpus = append(t.cpus, cpuText{})
	}
	return &t.cpus[n]
}

// Call appends the line of a function being entered. next is the record that
// follows on the same CPU if that is a funcgraph_exit by pid nextPID, and nil
// otherwise. If it is this call's own return, the two make one line (a leaf);
// leaf is then true, and the caller skips next.
//
// Kernel: print_graph_entry.
func (t *Text) Call(dst []byte, l Line, call CallRecord, next *RetRecord, nextPID int32) (_ []byte, leaf bool) {
	cpu := t.cpu(l.CPU)
	if t.hidesCall(cpu, call) {
		return dst, false
	}
	dst = t.banner(dst, cpu, l)
	dst = t.irqArrow(dst, l, call.Func, "==========>")
	dst = t.context(dst, l)

	if leaf = next != nil && nextPID == l.Common.PID && next.Func == call.Func; leaf {
		cpu.open(call, 0, int(call.Depth)-1)
		dst = t.duration(dst, next.Rettime-next.Calltime)
		dst = indent(dst, call.Depth)
		if t.cfg.Options&Retval != 0 {
			dst = t.cfg.Symbol(dst, call.Func)
			dst = append(dst, "(); /* = "...)
			dst = append(t.retval(dst, next.Retval), " */\n"...)
		} else {
			dst = append(t.cfg.Symbol(dst, call.Func), "();\n"...)
		}
		return t.irqArrow(dst, l, next.Func, "<=========="), true
	}
	cpu.open(call, call.Func, int(call.Depth))
	dst = t.fill(dst)
	dst = indent(dst, call.Depth)
	return append(t.cfg.Symbol(dst, call.Func), "() {\n"...), false
}

// open notes that fn waits for its brace at call's depth, and where comments go
// from here on.
func (cpu *cpuText) open(call CallRecord, fn uint64, depth int) {
	if cpu == nil {
		return
	}
	cpu.depth = depth
	if call.Depth >= 0 && call.Depth < enterFuncs {
		cpu.enter[call.Depth] = fn
	}
}

// Return appends the line of a function's return.
//
// Kernel: print_graph_return.
func (t *Text) Return(dst []byte, l Line, r RetRecord) []byte {
	cpu := t.cpu(l.CPU)
	if t.hidesReturn(cpu, r) {
		return dst
	}
	match := true
	if cpu != nil {
		if r.Depth >= 0 && r.Depth < enterFuncs {
			match = cpu.enter[r.Depth] == r.Func
		}
		cpu.open(CallRecord{Depth: r.Depth}, 0, int(r.Depth)-1)
	}
	dst = t.banner(dst, cpu, l)
	dst = t.context(dst, l)
	dst = t.duration(dst, r.Rettime-r.Calltime)
	dst = indent(dst, r.Depth)
	switch {
	case t.cfg.Options&Retval != 0:
		dst = t.cfg.Symbol(append(dst, "} /* "...), r.Func)
		dst = append(t.retval(append(dst, " = "...), r.Retval), " */\n"...)
	case match && t.cfg.Options&Tail == 0:
		dst = append(dst, "}\n"...)
	default:
		dst = append(t.cfg.Symbol(append(dst, "} /* "...), r.Func), " */\n"...)
	}
	if t.cfg.Options&Overrun != 0 {
		dst = append(dst, " (Overruns: "...)
		dst = append(strconv.AppendUint(dst, uint64(r.Overrun), 10), ")\n"...)
	}
	return t.irqArrow(dst, l, r.Func, "<==========")
}

// BeginComment appends the beginning of a comment line; the caller appends the
// event's text and calls EndComment.
//
// Kernel: print_graph_comment.
func (t *Text) BeginComment(dst []byte, l Line) []byte {
	cpu := t.cpu(l.CPU)
	dst = t.banner(dst, cpu, l)
	dst = t.context(dst, l)
	dst = t.fill(dst)
	if cpu != nil && cpu.depth > 0 {
		dst = indent(dst, int32(cpu.depth)+1)
	}
	return append(dst, "/* "...)
}

// EndComment ends a comment line. It first removes one newline at the end of
// the text.
func (t *Text) EndComment(dst []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] == '\n' {
		dst = dst[:n-1]
	}
	return append(dst, " */\n"...)
}

func (t *Text) isIRQ(fn uint64) bool { return fn >= t.cfg.IRQStart && fn < t.cfg.IRQEnd }

// hidesCall reports whether a call belongs to interrupt code that is not shown.
//
// Kernel: check_irq_entry.
func (t *Text) hidesCall(cpu *cpuText, call CallRecord) bool {
	if t.cfg.Options&IRQs != 0 || cpu == nil {
		return false
	}
	if cpu.inIRQ {
		return true
	}
	if !t.isIRQ(call.Func) {
		return false
	}
	cpu.inIRQ, cpu.irqFrom = true, int(call.Depth)
	return true
}

// hidesReturn does the same for a return. The return at the depth of the first hidden
// call ends the hiding; if that return was lost, a return further out ends it.
//
// Kernel: check_irq_return.
func (t *Text) hidesReturn(cpu *cpuText, r RetRecord) bool {
	if t.cfg.Options&IRQs != 0 || cpu == nil || !cpu.inIRQ {
		return false
	}
	if cpu.irqFrom >= int(r.Depth) {
		cpu.inIRQ = false
	}
	return true
}
