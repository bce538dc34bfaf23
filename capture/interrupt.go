package capture

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
)

// hostFS is a folder of the host. Reads of its files fail once a context is done.
type hostFS struct {
	fs.FS
	ctx context.Context
}

// host gives the file system of a folder of the host.
func (o Options) host(dir string) fs.FS {
	if o.Context == nil {
		return os.DirFS(dir)
	}
	return hostFS{os.DirFS(dir), o.Context}
}

func (h hostFS) Open(name string) (fs.File, error) {
	if err := h.ctx.Err(); err != nil {
		return nil, err
	}
	f, err := h.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return hostFile{f, h.ctx}, nil
}

// Stat implements fs.StatFS. Without it, package fs would open a file in order to look
// at it.
func (h hostFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(h.FS, name) }

// ReadDir implements fs.ReadDirFS.
func (h hostFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(h.FS, name) }

// hostFile has the methods that a file of os.DirFS has.
type hostFile struct {
	fs.File
	ctx context.Context
}

func (f hostFile) Read(b []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	return f.File.Read(b)
}

func (f hostFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	at, ok := f.File.(io.ReaderAt)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return at.ReadAt(b, off)
}

func (f hostFile) ReadDir(n int) ([]fs.DirEntry, error) {
	dir, ok := f.File.(fs.ReadDirFile)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return dir.ReadDir(n)
}
