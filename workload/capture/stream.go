package capture

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"ftracelab/tracer/tracedat"
)

// maxZstdWindow bounds what a zstd frame may ask for; zstd --ultra needs half of it.
const maxZstdWindow = 64 << 20

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
// many does without the goroutine that decompresses ahead.
func openStream(fsys fs.FS, name, shown string, many bool) (*stream, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fileError(shown, "cannot open", cause(err))
	}
	s, err := newStream(f, shown, many)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.close = append(s.close, f.Close)
	return s, nil
}

func newStream(r io.Reader, shown string, many bool) (*stream, error) {
	size := streamBuffer
	if many {
		size = 4 << 10
	}
	s := &stream{name: shown}
	if f, ok := r.(tracedat.SourceFile); ok {
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
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxZstdWindow))
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
