package shell

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"ftracelab/internal/userland/tool"
)

// eachName calls do for each argument and tells of errors; the status is 1 then.
func (c *call) eachName(names []string, what string, do func(name string) error) int {
	if len(names) == 0 {
		return c.Usage("missing operand")
	}
	status := 0
	for _, name := range names {
		if err := do(name); err != nil {
			if what == "" {
				c.Fail(name, err)
			} else {
				fmt.Fprintf(c.Stderr, "%s: %s '%s': %s\n", c.Name, what, name, tool.Reason(err))
			}
			status = 1
		}
	}
	return status
}

func mkdir(c *call) int {
	opts, names, ok := c.Options("pm:v")
	if !ok {
		return 1
	}
	parents := false
	for _, o := range opts {
		parents = parents || o.Flag == 'p'
	}
	return c.eachName(names, "cannot create directory", func(name string) error {
		target := c.path(name)
		if !parents {
			return c.sh.ns.mkdir(target)
		}
		for at := 1; at <= len(target); at++ {
			if at < len(target) && target[at] != '/' {
				continue
			}
			err := c.sh.ns.mkdir(target[:at])
			if err == nil {
				continue
			}
			if info, serr := c.sh.ns.stat(target[:at]); serr != nil || !info.IsDir() {
				return err
			}
		}
		return nil
	})
}

func rmdir(c *call) int {
	_, names, ok := c.Options("pv")
	if !ok {
		return 1
	}
	return c.eachName(names, "failed to remove", func(name string) error { return c.sh.ns.rmdir(c.path(name)) })
}

func rm(c *call) int {
	opts, names, ok := c.Options("rRfv")
	if !ok {
		return 1
	}
	recursive, force := false, false
	for _, o := range opts {
		recursive, force = recursive || o.Flag|0x20 == 'r', force || o.Flag == 'f'
	}
	if len(names) == 0 && force {
		return 0
	}
	return c.eachName(names, "cannot remove", func(name string) error {
		target := c.path(name)
		info, err := c.sh.ns.stat(target)
		switch {
		case err != nil && force && errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case info.IsDir() && recursive:
			return c.removeAll(target)
		}
		return c.sh.ns.remove(target)
	})
}

// removeAll removes a folder with all it holds, but none of the tracefs.
func (c *call) removeAll(target string) error {
	if resolved := c.sh.ns.mounts.resolve(target); isVirtual(resolved) {
		return syscall.EPERM
	}
	list, err := c.sh.ns.readDir(target)
	if err != nil {
		return err
	}
	for _, entry := range list {
		child := path.Join(target, entry.Name())
		if entry.IsDir() {
			err = c.removeAll(child)
		} else {
			err = c.sh.ns.remove(child)
		}
		if err != nil {
			return err
		}
	}
	return c.sh.ns.rmdir(target)
}

func touch(c *call) int {
	_, names, ok := c.Options("c")
	if !ok {
		return 1
	}
	return c.eachName(names, "cannot touch", func(name string) error {
		if _, err := c.sh.ns.stat(c.path(name)); err == nil {
			return nil // times are not kept
		}
		f, err := c.Create(name, true)
		if err != nil {
			return err
		}
		return f.Close()
	})
}

func cp(c *call) int { return c.transfer(false) }
func mv(c *call) int { return c.transfer(true) }

// transfer copies files to a file or into a folder, and removes them if move.
func (c *call) transfer(move bool) int {
	_, names, ok := c.Options("fipav")
	if !ok || len(names) < 2 {
		return c.Usage("usage: %s from… to", c.Name)
	}
	to := names[len(names)-1]
	info, err := c.sh.ns.stat(c.path(to))
	intoDir := err == nil && info.IsDir()
	if len(names) > 2 && !intoDir {
		return c.Usage("target '%s' is not a directory", to)
	}
	status := 0
	for _, name := range names[:len(names)-1] {
		target := to
		if intoDir {
			target = path.Join(to, path.Base(name))
		}
		err := c.transferFile(name, target, move)
		if err == nil {
			continue
		}
		status = 1
		if move {
			name = fmt.Sprintf("cannot move '%s' to '%s'", name, target)
		}
		c.Fail(name, err)
	}
	return status
}

func (c *call) transferFile(from, to string, move bool) error {
	if c.path(from) == c.path(to) {
		return errors.New("is the same file")
	}
	if source := c.sh.ns.mounts.resolve(c.path(from)); move && !c.sh.ns.inMemory(source) && !c.sh.ns.hostWrite {
		return syscall.EPERM
	} else if move && isVirtual(source) {
		return syscall.EPERM
	}
	if err := c.copyFile(from, to); err != nil || !move {
		return err
	}
	return c.sh.ns.remove(c.path(from))
}

func (c *call) copyFile(from, to string) error {
	in, err := c.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := c.Create(to, false)
	if err != nil {
		return err
	}
	defer out.Close()
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, make([]byte, tool.CopyBlock))
	return err
}

// mktemp makes a file or folder in /tmp with the next free name.
func mktemp(c *call) int {
	opts, rest, ok := c.Options("dqutp:")
	if !ok || len(rest) > 1 {
		return 1
	}
	folder, template := false, "/tmp/tmp.XXXXXXXXXX"
	for _, o := range opts {
		folder = folder || o.Flag == 'd'
	}
	if len(rest) == 1 {
		template = rest[0]
	}
	base := strings.TrimRight(template, "X")
	width := len(template) - len(base)
	if width < 3 {
		return c.Usage("too few X's in template '%s'", template)
	}
	for range 1000 {
		c.sh.mu.Lock()
		c.sh.nextID++
		name := fmt.Sprintf("%s%0*d", base, width, c.sh.nextID)
		c.sh.mu.Unlock()
		var err error
		if folder {
			err = c.sh.ns.mkdir(c.path(name))
		} else {
			var f io.Closer
			if f, err = c.sh.ns.open(c.Ctx, c.path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
				f.Close()
			}
		}
		switch {
		case err == nil:
			c.Printf("%s\n", name)
			return 0
		case !errors.Is(err, fs.ErrExist):
			c.Fail(template, err)
			return 1
		}
	}
	return c.Usage("no free name for '%s'", template)
}

// refuse is chmod, chown and chgrp: modes and owners are fixed here.
func refuse(c *call) int {
	fmt.Fprintf(c.Stderr, "%s: changing modes and owners is not in the lab: %s\n", c.Name, strerror{syscall.EPERM})
	return 1
}
