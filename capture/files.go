package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"ftracelab/capture/budget"
	"ftracelab/tracer/tracedat"
)

// files are where a capture or its kernel lies, with the budget that what is read of
// them is taken from.
//
// Only regular files and folders are opened, after links have been followed: to open a
// FIFO would wait for a writer, a device may have no end, and reading may change what
// either is for. The one stream that a command line may name is opened by [open].
type files struct {
	fs.FS
	memory *budget.Budget
}

// files are those below the host's folder dir.
func (o Options) files(dir string) *files { return &files{o.host(dir), o.Memory} }

// Open implements fs.FS. It looks before it opens.
func (f *files) Open(name string) (fs.File, error) {
	info, err := fs.Stat(f.FS, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: notRegular(info.Mode())}
	}
	return f.FS.Open(name)
}

// Stat implements fs.StatFS.
func (f *files) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.FS, name) }

// ReadDir implements fs.ReadDirFS.
func (f *files) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(f.FS, name) }

// notRegular says what a file is that is not read.
type notRegular fs.FileMode

func (m notRegular) Error() string {
	kind := "a special file"
	switch mode := fs.FileMode(m); {
	case mode&fs.ModeNamedPipe != 0:
		kind = "a FIFO"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	case mode&fs.ModeDevice != 0:
		kind = "a device"
	}
	return "is " + kind + ", and a capture is made of regular files"
}

// readAll gives the content of a file, with its compression undone. It may not be
// changed. The memory it takes stays taken: most of what is read is kept.
func readAll(fsys *files, name, shown string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		var m notRegular
		if errors.As(err, &m) {
			err = fileError(shown, m.Error(), nil)
		}
		return nil, err
	}
	if s, ok := f.(tracedat.SourceFile); ok {
		if whole, ok := s.Source().(*bytes.Buffer); ok {
			return whole.Bytes(), f.Close()
		}
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s, err := newStream(f, shown, true, fsys.memory)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.close = append(s.close, f.Close)
	text, err := gather(s, info.Size()+bytes.MinRead, fsys.memory, shown)
	return text, errors.Join(err, s.Close())
}

// gather reads all of a stream, which is expected to have size bytes. It asks for the
// memory before each piece that it makes room for. With an error of the stream comes
// what was read before.
func gather(in io.Reader, size int64, memory *budget.Budget, shown string) ([]byte, error) {
	take := func(n int64) error {
		if err := memory.Take(n, "its content"); err != nil {
			return fileError(shown, "too large", err)
		}
		return nil
	}
	if err := take(size); err != nil {
		return nil, err
	}
	text := make([]byte, 0, size)
	for {
		if len(text) == cap(text) {
			old := int64(cap(text))
			if err := take(2 * old); err != nil {
				return nil, err
			}
			text = append(make([]byte, 0, 2*old), text...)
			memory.Give(old)
		}
		n, err := in.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return text, err
		}
	}
}

// tables takes memory for tables that are made of a text: at most each bytes of each of
// its bytes.
func (f *files) tables(text []byte, each int64, shown string) error {
	if err := f.memory.Take(each*int64(len(text)), "the tables made of it"); err != nil {
		return fileError(shown, fmt.Sprintf("%d bytes are too many", len(text)), err)
	}
	return nil
}
