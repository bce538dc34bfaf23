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

// outputFile is a file that a command writes. The content first goes to a temporary
// file, and to its place only when it is complete. So whatever happens before, the old
// content stays and nothing else is left.
//
// A regular file is replaced by a rename. Its mode and owner stay the same, and a
// symbolic link stays one. A device, a FIFO or the standard output is written to
// directly. So is a file that a new one cannot replace: because it has several names or
// attributes that a new one would not have, or because its folder takes no new file.
//
// As with a shell's redirection, nothing is synced to the disk. Errors of all writes
// and closes are reported.
type outputFile struct {
	path string                    // the path as the user named it
	to   string                    // the path of the file behind links; "": a stream
	old  fs.FileInfo               // the file that is there now; nil: there is none
	copy func(from *os.File) error // copies the content to its place; nil: it is renamed
	*os.File
	done func(last func() error) error
}

// stdoutName stands for the standard output where a file is asked for.
const stdoutName = "-"

// writeOutput writes a file completely or not at all.
func writeOutput(o *outputFile, write func(*os.File) error) (err error) {
	defer func() { err = errors.Join(err, o.discard()) }()
	if err = write(o.File); err == nil {
		err = o.commit()
	}
	return o.named(err)
}

// named puts the output's name into an error about the output or its temporary file.
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

// createOutput prepares to write path, where "-" stands for stdout. The inputs, which
// are files and folders, must not be overwritten.
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

// outputError names the output that could not be written, and the folder if that is
// missing.
func outputError(path string, err error) error {
	if _, serr := os.Stat(filepath.Dir(path)); errors.Is(serr, fs.ErrNotExist) {
		return fmt.Errorf("%s: there is no folder %s", path, filepath.Dir(path))
	}
	return fmt.Errorf("%s: %w", path, cause(err))
}

// cause strips the name from the error of a file system, because our message names the
// file itself.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// find finds out what is at path now.
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
	// This is the standard output by another name. What has been written to it must
	// stay, and a socket could not be opened.
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

// behindLinks gives the file that would be made if path, behind which there is no file,
// were opened.
func behindLinks(path string) (string, error) {
	const most = 40 // links, the same limit as in the kernel
	for range most {
		link, err := os.Readlink(path)
		if err != nil { // name is not a link
			return path, nil
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(path), link)
		}
		path = link
	}
	return "", syscall.ELOOP
}

// open makes the temporary file: beside the file that it replaces, or in the folder for
// temporary files if it is copied.
func (o *outputFile) open(l *lifetime) error {
	if o.copy == nil {
		mode := fs.FileMode(0o666)
		if o.old != nil {
			mode = 0o600 // nobody else may read it until it is complete
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
		if f, err := os.OpenFile(o.to, os.O_WRONLY, 0); err != nil { // checks now that it can be written later
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

// freshName makes something under a name that does not exist yet.
func freshName(dir string, make func(name string) error) (name string, err error) {
	for n := range 10_000 {
		name = filepath.Join(dir, fmt.Sprintf(".ftracelab-%d-%d", os.Getpid(), n))
		if err = make(name); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return name, err
}

// standsFor gives the temporary file the mode and owner of the old one, and reports
// whether it can take its place.
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

// commit puts the content in its place.
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

// discard removes the temporary file if commit has not used it.
func (o *outputFile) discard() error {
	if _, err := os.Lstat(o.Name()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_ = o.Close() // the error does not matter any more, and it may be closed already
	return o.done(func() error { return os.Remove(o.Name()) })
}

// overwrite writes over the file. The part that makes the file longer is written first:
// if the disk is full, that part is removed again, and the old content is still there.
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
