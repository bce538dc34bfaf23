package capture

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
)

// hostFS is a folder of the host. Reads of its files fail once a context is done.
type hostFS struct {
	fs.FS
	ctx  context.Context
	read *atomic.Int64 // Options.Read; may be nil
}

// host gives the file system of a folder of the host.
func (o Options) host(dir string) fs.FS {
	ctx := o.Context
	if ctx == nil {
		ctx = context.Background()
	}
	return hostFS{os.DirFS(dir), ctx, o.Read}
}

func (h hostFS) Open(name string) (fs.File, error) {
	if err := h.ctx.Err(); err != nil {
		return nil, err
	}
	f, err := h.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return hostFile{f, h}, nil
}

// Stat implements fs.StatFS. Without it, package fs would open a file in order to look
// at it.
func (h hostFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(h.FS, name) }

// ReadDir implements fs.ReadDirFS.
func (h hostFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(h.FS, name) }

// hostFile has the methods that a file of os.DirFS has.
type hostFile struct {
	fs.File
	fsys hostFS
}

func (f hostFile) count(n int) {
	if f.fsys.read != nil {
		f.fsys.read.Add(int64(n))
	}
}

func (f hostFile) Read(b []byte) (int, error) {
	if err := f.fsys.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := f.File.Read(b)
	f.count(n)
	return n, err
}

func (f hostFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.fsys.ctx.Err(); err != nil {
		return 0, err
	}
	at, ok := f.File.(io.ReaderAt)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	n, err := at.ReadAt(b, off)
	f.count(n)
	return n, err
}

func (f hostFile) ReadDir(n int) ([]fs.DirEntry, error) {
	dir, ok := f.File.(fs.ReadDirFile)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return dir.ReadDir(n)
}
