package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// ftraceText reads the text of trace or trace_pipe. Only the next line shows whether a
// record is complete, so the latest record is always kept back.
type ftraceText struct {
	*base
	in    *lines
	build *rebuilder

	hand, spare textRecord // hand is the record being read, spare the one given last
	have        bool
	clock       []uint64 // the latest time of each CPU
	line        ftraceLine
	whole       bool // the line read last ended with a newline
	ended       bool
	failed      error // what is wrong with the line that follows the record given last

	backwards, integer, unfinished uint64
	noFlags                        uint64
}

// textRecord is a record together with the memory for its data and its stack.
type textRecord struct {
	record.Record
	data    []byte
	stack   []uint64
	isMark  bool // a marker's text, which may go on in the next line
	markLen int
	// quoted says that the text of the event has a string in quotes that did not end yet:
	// it holds a newline.
	quoted bool
}

// looksFtrace reports whether line is a record of ftrace's text, or one of the remarks
// that only ftrace writes.
func looksFtrace(line []byte, _ bool) bool {
	if bytes.HasPrefix(line, []byte("# tracer: ")) || bytes.HasPrefix(line, []byte("##### CPU ")) || isLostLine(line) {
		return true
	}
	var f ftraceLine
	return !isRemark(line) && f.parse(line) == nil
}

func newFtraceText(b *base, in *stream, l location) (importer, error) {
	kernel := findKernel(l, path.Dir(l.name))
	var table *event.Table
	formats, err := kernel.formats(l, path.Dir(l.name))
	catalogue := errors.Is(err, fs.ErrNotExist)
	switch {
	case catalogue:
		table, err = catalogueTable()
	case err == nil:
		table, err = formats.table()
	}
	if err != nil {
		return nil, err
	}
	b.types = newTypeIndex(table)
	if err := b.setSymbols(kernel); err != nil {
		return nil, err
	}
	build, err := newRebuilder(b, catalogue)
	if err != nil {
		return nil, err
	}
	return &ftraceText{base: b, in: newLines(in, l.shown), build: build}, nil
}

// next gives the next record.
func (f *ftraceText) next(r *record.Record) error {
	if f.failed != nil {
		return f.failed
	}
	for !f.ended {
		line, whole, err := f.in.next()
		if err != nil {
			if err, over := f.stop(err); err != nil {
				return err
			} else if over {
				break
			}
			continue
		}
		f.whole = whole
		given, err := f.take(line)
		if err != nil {
			if !f.opt.KeepGoing {
				f.failed = err
			} else {
				f.drop(err, line)
			}
		}
		switch {
		case given:
			*r = f.spare.Record
			return nil
		case f.failed != nil:
			return f.failed
		}
	}
	if f.have {
		f.have = false
		*r = f.hand.Record
		return nil
	}
	return io.EOF
}

// stop deals with an error of the lines, their end among them. over reports that there
// are no more lines.
func (f *ftraceText) stop(err error) (_ error, over bool) {
	if errors.Is(err, io.EOF) {
		f.ended = true
		err = f.cut()
		if err == nil {
			return nil, true
		}
	}
	if !f.opt.KeepGoing {
		return readFault(f.in.name, err), true
	}
	f.info.skip(err, 1, uint64(max(0, f.in.position()-f.in.at)), 0)
	var at *Error
	if !errors.As(err, &at) || at.Line == 0 { // not about a line: nothing can be read behind it
		f.ended = true
		f.have = f.have && f.hand.Kind != record.KernelStack && f.hand.Kind != record.UserStack
	}
	return nil, f.ended
}

// cut gives an error if the text ends inside a stack.
func (f *ftraceText) cut() error {
	isStack := f.have && (f.hand.Kind == record.KernelStack || f.hand.Kind == record.UserStack)
	if isStack && (!f.whole || f.hand.Kind == record.KernelStack && len(f.hand.stack) == 0) {
		f.have = false
		return f.in.fault(textEnds + " a stack")
	}
	if f.in.line > 0 && !f.whole {
		f.unfinished++
	}
	return nil
}

