package output

import "strconv"

// Counts are the numbers in the header, for the buffers of all CPUs together.
type Counts struct {
	Entries uint64 // how many entries are in the buffers
	Written uint64 // how many were written, which includes the overwritten ones
}

// Latency is what the header of the latency format says about the longest latency. Most
// of it is zero if the buffer holds no latency.
//
// Kernel: struct trace_array_cpu, kernel/trace/trace.h.
type Latency struct {
	Release      string // uname -r
	Model        string // server, desktop, preempt, preempt_rt
	Microseconds uint64
	CPU          int
	Comm         string
	PID          int32
	UID          uint32
	Nice, Policy int64
	RTPriority   int64
	Start, End   uint64 // where the critical section begins and ends; Start 0: there is none
}

// AppendHeader appends what stands above the entries. Nothing may have been read from m
// yet; it tells whether there are any entries.
//
// Kernel: s_show, trace_default_header, kernel/trace/trace.c, and the
// print_header functions of the tracers.
func (p *Printer) AppendHeader(dst []byte, m *Merge, n Counts) []byte {
	dst = append(append(dst, "# tracer: "...), p.cfg.Tracer...)
	dst = append(dst, "\n#\n"...)
	o := p.cfg.Options
	if p.graph != nil {
		return p.appendGraphHeader(dst, m, n)
	}
	switch f := &p.form; {
	case f.classic && o&BlkClassic == 0:
		return dst
	case f.header != "":
		return append(dst, f.header...)
	}
	if o&ContextInfo == 0 {
		return dst
	}
	if o&LatencyFormat != 0 {
		if m.Empty() {
			return dst
		}
		dst = p.appendLatencyHeader(dst, n)
		if o&Verbose == 0 {
			dst = append(dst, latencyColumns...)
		}
		return dst
	}
	if o&Verbose != 0 {
		return dst
	}
	return p.appendColumns(dst, n)
}

// appendGraphHeader appends what stands above a call graph.
//
// Kernel: print_graph_headers_flags, kernel/trace/trace_functions_graph.c.
func (p *Printer) appendGraphHeader(dst []byte, m *Merge, n Counts) []byte {
	o := p.cfg.Options
	if o&ContextInfo == 0 {
		return dst
	}
	if o&LatencyFormat != 0 {
		if m.Empty() {
			return dst
		}
		dst = p.appendLatencyHeader(dst, n)
	}
	return p.graph.AppendHeader(dst)
}

// appendColumns appends the counts and the names of the columns.
//
// Kernel: print_event_info, print_func_help_header and
// print_func_help_header_irq.
func (p *Printer) appendColumns(dst []byte, n Counts) []byte {
	dst = strconv.AppendUint(append(dst, "# entries-in-buffer/entries-written: "...), n.Entries, 10)
	dst = strconv.AppendUint(append(dst, '/'), n.Written, 10)
	dst = strconv.AppendInt(append(dst, "   #P:"...), int64(p.cfg.CPUs), 10)
	dst = append(dst, "\n#\n"...)
	tgid := p.cfg.Options&RecordTGID != 0
	switch {
	case p.cfg.Options&IRQInfo != 0 && tgid:
		return append(dst, columnsIRQTGID...)
	case p.cfg.Options&IRQInfo != 0:
		return append(dst, columnsIRQ...)
	case tgid:
		return append(dst, columnsTGID...)
	}
	return append(dst, columns...)
}

// appendLatencyHeader appends the facts about the longest latency.
//
// Kernel: print_trace_header.
func (p *Printer) appendLatencyHeader(dst []byte, n Counts) []byte {
	l := &p.cfg.Latency
	str := func(s string) { dst = append(dst, s...) }
	num := func(v int64) { dst = strconv.AppendInt(dst, v, 10) }
	str("# " + p.cfg.Tracer + " latency trace v1.1.5 on " + l.Release + "\n")
	str("# --------------------------------------------------------------------\n")
	str("# latency: ")
	num(int64(l.Microseconds))
	str(" us, #")
	num(int64(n.Entries))
	str("/")
	num(int64(n.Written))
	str(", CPU#")
	num(int64(l.CPU))
	str(" | (M:" + l.Model + " VP:0, KP:0, SP:0 HP:0 #P:")
	num(int64(p.cfg.CPUs))
	str(")\n#    -----------------\n#    | task: " + l.Comm[:min(16, len(l.Comm))] + "-")
	num(int64(l.PID))
	str(" (uid:")
	num(int64(l.UID))
	str(" nice:")
	num(l.Nice)
	str(" policy:")
	num(l.Policy)
	str(" rt_prio:")
	num(l.RTPriority)
	str(")\n#    -----------------\n")
	if l.Start != 0 {
		str("#  => started at: ")
		dst = p.appendIP(dst, l.Start)
		str("\n#  => ended at:   ")
		dst = p.appendIP(dst, l.End)
		str("\n#\n")
	}
	str("#\n")
	return dst
}

const columns = `#           TASK-PID     CPU#     TIMESTAMP  FUNCTION
#              | |         |         |         |
`

const columnsTGID = `#           TASK-PID       TGID    CPU#     TIMESTAMP  FUNCTION
#              | |           |       |         |         |
`

const columnsIRQ = `#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
`

const columnsIRQTGID = `#                                          _-----=> irqs-off/BH-disabled
#                                         / _----=> need-resched
#                                        | / _---=> hardirq/softirq
#                                        || / _--=> preempt-depth
#                                        ||| / _-=> migrate-disable
#                                        |||| /     delay
#           TASK-PID       TGID    CPU#  |||||  TIMESTAMP  FUNCTION
#              | |           |       |   |||||     |         |
`

// latencyColumns has blanks at the ends of lines. A raw string would hide them.
const latencyColumns = "" +
	"#                    _------=> CPU#            \n" +
	"#                   / _-----=> irqs-off/BH-disabled\n" +
	"#                  | / _----=> need-resched    \n" +
	"#                  || / _---=> hardirq/softirq \n" +
	"#                  ||| / _--=> preempt-depth   \n" +
	"#                  |||| / _-=> migrate-disable \n" +
	"#                  ||||| /     delay           \n" +
	"#  cmd     pid     |||||| time  |   caller     \n" +
	"#     \\   /        ||||||  \\    |    /       \n"

const blkHeader = `# DEV   CPU TIMESTAMP     PID ACT FLG
#  |     |     |           |   |   |
`

const osnoiseHeader = `#                                _-----=> irqs-off
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable                         MAX
#                              |||| /     delay                                   SINGLE      Interference counters:
#                              |||||               RUNTIME      NOISE  %% OF CPU  NOISE    +-----------------------------+
#           TASK-PID      CPU# |||||   TIMESTAMP    IN US       IN US  AVAILABLE  IN US     HW    NMI    IRQ   SIRQ THREAD
#              | |         |   |||||      |           |             |    |            |      |      |      |      |      |
`

const timerlatHeader = `#                                _-----=> irqs-off
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#                              |||||            ACTIVATION
#           TASK-PID      CPU# |||||   TIMESTAMP   ID            CONTEXT                 LATENCY
#              | |         |   |||||      |         |                  |                       |
`
