package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// The values of Options.Frames.
const (
	FramesKernel = "kernel" // all frames belong to the kernel
	FramesUser   = "user"   // all frames belong to user space
	FramesMixed  = "mixed"  // frames with the mark _[k] belong to the kernel
)

// FrameKinds are the values of Options.Frames.
func FrameKinds() []string { return []string{FramesKernel, FramesUser, FramesMixed} }

// foldedText reads folded stacks such as "a;b;c 12": the frames, the outermost first,
// and how often the stack occurred. Each line becomes that many samples, one after the
// other. If all lines together ask for too many, the numbers are scaled down, see
// [foldedScale].
type foldedText struct {
	*base
	in   *lines
	emit *samples

	kernel, user []uint64
	left         uint64 // samples of the present line that are still to come
	whole        bool
	frameKind    string // what a frame without a mark is taken for: one of FrameKinds
	guessed      bool   // frameKind is a guess, because nothing in the file told it
	scale        foldedScale

	count, marked, inlined uint64
}

func newFoldedText(b *base, in *stream, l location) (importer, error) {
	table, err := event.NewTable()
	if err != nil {
		panic("capture: invariant: an empty table of types: " + err.Error())
	}
	b.types = newTypeIndex(table)
	b.info.Timed = false
	f := &foldedText{base: b, emit: newSamples(b, "folded"), frameKind: b.opt.Frames}
	switch f.frameKind {
	case FramesKernel, FramesUser, FramesMixed:
	case "":
		// A program that marks frames does so from the first line on, so the beginning of the file is
		// enough.
		head, err := in.Peek(streamBuffer)
		if err != nil && err != io.EOF && len(head) == 0 {
			return nil, readFault(in.name, err)
		}
		f.frameKind = FramesMixed
		if !bytes.Contains(head, []byte("_[k]")) {
			f.frameKind, f.guessed = FramesKernel, true
		}
	default:
		return nil, fileError(in.name, "unknown kind of frames "+f.frameKind+": there are "+strings.Join(FrameKinds(), ", "), nil)
	}
	text, err := f.scale.twice(in, l, b.opt.Memory)
	if err != nil {
		return nil, err
	}
	f.in = newLines(text, in.name)
	return f, nil
}

func (f *foldedText) next(r *record.Record) error {
	if f.emit.stack(r) {
		return nil
	}
	for f.left == 0 {
		line, whole, err := f.in.next()
		if err == nil {
			f.whole = whole
			err = f.take(line)
		}
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		var at *Error
		isLine := errors.As(err, &at) && at.Line > 0
		if !f.opt.KeepGoing {
			return readFault(f.in.name, err)
		}
		f.info.skip(err, 1, uint64(max(0, f.in.position()-f.in.at)), 0)
		if !isLine {
			return io.EOF
		}
	}
	f.left--
	f.count++
	return f.emit.start(r, "stack", 0, 0, 0, 1, f.kernel, f.user)
}

// take reads a line.
func (f *foldedText) take(line []byte) error {
	line = bytes.TrimRight(line, " \r")
	if len(line) == 0 || line[0] == '#' {
		return nil
	}
	stack, weight, ok := splitFolded(line)
	switch {
	case !f.whole && !ok:
		return f.in.fault(textEnds + " a line: " + excerpt(line))
	case !ok:
		return f.in.fault("not a folded stack (a;b;c 12): " + excerpt(line))
	}
	f.kernel, f.user = f.kernel[:0], f.user[:0]
	for len(stack) > 0 {
		if len(f.kernel)+len(f.user) == maxFrames {
			return f.in.fault(errDeepStack.Error())
		}
		i := bytes.LastIndexByte(stack, ';')
		f.frame(stack[i+1:])
		stack = stack[:max(i, 0)]
	}
	f.left = f.scale.samples(weight)
	return nil
}

// frame adds a frame. stackcollapse-perf.pl --all marks the kernel's frames with _[k]
// and inlined ones with _[i].
func (f *foldedText) frame(text []byte) {
	if n := len(text); n > 4 && text[n-1] == ']' && bytes.HasPrefix(text[n-4:], []byte("_[")) {
		switch text[n-2] {
		case 'i':
			f.inlined++
			return
		case 'k':
			f.marked++
			if f.frameKind == FramesUser {
				text = text[:n-4]
				break
			}
			addr := pseudoAddress(text[:n-4], true)
			f.frames.keep(addr, true, text[:n-4])
			f.kernel = append(f.kernel, addr)
			return
		}
	}
	kernel := f.frameKind == FramesKernel
	addr := pseudoAddress(text, kernel)
	f.frames.keep(addr, kernel, text)
	if kernel {
		f.kernel = append(f.kernel, addr)
	} else {
		f.user = append(f.user, addr)
	}
}

// splitFolded divides a line at its last blank.
func splitFolded(line []byte) (stack []byte, weight uint64, ok bool) {
	i := bytes.LastIndexByte(line, ' ')
	if i <= 0 {
		return nil, 0, false
	}
	weight, ok = parseUint(line[i+1:])
	return bytes.TrimRight(line[:i], " "), weight, ok
}

// looksFolded reports whether line looks like a folded stack. Its weight is at its end,
// so the line has to be whole.
func looksFolded(line []byte, whole bool) bool {
	stack, _, ok := splitFolded(line)
	return whole && ok && !isRemark(line) && bytes.IndexByte(stack, ';') > 0
}

func (f *foldedText) caveats() []string {
	out := []string{
		sizeCaveat(),
		"folded stacks have no times, tasks and CPUs and come sorted: which stacks there are and how often holds, retention and hit rates of small maps do not",
	}
	out = append(out, f.scale.caveats()...)
	out = append(out, "the outermost frame of a folded stack is often the command's name and counted as a frame: up to 8 bytes too many for each stack")
	if f.guessed && f.marked > 0 {
		out = append(out, fmt.Sprintf("the first mark _[k] came late, after %d KiB: name the kind of frames", streamBuffer>>10))
	}
	if f.inlined > 0 {
		out = append(out, fmt.Sprintf("%d inlined frames left out: a kernel records no such frames", f.inlined))
	}
	return append(out, f.frames.caveats("names without offset: two calls in one function are one frame")...)
}

// condition says what was assumed about frames without a mark.
func (f *foldedText) condition() string {
	if !f.guessed {
		return ""
	}
	return "all frames are the kernel's (nothing in the file tells; --frames kernel, user or mixed does)"
}

func (f *foldedText) close() error { return nil }
