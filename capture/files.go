package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"ftracelab/budget"
	"ftracelab/tracer/tracedat"
)

// files is a file system that holds a capture or the files of its kernel. What is read
// from it is charged to a budget.
//
// Only regular files and folders are opened, also behind links. Opening a FIFO would
// wait for a writer, reading a device may never end, and reading either of them may
// take something away from somebody else. The one stream that a command line may name
// is opened by [open].
type files struct {
	fs.FS
	memory *budget.Budget
}

// files gives the files below a folder of the host.
func (o Options) files(dir string) *files { return &files{o.host(dir), o.Memory} }

// Open implements fs.FS. It looks at the kind of a file before it opens it.
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

// notRegular is the error for a file that is not read because it is a FIFO, a device or
// the like.
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

// readAll gives the uncompressed content of a file, which callers must not change. The
// memory stays charged to the budget, because most of what is read is kept.
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

// gather reads all of a stream that is expected to have size bytes. It asks the budget
// before it makes room for each further piece. If the stream fails, gather returns what
// came before, together with the error.
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

// tables asks the budget for the memory of tables that are made from a text: each bytes
// for every byte of the text.
func (f *files) tables(text []byte, each int64, shown string) error {
	if err := f.memory.Take(each*int64(len(text)), "the tables made of it"); err != nil {
		return fileError(shown, fmt.Sprintf("%d bytes are too many", len(text)), err)
	}
	return nil
}