// drop counts a line that KeepGoing passes over.
func (f *ftraceText) drop(err error, line []byte) {
	f.info.skip(err, 1, uint64(len(line)+1), 0)
}

// take reads one line. given reports that this completed a record, which is then in
// spare.
func (f *ftraceText) take(line []byte) (given bool, err error) {
	switch {
	case bytes.HasPrefix(line, []byte(" =>")):
		return false, f.frame(line[3:])
	case len(line) == 0 && f.have && f.hand.isMark:
		f.extendMark(line)
		return false, nil
	case len(line) == 0:
		return false, nil
	case line[0] == '#':
		return false, f.comment(line)
	}
	if cpu, count, ok := parseLost(line); ok {
		given = f.turn()
		f.hand.Record = record.Record{Kind: record.Lost, CPU: cpu, Time: *f.now(cpu), Count: count}
		return given, nil
	}
	err = f.line.parse(line)
	if err != nil {
		switch {
		case f.have && f.hand.isMark:
			f.extendMark(line)
			return false, nil
		case f.have && f.hand.quoted:
			f.goOn(line)
			return false, nil
		case !f.whole:
			return false, f.in.fault(textEnds + " a line: " + excerpt(line))
		case len(f.clock) == 0: // no line could be read
			err = fmt.Errorf("%w (texts of latency-format, raw, hex, bin and nocontext-info are not read)", err)
		}
		return false, f.in.fault(err.Error() + ": " + excerpt(line))
	}
	given = f.turn()
	err = f.begin()
	f.hand.quoted = opensQuote(f.line.body)
	return given, err
}

// opensQuote reports whether text has a quotation mark too few. Events of probes print
// strings in quotes.
func opensQuote(text []byte) bool { return bytes.Count(text, []byte{'"'})%2 == 1 }

// goOn adds a line to the text of an event with a string that holds newlines. The line
// that closes the quotes is the last one.
func (f *ftraceText) goOn(line []byte) {
	f.build.extend(&f.hand, len(line)+1)
	f.hand.quoted = f.hand.quoted != opensQuote(line)
}

// turn moves the record in hand to spare and makes room for the next one. It reports
// whether there was a record in hand.
func (f *ftraceText) turn() bool {
	given := f.have
	f.hand, f.spare = f.spare, f.hand
	f.have = true
	f.hand.isMark, f.hand.quoted = false, false
	return given
}

// now is the latest time of a CPU.
func (f *ftraceText) now(cpu int) *uint64 {
	for len(f.clock) <= cpu {
		f.clock = append(f.clock, 0)
	}
	return &f.clock[cpu]
}

// begin starts a record with the line that was parsed last.
func (f *ftraceText) begin() error {
	l, h := &f.line, &f.hand
	now := f.now(l.cpu)
	if l.time < *now {
		f.backwards++
	}
	*now = max(*now, l.time)
	if !l.fraction {
		f.integer++
	}
	if !l.hasFlags {
		f.noFlags++
	}
	f.comms.setBytes(l.pid, l.comm)
	h.Record = record.Record{
		CPU: l.cpu, Time: *now,
		Common: event.Common{Flags: l.flags, PreemptCount: l.preempt, PID: l.pid},
	}
	h.stack = h.stack[:0]
	switch string(l.body) {
	case "<stack trace>":
		h.Kind, h.Common.Type = record.KernelStack, f.build.kernelStack
		return nil
	case "<user stack trace>":
		h.Kind, h.Common.Type = record.UserStack, f.build.userStack
		return nil
	}
	err := f.build.event(h, l.body)
	if err != nil {
		f.have = false
		return f.in.fault(err.Error())
	}
	return nil
}

// maxFrames is the largest number of frames of a stack; the kernel's own limit is
// lower.
const maxFrames = 4096

