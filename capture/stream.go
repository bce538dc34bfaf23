package capture

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"ftracelab/capture/budget"
	"ftracelab/tracer/tracedat"
)

// maxZstdWindow bounds what a zstd frame may ask for, however much memory there is;
// zstd --ultra needs a sixteenth of it, zstd --long=31 all.
const maxZstdWindow = 2 << 30

// zstdOwn is what a decoder takes beside the window.
const zstdOwn = 512 << 10

// streamBuffer is what is read of a file at a time.
const streamBuffer = 64 << 10

var (
	magicGzip = []byte{0x1f, 0x8b}
	magicZstd = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// stream is a file with its compression undone. A damaged compression shows as an
// [Error] after all bytes before the damage.
type stream struct {
	reader
	name  string
	pipe  *pipe
	close []func() error
	held  int64 // what was taken for it from a budget
}

// bufferSize is how much is read of a file at a time.
func bufferSize(many bool) int {
	if many {
		return 4 << 10
	}
	return streamBuffer
}

// reader is a *bufio.Reader, or what need not be copied to one, see
// tracedat.SourceFile.
type reader interface {
	io.Reader
	Peek(n int) ([]byte, error)
	Discard(n int) (int, error)
}

// page gives the next n bytes, valid until the next call. At the end of the file it
// gives what is left, with io.EOF, or in the middle of them io.ErrUnexpectedEOF.
func (s *stream) page(n int) ([]byte, error) {
	b, err := s.Peek(n)
	if err == io.EOF && len(b) > 0 {
		err = io.ErrUnexpectedEOF
	}
	_, _ = s.Discard(len(b)) // they are there
	return b, err
}

// openStream opens name in fsys; shown names it in errors. A stream that is one of
// many does without the goroutine that decompresses ahead. What the stream holds is
// taken from memory; nil: it has been taken before.
func openStream(fsys fs.FS, name, shown string, many bool, memory *budget.Budget) (*stream, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fileError(shown, "cannot open", cause(err))
	}
	s, err := newStream(f, shown, many, memory)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.close = append(s.close, f.Close)
	return s, nil
}

func newStream(r io.Reader, shown string, many bool, memory *budget.Budget) (*stream, error) {
	size := bufferSize(many)
	s := &stream{name: shown}
	if f, ok := r.(tracedat.SourceFile); ok {
		if err := s.hold(f.Held, memory); err != nil {
			return nil, err
		}
		if s.reader, ok = f.Source().(reader); ok {
			return s, nil
		}
	}
	in := bufio.NewReaderSize(r, size)
	s.reader = in
	head, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return nil, fileError(shown, "cannot read", cause(err))
	}
	var src io.Reader
	switch {
	case bytes.HasPrefix(head, magicGzip):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fileError(shown, "gzip", err)
		}
		src = z
	case bytes.HasPrefix(head, magicZstd):
		window, err := zstdWindow(in, many)
		if err != nil {
			return nil, fileError(shown, "zstd", err)
		}
		if err := s.hold(func() int64 { return int64(window) + zstdOwn }, memory); err != nil {
			return nil, err
		}
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(window))
		if err != nil {
			return nil, fileError(shown, "zstd", err)
		}
		s.close = append(s.close, func() error { z.Close(); return nil })
		src = z
	default:
		return s, nil
	}
	src = &wrapped{src: src, name: shown}
	if !many {
		s.pipe = newPipe(src)
		src = s.pipe
	}
	s.reader = bufio.NewReaderSize(src, size)
	return s, nil
}

// hold takes what the stream needs.
func (s *stream) hold(size func() int64, memory *budget.Budget) error {
	if memory == nil {
		return nil
	}
	n := size()
	if err := memory.Take(n, "unpacking"); err != nil {
		return fileError(s.name, "cannot read", err)
	}
	s.held += n
	return nil
}

// zstdWindow is the largest window that a frame may ask for: that of the first frame,
// but as much as is usual where the first is small.
func zstdWindow(in *bufio.Reader, many bool) (uint64, error) {
	usual := uint64(8 << 20) // of all levels up to 19
	if many {
		usual = 1 << 20
	}
	head, err := in.Peek(zstd.HeaderMaxSize)
	if err != nil && err != io.EOF {
		return 0, err
	}
	var h zstd.Header
	if err := h.Decode(head); err != nil {
		return usual, nil // the decoder will say what is wrong
	}
	window := h.WindowSize
	if h.SingleSegment {
		window = h.FrameContentSize
	}
	if window > maxZstdWindow {
		return 0, fmt.Errorf("a window of %d MiB; at most %d MiB are read", window>>20, uint64(maxZstdWindow)>>20)
	}
	return max(window, usual), nil
}

// Close ends the goroutine first, which uses what is closed after it.
func (s *stream) Close() error {
	if s.pipe != nil {
		s.pipe.Close()
	}
	var err error
	for _, c := range s.close {
		err = errors.Join(err, c())
	}
	return err
}

// wrapped names the file in a decompressor's errors.
type wrapped struct {
	src  io.Reader
	name string
	off  int64
}

func (w *wrapped) Read(b []byte) (int, error) {
	n, err := w.src.Read(b)
	w.off += int64(n)
	if err != nil && err != io.EOF {
		what := "the compressed data is damaged"
		if errors.Is(err, io.ErrUnexpectedEOF) {
			what, err = "the compressed data ends early", nil
		}
		err = &Error{File: w.name, Offset: w.off, What: what, Err: err}
	}
	return n, err
}

// cause strips the path from a file system's error; the Error has its own.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
