package tracefsfs

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"syscall"
	"time"

	"ftracelab/tracefsfs/tracefile"
)

var (
	_ fs.ReadDirFS  = (*FS)(nil)
	_ fs.StatFS     = (*FS)(nil)
	_ fs.ReadFileFS = (*FS)(nil)
)

// Open opens name for reading, for io/fs. Its reads cannot be cancelled; use
// OpenHandle for a trace_pipe.
func (f *FS) Open(name string) (fs.File, error) {
	node, err := f.valid("open", name)
	if err != nil {
		return nil, err
	}
	if dir, ok := node.(*tracefile.Dir); ok {
		return &openDir{info: info{node}, rest: entries(dir)}, nil
	}
	h, err := f.OpenHandle(context.Background(), name, tracefile.Read)
	if err != nil {
		return nil, err
	}
	return &openFile{info: info{node}, name: name, h: h}, nil
}

// ReadFile reads the whole file once, as cat does.
func (f *FS) ReadFile(name string) ([]byte, error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	_, err = text.ReadFrom(file)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// ReadDir lists a folder, sorted by name.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	node, err := f.valid("readdir", name)
	if err != nil {
		return nil, err
	}
	dir, ok := node.(*tracefile.Dir)
	if !ok {
		return nil, pathError("readdir", name, syscall.ENOTDIR)
	}
	return entries(dir), nil
}

// Stat describes a file or folder: its size is 0 and its time is zero.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	node, err := f.valid("stat", name)
	if err != nil {
		return nil, err
	}
	return info{node}, nil
}

// valid is Lookup with the stricter paths of io/fs.
func (f *FS) valid(op, name string) (tracefile.Node, error) {
	if !fs.ValidPath(name) {
		return nil, pathError(op, name, fs.ErrInvalid)
	}
	return f.Lookup(name)
}

// WriteFile is "printf %s DATA > name": it opens with O_TRUNC and writes data.
func WriteFile(f *FS, name, data string) error {
	return write(f, name, data, tracefile.Write|tracefile.Trunc)
}

// Append is "printf %s DATA >> name".
func Append(f *FS, name, data string) error {
	return write(f, name, data, tracefile.Write|tracefile.Append)
}

func write(f *FS, name, data string, flags tracefile.Flags) error {
	ctx := context.Background()
	h, err := f.OpenHandle(ctx, name, flags)
	if err != nil {
		return err
	}
	_, err = WriteAll(ctx, h, []byte(data))
	if ferr := h.Flush(); err == nil {
		err = ferr
	}
	if cerr := h.Close(); err == nil {
		err = cerr
	}
	return pathError("write", name, err)
}

// WriteAll writes p, and again what a short write left, as programs do. It
// returns how much was taken, and EIO if a write takes nothing of something.
// An empty p is one empty write.
func WriteAll(ctx context.Context, h tracefile.Handle, p []byte) (int, error) {
	done := 0
	for {
		n, err := h.Write(ctx, p[done:])
		if err != nil {
			return done, err
		}
		done += n
		if done >= len(p) {
			return done, nil
		}
		if n == 0 {
			return done, tracefile.Errorf(syscall.EIO, "a write took none of %d bytes", len(p)-done)
		}
	}
}

// info is the fs.FileInfo and fs.DirEntry of a node.
type info struct{ node tracefile.Node }

// Name is the node's name, and "." for the root, which has none of its own.
func (fi info) Name() string {
	if fi.node.NodeName() == "" {
		return "."
	}
	return fi.node.NodeName()
}

func (fi info) Size() int64                { return 0 }
func (fi info) Mode() fs.FileMode          { return fi.node.NodeMode() }
func (fi info) Type() fs.FileMode          { return fi.node.NodeMode().Type() }
func (fi info) ModTime() time.Time         { return time.Time{} }
func (fi info) IsDir() bool                { return fi.node.NodeMode().IsDir() }
func (fi info) Sys() any                   { return nil }
func (fi info) Info() (fs.FileInfo, error) { return fi, nil }
func (fi info) String() string             { return fs.FormatDirEntry(fi) }

func entries(dir *tracefile.Dir) []fs.DirEntry {
	nodes := sorted(dir)
	list := make([]fs.DirEntry, len(nodes))
	for i, node := range nodes {
		list[i] = info{node}
	}
	return list
}

// openFile is a file opened through io/fs.
type openFile struct {
	info
	name string
	h    tracefile.Handle
}

func (o *openFile) Stat() (fs.FileInfo, error) { return o.info, nil }
func (o *openFile) Close() error               { return o.h.Close() }

func (o *openFile) Read(p []byte) (int, error) {
	n, err := o.h.Read(context.Background(), p)
	if err != nil && err != io.EOF {
		err = pathError("read", o.name, err)
	}
	return n, err
}

// openDir is a folder opened through io/fs.
type openDir struct {
	info
	rest []fs.DirEntry
}

func (o *openDir) Stat() (fs.FileInfo, error) { return o.info, nil }
func (o *openDir) Close() error               { return nil }

func (o *openDir) Read([]byte) (int, error) {
	return 0, pathError("read", o.Name(), syscall.EISDIR)
}

func (o *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(o.rest)
	} else if len(o.rest) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(o.rest))
	list := o.rest[:n:n]
	o.rest = o.rest[n:]
	return list, nil
}
