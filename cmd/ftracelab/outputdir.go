package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// outputDir is a folder that a command writes, completely or not at all. It gets its
// name last. Nothing with that name may exist before.
type outputDir struct {
	ctx       context.Context
	path, tmp string
	done      func(last func() error) error
	committed bool
}

func createOutputDir(ctx context.Context, path string) (*outputDir, error) {
	path = filepath.Clean(path)
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("%s: %w", path, fs.ErrExist)
	}
	o := &outputDir{ctx: ctx, path: path}
	var err error
	o.done, err = lifetimeOf(ctx).atEnd(func() (err error) {
		o.tmp, err = freshName(filepath.Dir(path), func(name string) error { return os.Mkdir(name, 0o777) })
		return err
	}, func() { _ = os.RemoveAll(o.tmp) })
	if err != nil {
		return nil, outputError(path, err)
	}
	return o, nil
}

// write writes a file of the folder.
func (o *outputDir) write(name string, data []byte) (err error) {
	const step = 1 << 20 // after so many bytes, the context is checked again
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", filepath.Join(o.path, name), cause(err))
		}
	}()
	var f *os.File
	err = lifetimeOf(o.ctx).unlessOver(func() (err error) { // nothing may be added to a folder that is being removed
		f, err = os.OpenFile(filepath.Join(o.tmp, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for len(data) > 0 {
		if err := o.ctx.Err(); err != nil {
			return err
		}
		n, err := f.Write(data[:min(step, len(data))])
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// commit gives the folder its name.
func (o *outputDir) commit() error {
	err := o.done(func() error { return os.Rename(o.tmp, o.path) })
	if err != nil {
		return fmt.Errorf("%s: %w", o.path, cause(err))
	}
	o.committed = true
	return nil
}

// discard removes what was not committed.
func (o *outputDir) discard() error {
	if o.committed {
		return nil
	}
	return o.done(func() error { return os.RemoveAll(o.tmp) })
}
