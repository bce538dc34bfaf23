package golden

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"ftracelab/capture"
	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/output"
)

// Rebuild makes a folder in scratch with pages for a capture whose texts do not show
// its own pages (NoPair). The entries are read from trace.txt and trace.raw.txt. A call
// graph has no raw form, so its entries are read from trace.txt alone, and the time
// from a stack to the next entry from trace.verbose.txt. Nothing else is taken from the
// other forms of text.
//
// A call graph has times in whole µs and no flags for returns, and a stack has only the
// names of its functions. The missing parts are made up in such a way that they print
// the same.
func (c *Capture) Rebuild(scratch string) error {
	text, err := ReadFile(filepath.Join(c.Dir, "trace.txt"))
	if err != nil {
		return err
	}
	raw, err := ReadFile(filepath.Join(c.Dir, "trace.raw.txt"))
	if err != nil {
		return err
	}
	symbols, err := ReadFile(filepath.Join(c.Kernel, "static", "kallsyms.txt"))
	if err != nil {
		return err
	}
	r := rebuilder{symbols: addresses(symbols), raw: rawEntries(raw), calls: map[int][]uint64{}}
	if bytes.Contains(text, []byte(" FUNCTION CALLS\n")) {
		verbose, err := ReadFile(filepath.Join(c.Dir, "trace.verbose.txt"))
		if err != nil {
			return err
		}
		for _, m := range stackGap.FindAllSubmatch(verbose, -1) {
			r.gaps = append(r.gaps, number(string(m[1])+string(m[2])))
		}
	}
	if err := r.header(text); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	for n, line := range strings.Split(string(text), "\n") {
		if err := r.line(line); err != nil {
			return fmt.Errorf("%s: trace.txt:%d: %w", c.Name, n+1, err)
		}
	}
	r.settle()
	return r.write(c.Dir, scratch)
}

// rebuilder makes records from a text, line by line.
type rebuilder struct {
	symbols map[string]uint64
	raw     []string // the lines of trace.raw.txt that are not used yet, without those of a call graph
	gaps    []uint64 // the time from each stack of a call graph to the next entry, in µs
	latency output.Latency

	list  []rebuilt
	start uint64           // when the buffer was reset
	calls map[int][]uint64 // for each CPU, the functions that were entered and not left in the call graph
}

// rebuilt is a record, and when it was made.
type rebuilt struct {
	cpu   int
	us    uint64 // time since the buffer was reset, in µs
	ns    uint64 // time of the clock; 0: only us is known
	h     event.Common
	stack bool     // it is a kernel stack with the addresses ips
	ips   []uint64 // the innermost first
	put   func(b []byte, h event.Common) []byte
}

// addresses reads kallsyms. It takes the first symbol of each name.
func addresses(kallsyms []byte) map[string]uint64 {
	at := map[string]uint64{}
	for line := range strings.Lines(string(kallsyms)) {
		f := strings.Fields(line)
		if len(f) < 3 || at[f[2]] != 0 {
			continue
		}
		at[f[2]], _ = strconv.ParseUint(f[0], 16, 64)
	}
	return at
}

var (
	rawLine  = regexp.MustCompile(`^\d+ \d+ \d+ `)
	stackGap = regexp.MustCompile(`(?m)\(\+(\d+)\.(\d{3})ms\): <stack trace>$`)
)

