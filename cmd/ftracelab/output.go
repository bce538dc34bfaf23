package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// outputFile is a file that a command writes. What is written goes to a temporary file
// first, and only when it is whole, to where it belongs. So whatever happens before, the
// old content stays and nothing else is left.
//
// A regular file is replaced by a rename. It keeps its mode and owner, and a symbolic
// link stays one. A device, a FIFO or the standard output is written to. So is a file
// that a new one could not stand for: one with several names, with attributes that a
// new one would lack, or in a folder that takes no new file.
//
// Nothing is synced to the disk, as with a shell's redirection, but the error of each
// write and close is reported.
type outputFile struct {
	path string                    // as it was named
	to   string                    // the file itself, behind links; "": a stream
	old  fs.FileInfo               // what is there now; nil: nothing
	copy func(from *os.File) error // how the content gets there; nil: by a rename
	*os.File
	done func(last func() error) error
}

// stdoutName names the standard output where a file is asked for.
const stdoutName = "-"

// writeOutput writes a file as a whole or not at all.
func writeOutput(o *outputFile, write func(*os.File) error) (err error) {
	defer func() { err = errors.Join(err, o.discard()) }()
	if err = write(o.File); err == nil {
		err = o.commit()
	}
	return o.named(err)
}

// named puts the output's name into an error about its temporary file, or about itself.
func (o *outputFile) named(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p) && (p.Path == o.Name() || p.Path == o.path || p.Path == o.to):
		return fmt.Errorf("%s: %w", o.path, p.Err)
	case errors.As(err, &l):
		return fmt.Errorf("%s: %w", o.path, l.Err)
	}
	return err
}

// createOutput prepares to write path, "-" being stdout. The inputs, files and folders,
// must not be overwritten.
func createOutput(ctx context.Context, path string, stdout io.Writer, inputs ...string) (*outputFile, error) {
	o := &outputFile{path: path}
	if err := o.find(stdout); err != nil {
		return nil, fmt.Errorf("%s: %w", path, cause(err))
	}
	if err := o.refuse(inputs); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := o.open(lifetimeOf(ctx)); err != nil {
		return nil, outputError(path, err)
	}
	return o, nil
}

// outputError names what was to be written, and a folder that is missing.
func outputError(path string, err error) error {
	if _, serr := os.Stat(filepath.Dir(path)); errors.Is(serr, fs.ErrNotExist) {
		return fmt.Errorf("%s: there is no folder %s", path, filepath.Dir(path))
	}
	return fmt.Errorf("%s: %w", path, cause(err))
}

// cause strips the name from the error of a file system; ours is told with it.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// find looks at what path is now.
func (o *outputFile) find(stdout io.Writer) error {
	toStdout := func(from *os.File) error { _, err := io.Copy(stdout, from); return err }
	if o.path == stdoutName {
		o.copy = toStdout
		return nil
	}
	info, err := os.Stat(o.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		o.to, err = behindLinks(o.path)
		return err
	case err != nil:
		return err
	case info.IsDir():
		return syscall.EISDIR
	}
	o.old = info
	// The standard output by another name: what has been written to it stays, and a
	// socket could not be opened.
	if is, err := os.Stdout.Stat(); err == nil && os.SameFile(is, info) {
		o.copy = toStdout
		return nil
	}
	if info.Mode().IsRegular() {
		o.to, err = filepath.EvalSymlinks(o.path)
		return err
	}
	if info.Mode()&fs.ModeSocket != 0 {
		return errors.New("a socket cannot be opened; connect to it, and write to -")
	}
	o.copy = func(from *os.File) error {
		f, err := os.OpenFile(o.path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, from)
		return errors.Join(err, f.Close())
	}
	return nil
}

// behindLinks is the file that would be made if path, which leads to none, were opened.
func behindLinks(path string) (string, error) {
	const most = 40 // as in the kernel
	for range most {
		link, err := os.Readlink(path)
		if err != nil { // it is no link
			return path, nil
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(path), link)
		}
		path = link
	}
	return "", syscall.ELOOP
}

// open makes the temporary file: beside the one it is to replace, or where it will be
// copied from.
func (o *outputFile) open(l *lifetime) error {
	if o.copy == nil {
		mode := fs.FileMode(0o666)
		if o.old != nil {
			mode = 0o600 // until it is whole, nobody else may read it
		}
		err := o.temp(l, filepath.Dir(o.to), mode)
		if err == nil && o.old != nil && !o.standsFor() {
			err = o.drop()
			o.File, o.done = nil, nil
		}
		switch {
		case o.File != nil || o.old == nil && err != nil:
			return err
		case err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS):
			return err
		}
		if f, err := os.OpenFile(o.to, os.O_WRONLY, 0); err != nil { // it will have to be written
			return err
		} else if err := f.Close(); err != nil {
			return err
		}
		o.copy = o.overwrite
	}
	if err := o.temp(l, os.TempDir(), 0o600); err != nil {
		return fmt.Errorf("a temporary file in %s: %w", os.TempDir(), cause(err))
	}
	return nil
}

// temp makes the temporary file in dir.
func (o *outputFile) temp(l *lifetime, dir string, mode fs.FileMode) (err error) {
	var name string
	o.done, err = l.atEnd(func() error {
		name, err = freshName(dir, func(name string) (err error) {
			o.File, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
			return err
		})
		return err
	}, func() { _ = os.Remove(name) })
	return err
}

// freshName makes something under a name that nothing has.
func freshName(dir string, make func(name string) error) (name string, err error) {
	for n := range 10_000 {
		name = filepath.Join(dir, fmt.Sprintf(".ftracelab-%d-%d", os.Getpid(), n))
		if err = make(name); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return name, err
}

// standsFor gives the temporary file what the old one has beside its content, and says
// whether that went.
func (o *outputFile) standsFor() bool {
	if !onlyName(o.old) || hasAttributes(o.to) {
		return false
	}
	now, err := o.Stat()
	if err != nil || !sameOwner(now, o.old) && chownLike(o.File, o.old) != nil {
		return false
	}
	return o.Chmod(o.old.Mode().Perm()) == nil
}

// commit puts what was written where it belongs.
func (o *outputFile) commit() (err error) {
	if o.copy == nil {
		if err := o.Close(); err != nil {
			return err
		}
		return o.done(func() error { return os.Rename(o.Name(), o.to) })
	}
	if _, err := o.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return errors.Join(o.copy(o.File), o.drop())
}

// drop removes the temporary file.
func (o *outputFile) drop() error {
	return errors.Join(o.Close(), o.done(func() error { return os.Remove(o.Name()) }))
}

// discard removes what commit has not used.
func (o *outputFile) discard() error {
	if _, err := os.Lstat(o.Name()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_ = o.Close() // of no interest any more, and maybe done
	return o.done(func() error { return os.Remove(o.Name()) })
}

// overwrite writes over the file. What makes it longer is written first: if the disk is
// full, that is taken back, and the old content is still there.
func (o *outputFile) overwrite(from *os.File) (err error) {
	f, err := os.OpenFile(o.to, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	was, err := f.Stat()
	if err != nil {
		return err
	}
	is, err := from.Stat()
	if err != nil {
		return err
	}
	part := func(at, n int64) error {
		_, err := io.Copy(io.NewOffsetWriter(f, at), io.NewSectionReader(from, at, n))
		return err
	}
	if more := is.Size() - was.Size(); more > 0 {
		if err := part(was.Size(), more); err != nil {
			return errors.Join(err, f.Truncate(was.Size()))
		}
	}
	if err := part(0, min(is.Size(), was.Size())); err != nil {
		return err
	}
	return f.Truncate(is.Size())
}
