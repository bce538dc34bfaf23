package capture

import (
	"bytes"
	"slices"
)

// perfSample is a sample with its stacks.
type perfSample struct {
	time         uint64
	period       uint64
	kernel, user []uint64
	comm, event  string
	cpu, tid     int32

	cookie   uint64 // of the sample's user stack, which has a block of its own; 0: it has none
	deferred bool   // this is such a block: user is the stack that cookie stands for
}

// perfBatch is what was parsed from one block.
type perfBatch struct {
	samples []perfSample
	noCPU   uint64
	inlined uint64
	skipped uint64 // samples passed over; bytes says how many bytes, why the first reason
	bytes   uint64
	why     error
	err     error // ends the text after these samples
}

// maxNames is how many different names of tasks and events are remembered.
const maxNames = 1 << 16

// perfParser parses blocks into samples.
type perfParser struct {
	name      string
	keepGoing bool
	stacks    *perfStacks
	names     map[string]string
	lines     int // how many lines came before the block

	data []byte // the text of the block
	off  int64
	last bool
	pos  int
	head perfHeader
}

func newPerfParser(b *base, name string) *perfParser {
	return &perfParser{name: name, keepGoing: b.opt.KeepGoing, stacks: newPerfStacks(b.frames), names: map[string]string{}}
}

// block parses a block into out. Only the last block can end inside a sample; that is
// an error.
func (p *perfParser) block(b perfBlock, out *perfBatch) {
	*out = perfBatch{samples: out.samples[:0]}
	p.lines += b.lines
	p.data, p.off, p.last, p.pos = b.data, b.off, b.last && b.err == nil, 0
	for p.pos < len(p.data) {
		start := p.pos
		err := p.sample(out)
		if err == nil {
			continue
		}
		if !p.keepGoing {
			out.err = err
			return
		}
		p.skip(start, err, out)
	}
	p.lines += bytes.Count(p.data, []byte("\n"))
	switch {
	case b.err != nil && !p.keepGoing:
		out.err = b.err
	case b.err != nil:
		out.note(b.err, 1, uint64(b.lost))
	default:
		out.bytes += uint64(b.lost)
	}
}

// note counts what is passed over.
func (o *perfBatch) note(err error, samples, bytes uint64) {
	if o.why == nil {
		o.why = err
	}
	o.skipped += samples
	o.bytes += bytes
}

// skip passes over a sample that is wrong: it goes on behind the next blank line.
func (p *perfParser) skip(start int, err error, out *perfBatch) {
	end := len(p.data)
	if i := bytes.Index(p.data[start:], []byte("\n\n")); i >= 0 {
		end = start + i + 2
	} else if i := bytes.IndexByte(p.data[start:], '\n'); i >= 0 && p.data[start] != '\t' {
		end = start + i + 1
	}
	p.pos = max(end, start+1)
	out.note(err, 1, uint64(p.pos-start))
}

// sample parses one sample, or passes over a blank or comment line.
func (p *perfParser) sample(out *perfBatch) error {
	start := p.pos
	line, ok := p.line()
	if len(line) == 0 || line[0] == '#' || line[0] == '\r' {
		return nil
	}
	if !p.head.parse(line) {
		if !ok && p.last {
			return p.fault(start, textEnds+" a line: "+excerpt(line))
		}
		return p.fault(start, "not a sample of perf script (COMM PID [CPU] TIME: EVENT: …): "+excerpt(line))
	}
	h := &p.head
	s := perfSample{time: h.time, period: h.period, cpu: int32(h.cpu), tid: h.tid, comm: p.intern(h.comm), event: p.intern(h.event), cookie: h.cookie, deferred: h.deferred}
	switch {
	case p.pos < len(p.data) && p.data[p.pos] == '\t':
		if err := p.stack(&s, out); err != nil {
			return err
		}
	case len(h.rest) > 0:
		if isFrame(h.rest) {
			if err := p.single(&s, start, out); err != nil {
				return err
			}
		}
	}
	if !h.hasCPU {
		out.noCPU++
	}
	out.samples = append(out.samples, s)
	return nil
}

// line takes the next line; ok reports that it ends with a newline.
func (p *perfParser) line() (line []byte, ok bool) {
	rest := p.data[p.pos:]
	i := bytes.IndexByte(rest, '\n')
	if i < 0 {
		p.pos = len(p.data)
		return rest, false
	}
	p.pos += i + 1
	return rest[:i], true
}

// stack parses the frames up to the blank line.
func (p *perfParser) stack(s *perfSample, out *perfBatch) error {
	rest := p.data[p.pos:]
	end := bytes.Index(rest, []byte("\n\n"))
	if end < 0 {
		return p.fault(len(p.data)-1, textEnds+" a stack")
	}
	st, line, err := p.stacks.parse(rest[:end])
	if err != nil {
		at := p.pos
		for range line {
			at += 1 + bytes.IndexByte(p.data[at:], '\n')
		}
		text, _, _ := bytes.Cut(p.data[at:], []byte("\n"))
		return p.fault(at, err.Error()+": "+excerpt(text))
	}
	p.pos += end + 2
	s.take(st)
	out.inlined += uint64(st.inlined)
	return nil
}

// single parses the one frame that follows the event's name in text without call
// chains.
func (p *perfParser) single(s *perfSample, start int, out *perfBatch) error {
	line := slices.Concat([]byte("\t"), p.head.rest)
	st, _, err := p.stacks.parse(line)
	if err != nil {
		return p.fault(start, err.Error()+": "+excerpt(line))
	}
	s.take(st)
	out.inlined += uint64(st.inlined)
	return nil
}

// take gives the sample its call chain. Of a block of its own, all is the user stack.
func (s *perfSample) take(st perfStack) {
	s.kernel, s.user = st.kernel, st.user
	switch {
	case !s.deferred:
		s.cookie = st.cookie
	case len(st.kernel) > 0:
		// Rubbish of an unwinder that lost its way looks like addresses of the kernel.
		s.kernel, s.user = nil, slices.Concat(st.kernel, st.user)
	}
}

// isFrame reports whether what follows an event's name is a frame, ADDRESS SYMBOL
// (DSO), and not the text of a tracepoint.
func isFrame(b []byte) bool {
	word, _, _ := bytes.Cut(b, []byte(" "))
	_, ok := parseHex(word)
	return ok && b[len(b)-1] == ')'
}

// intern gives the string for a name, and the same string each time.
func (p *perfParser) intern(b []byte) string {
	if s, ok := p.names[string(b)]; ok {
		return s
	}
	s := string(b[:min(len(b), maxFrameText)])
	if len(p.names) < maxNames {
		p.names[s] = s
	}
	return s
}

// fault makes an Error about the line at pos in the block.
func (p *perfParser) fault(pos int, what string) *Error {
	line := p.lines + 1 + bytes.Count(p.data[:max(pos, 0)], []byte("\n"))
	return &Error{File: p.name, Line: line, Offset: p.off + int64(pos), What: what}
}
