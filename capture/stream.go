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

	"ftracelab/budget"
	"ftracelab/tracer/tracedat"
)

// maxZstdWindow is the largest window that a zstd frame may ask for, however much
// memory there is. zstd --ultra needs a sixteenth of it, zstd --long=31 all of it.
const maxZstdWindow = 2 << 30

// zstdOwn is the memory that a decoder takes besides the window.
const zstdOwn = 512 << 10

// streamBuffer is how many bytes of a file are read at a time.
const streamBuffer = 64 << 10

var (
	magicGzip = []byte{0x1f, 0x8b}
	magicZstd = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// stream gives the uncompressed content of a file. If the compressed data is damaged,
// all bytes before the damage come first, then an [Error].
type stream struct {
	reader
	name  string
	pipe  *pipe
	close []func() error
	held  int64 // the memory that it took from a budget
}

// bufferSize is how many bytes of a file are read at a time; many says that the file is
// one of many.
func bufferSize(many bool) int {
	if many {
		return 4 << 10
	}
	return streamBuffer
}

// reader is a *bufio.Reader, or something that can be read in place without one, see
// tracedat.SourceFile.
type reader interface {
	io.Reader
	Peek(n int) ([]byte, error)
	Discard(n int) (int, error)
}

// page gives the next n bytes, which are valid until the next call. At the end of the
// file the error is io.EOF; if fewer than n bytes are left, it gives these, with
// io.ErrUnexpectedEOF.
func (s *stream) page(n int) ([]byte, error) {
	b, err := s.Peek(n)
	if err == io.EOF && len(b) > 0 {
		err = io.ErrUnexpectedEOF
	}
	_, _ = s.Discard(len(b)) // cannot fail: Peek has just shown them
	return b, err
}

// openStream opens name in fsys; shown is its name in errors. With many, the stream is
// one of many and does without the goroutine that decompresses ahead. The stream asks
// memory for what it needs, unless that is nil because the caller has asked before.
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

// hold asks the budget for the memory that the stream needs.
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

// zstdWindow is the largest window that a frame may ask for: the window of the first
// frame, or the usual size if that is larger.
func zstdWindow(in *bufio.Reader, many bool) (uint64, error) {
	usual := uint64(8 << 20) // enough for all levels up to 19
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

// Close ends the goroutine first, because it uses what is closed next.
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

// wrapped puts the file's name into the errors of a decompressor.
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

// cause strips the path from a file system's error, because the Error names the file
// itself.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