// frame adds a line " => …" to the stack in hand.
func (f *ftraceText) frame(text []byte) error {
	if !f.have || f.hand.Kind != record.KernelStack && f.hand.Kind != record.UserStack {
		return f.in.fault("a frame without a stack")
	}
	if len(f.hand.stack) == maxFrames {
		return f.in.fault(fmt.Sprintf("a stack of more than %d frames", maxFrames))
	}
	text = bytes.Trim(text, " ")
	switch {
	case len(text) == 0 && !f.whole:
		return f.in.fault(textEnds + " a stack")
	case len(text) == 0:
		return f.in.fault("a frame without a name")
	}
	addr := f.address(text, f.hand.Kind == record.KernelStack)
	f.hand.stack = append(f.hand.stack, addr)
	f.hand.Stack = f.hand.stack
	return nil
}

// address gives the address of a frame. With the options sym-addr and sym-userobj, and
// for a frame without a symbol, it stands in <…> at the end; otherwise it is made from
// the text.
//
// Kernel: seq_print_ip_sym and seq_print_user_ip, kernel/trace/trace_output.c.
func (f *ftraceText) address(text []byte, kernel bool) uint64 {
	if n := len(text); text[n-1] == '>' {
		if i := bytes.LastIndexByte(text, '<'); i >= 0 {
			if addr, ok := parseHex(text[i+1 : n-1]); ok {
				if name := bytes.TrimRight(text[:i], " "); len(name) > 0 {
					f.frames.keep(addr, kernel, name)
				}
				return addr
			}
		}
	}
	if addr, ok := bytes.CutPrefix(text, []byte("0x")); ok && kernel {
		if v, ok := parseHex(addr); ok {
			return v
		}
	}
	addr := pseudoAddress(text, kernel)
	f.frames.keep(addr, kernel, text)
	return addr
}

// comment reads a line that begins with #: one of the header, or one that says where
// the buffer of a CPU starts.
func (f *ftraceText) comment(line []byte) error {
	counts, ok := bytes.CutPrefix(line, []byte("# entries-in-buffer/entries-written: "))
	if !ok {
		return nil
	}
	in, rest, ok1 := bytes.Cut(counts, []byte("/"))
	n := digits(rest)
	inBuffer, ok2 := parseUint(in)
	written, ok3 := parseUint(rest[:n])
	if !ok1 || !ok2 || !ok3 {
		return f.in.fault("no numbers of entries: " + excerpt(line))
	}
	f.info.InBuffer += inBuffer
	f.info.Written += written
	return nil
}

// extendMark adds a line to a marker's text, which may hold newlines.
func (f *ftraceText) extendMark(line []byte) {
	h := &f.hand
	if len(h.data)+len(line)+1 > maxMark {
		return
	}
	h.data = append(h.data[:h.markLen-1], '\n')
	h.data = append(h.data, line...)
	h.data = append(h.data, '\n', 0)
	h.markLen = len(h.data) - 1
	h.Data = h.data
}

func (f *ftraceText) caveats() []string {
	out := []string{
		"from text: times are rounded to the microsecond, so up to 500 ns off, and fields of the records are zero",
	}
	if f.integer > 0 {
		out = append(out, fmt.Sprintf("%d times are not in seconds: the clock's own unit is taken for nanoseconds", f.integer))
	}
	if f.backwards > 0 {
		out = append(out, fmt.Sprintf("%d times before the time of an earlier record of the same CPU: raised to it", f.backwards))
	}
	if f.noFlags > 0 {
		out = append(out, fmt.Sprintf("%d lines without irq-info: flags and preempt count are zero", f.noFlags))
	}
	if f.unfinished > 0 {
		out = append(out, "the last line has no newline: it may be cut")
	}
	out = append(out, f.build.caveats()...)
	return append(out, f.frames.caveats("names without offset: two calls in one function are one frame")...)
}

func (f *ftraceText) close() error { return nil }