func rawEntries(raw []byte) (lines []string) {
	for line := range strings.Lines(string(raw)) {
		if rawLine.MatchString(line) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

var (
	latencyFacts = regexp.MustCompile(`(?m)^# \S+ latency trace v1\.1\.5 on (\S+)\n# -+\n# latency: (\d+) us, #\d+/\d+, CPU#(\d+) \| \(M:(\S+) VP:0, KP:0, SP:0 HP:0 #P:2\)\n` +
		`#    -+\n#    \| task: (.*)-(\d+) \(uid:(\d+) nice:(-?\d+) policy:(\d+) rt_prio:(\d+)\)\n`)
	latencyPlaces = regexp.MustCompile(`(?m)^#  => started at: (\S+)\n#  => ended at:   (\S+)\n`)
)

// header reads what stands above the entries.
func (r *rebuilder) header(text []byte) error {
	m := latencyFacts.FindSubmatch(text)
	if m == nil {
		return errors.New("trace.txt has no header of the latency format")
	}
	l := &r.latency
	l.Release, l.Model, l.Comm = string(m[1]), string(m[4]), string(m[5])
	for _, f := range []struct {
		at    int
		value any
	}{{2, &l.Microseconds}, {3, &l.CPU}, {6, &l.PID}, {7, &l.UID}, {8, &l.Nice}, {9, &l.Policy}, {10, &l.RTPriority}} {
		if _, err := fmt.Sscan(string(m[f.at]), f.value); err != nil {
			return err
		}
	}
	if m := latencyPlaces.FindSubmatch(text); m != nil {
		var err1, err2 error
		l.Start, err1 = r.address(string(m[1]))
		l.End, err2 = r.address(string(m[2]))
		return errors.Join(err1, err2)
	}
	return nil
}

// address gives an address that prints as name.
func (r *rebuilder) address(name string) (uint64, error) {
	if hex, ok := strings.CutPrefix(name, "0x"); ok {
		return strconv.ParseUint(hex, 16, 64)
	}
	if addr, ok := r.symbols[name]; ok {
		return addr, nil
	}
	return 0, fmt.Errorf("no function %q", name)
}

var (
	entryLine = regexp.MustCompile(`^ *.{8}-\d+ +(\d+)([.a-zA-Z]{3}[.0-9a-f]{2}) +(\d+)us.: (.*)$`)
	graphLine = regexp.MustCompile(`^ *(\d+) us \| +(\d+)\) +.*-(\d+) +\|  (.{5}) \|([^|]*)\|  ( *)(\S.*)$`)
	frameLine = regexp.MustCompile(`^ => (\S+)$`)
	switchArg = regexp.MustCompile(`^ *(\d+): *(\d+):(.) (==>|  \+) \[(\d+)\] +(\d+): *(\d+):(.) `)
)

func (r *rebuilder) line(line string) error {
	if m := entryLine.FindStringSubmatch(line); m != nil {
		return r.entry(m[1], m[2], m[3], m[4])
	}
	if m := graphLine.FindStringSubmatch(line); m != nil {
		return r.graphEntry(m)
	}
	if m := frameLine.FindStringSubmatch(line); m != nil && len(r.list) > 0 {
		ip, err := r.address(m[1])
		last := &r.list[len(r.list)-1]
		last.ips = append(last.ips, ip)
		return err
	}
	return nil
}

// entry makes a record from a line of the latency format; the raw form tells the rest
// of it.
func (r *rebuilder) entry(cpu, flags, us, text string) error {
	if len(r.raw) == 0 {
		return errors.New("no such entry in trace.raw.txt")
	}
	raw := strings.Fields(r.raw[0])
	r.raw = r.raw[1:]
	e := rebuilt{cpu: int(number(cpu)), us: number(us), ns: number(raw[2])}
	e.h = commonOf(flags, raw[0])
	if raw[1] != cpu {
		return fmt.Errorf("trace.raw.txt has CPU %s", raw[1])
	}
	switch m := switchArg.FindStringSubmatch(text); {
	case text == "<stack trace>":
		e.stack = true
	case m != nil:
		e.put = contextSwitch(m)
	case len(raw) == 5:
		ip, err1 := strconv.ParseUint(raw[3], 16, 64)
		parent, err2 := strconv.ParseUint(raw[4], 16, 64)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		e.put = func(b []byte, h event.Common) []byte {
			return events.Function.Append(b, h, &events.FunctionRecord{IP: ip, ParentIP: parent})
		}
	default:
		return fmt.Errorf("entry %q", text)
	}
	r.list = append(r.list, e)
	return nil
}

// graphEntry makes the records of a line of a call graph: a call, a return, both, or
// another entry.
func (r *rebuilder) graphEntry(m []string) error {
	e := rebuilt{cpu: int(number(m[2])), us: number(m[1]), h: commonOf(m[4], m[3])}
	depth, text := len(m[6])/2, m[7]
	if text, ok := strings.CutPrefix(text, "/* "); ok {
		args := switchArg.FindStringSubmatch(text)
		if args == nil {
			return fmt.Errorf("entry %q", text)
		}
		e.put = contextSwitch(args)
		r.list = append(r.list, e)
		return nil
	}
	calls := r.calls[e.cpu]
	var ip uint64
	switch name, leaf := strings.CutSuffix(text, "();"); {
	case text == "}" && len(calls) > depth:
		ip = calls[depth]
	case leaf, strings.HasSuffix(text, "() {"):
		var err error
		if ip, err = r.address(strings.TrimSuffix(name, "() {")); err != nil {
			return err
		}
		call := e
		call.put = func(b []byte, h event.Common) []byte {
			return events.FuncgraphEntry.Append(b, h, &events.FuncgraphEntryRecord{Func: ip, Depth: int32(depth)})
		}
		r.list = append(r.list, call)
		if !leaf {
			r.calls[e.cpu] = append(calls[:min(depth, len(calls))], ip)
			return nil
		}
	default:
		return fmt.Errorf("entry %q", text)
	}
	took := nanoseconds(m[5])
	e.put = func(b []byte, h event.Common) []byte {
		return events.FuncgraphExitRetval.Append(b, h, &events.FuncgraphExitRetvalRecord{Func: ip, Depth: int32(depth), Rettime: took})
	}
	r.list = append(r.list, e)
	return nil
}

// contextSwitch makes a record from what switchArg has found.
func contextSwitch(m []string) func([]byte, event.Common) []byte {
	const states = "RSDTtXZPI" // task_index_to_char, include/linux/sched.h
	rec := events.ContextSwitchRecord{
		PrevPID: uint32(number(m[1])), PrevPrio: uint8(number(m[2])), PrevState: uint8(strings.Index(states, m[3])),
		NextCPU: uint32(number(m[5])),
		NextPID: uint32(number(m[6])), NextPrio: uint8(number(m[7])), NextState: uint8(strings.Index(states, m[8])),
	}
	if m[4] == "==>" {
		return func(b []byte, h event.Common) []byte { return events.ContextSwitch.Append(b, h, &rec) }
	}
	return func(b []byte, h event.Common) []byte { return events.Wakeup.Append(b, h, &rec) }
}

// commonOf reads the five columns of flags.
//
// Kernel: trace_print_lat_fmt, kernel/trace/trace_output.c, and enum trace_flag_type,
// include/linux/trace_events.h.
func commonOf(flags, pid string) event.Common {
	h := event.Common{PID: int32(number(pid))}
	for column, bits := range []map[byte]uint8{
		{'d': 0x01, 'b': 0x80, 'D': 0x81},
		{'n': 0x04, 'p': 0x20, 'N': 0x24},
		{'h': 0x08, 's': 0x10, 'H': 0x18, 'z': 0x40, 'Z': 0x48},
	} {
		h.Flags |= bits[flags[column]]
	}
	depth := func(column int) uint8 {
		n, _ := strconv.ParseUint(strings.Trim(flags[column:column+1], "."), 16, 8)
		return uint8(n)
	}
	h.PreemptCount = depth(3) | depth(4)<<4
	return h
}

// number reads digits. Its callers have checked that there is nothing else.
func number(s string) uint64 {
	n, _ := strconv.ParseUint(s, 10, 64)
	return n
}

// nanoseconds reads a duration in µs with three decimals out of its column.
func nanoseconds(column string) uint64 {
	digits := strings.Map(func(c rune) rune {
		if c < '0' || c > '9' {
			return -1
		}
		return c
	}, column)
	return number(digits)
}

// settle gives each entry a time of the clock, and finds when the buffer was reset.
func (r *rebuilder) settle() {
	low, high := uint64(0), ^uint64(0)
	for _, e := range r.list {
		if e.ns > 0 {
			low, high = max(low, e.ns-min(e.ns, e.us*1000+499)), min(high, e.ns-e.us*1000+500)
		}
	}
	r.start = low + (max(low, high)-low)/2
	last := rebuilt{}
	for i := range r.list {
		e := &r.list[i]
		if e.ns == 0 { // a call graph cuts off fractions of a µs
			e.ns = max(r.start+e.us*1000, last.ns+1)
		}
		if last.stack && len(r.gaps) > 0 {
			gap := last.ns + r.gaps[0]*1000
			e.ns = min(max(e.ns, gap-500), gap+499)
			r.gaps = r.gaps[1:]
		}
		last = *e
	}
}

// write makes the folder: pages with the entries, further lines for state.txt, and
// links to everything else.
func (r *rebuilder) write(from, to string) error {
	abs, err := filepath.Abs(from)
	if err != nil {
		return err
	}
	files, err := os.ReadDir(abs)
	if err != nil {
		return err
	}
	for _, f := range files {
		if name := f.Name(); name != "state.txt" && !strings.Contains(name, ".raw") && !strings.HasPrefix(name, "stats.") || strings.HasPrefix(name, "trace.") {
			if err := os.Symlink(filepath.Join(abs, name), filepath.Join(to, name)); err != nil {
				return err
			}
		}
	}
	state, err := os.ReadFile(filepath.Join(abs, "state.txt"))
	if err != nil {
		return err
	}
	state = fmt.Appendf(state, "\n%s", capture.Moment(r.start, r.latency))
	if err := os.WriteFile(filepath.Join(to, "state.txt"), state, 0o666); err != nil {
		return err
	}
	const cpus = 2
	for cpu := range cpus {
		pages, err := r.pages(cpu)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, fmt.Sprintf("cpu%d.raw", cpu)), pages, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// pages makes the pages with the entries of one CPU.
func (r *rebuilder) pages(cpu int) ([]byte, error) {
	var now uint64
	b, err := ringbuf.New(ringbuf.Config{CPUs: 1, Size: 4 << 20, Clock: func(int) uint64 { return now }})
	if err != nil {
		return nil, err
	}
	var rec []byte
	for _, e := range r.list {
		if e.cpu != cpu {
			continue
		}
		if rec = rec[:0]; e.stack {
			rec = events.KernelStack.Append(rec, e.h, &events.KernelStackRecord{Size: int32(len(e.ips)), Caller: e.ips})
		} else {
			rec = e.put(rec, e.h)
		}
		now = e.ns
		slot, err := b.Reserve(0, ringbuf.Normal, len(rec))
		if err != nil {
			return nil, err
		}
		copy(slot.Data, rec)
		b.Commit(0, slot)
	}
	var pages bytes.Buffer
	page := make([]byte, b.SubbufSize())
	for b.ReadPage(0, page, false) {
		pages.Write(page)
	}
	return pages.Bytes(), nil
}
