package cell

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/fusefs"
	"ftracelab/tracefsfs/tracefile"
)

// Where the server has the trees, below Tracing, until the cell takes them over.
const (
	treeDir  = Tracing + "/tree"
	filesDir = Tracing + "/files" // by the numbers of the overlays
)

// mount mounts the trees.
func (c *Cell) mount(cfg Config) (err error) {
	for _, dir := range []string{treeDir, filesDir} {
		if err := unix.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if !cfg.PlainSource {
		cfg.Tracing.Source = fusefs.SpoofedSource(Tracing, "tracefs")
		c.plan.DebugSource = fusefs.SpoofedSource(Debug, "debugfs")
	}
	cfg.Tracing.Closing = new(fusefs.Closing)
	if c.tracing, err = fusefs.New(treeDir, cfg.Tracing); err != nil {
		return err
	}
	var nodes []tracefile.Node
	for i, o := range cfg.Overlays {
		nodes = append(nodes, o.node(strconv.Itoa(i)))
		c.plan.Overlays = append(c.plan.Overlays, o.Path)
	}
	root := &tracefile.Dir{Mode: 0o755, Children: func() []tracefile.Node { return nodes }}
	// A name without "tracefs" in it: who looks for the word finds the tree.
	c.host, err = fusefs.New(filesDir, fusefs.Config{
		FS: tracefsfs.New(root), Source: "ftracelab", Type: "ftracelab",
		Before: absolute(cfg.Overlays, cfg.Before), PID: cfg.Tracing.PID,
		Helper: cfg.Tracing.Helper, NotSelf: true, Closing: cfg.Tracing.Closing,
	})
	return err
}

// node is the overlay under another name.
func (o Overlay) node(name string) tracefile.Node {
	switch n := o.Node.(type) {
	case *tracefile.Dir:
		dir := *n
		dir.Name = name
		return &dir
	case *tracefile.File:
		file := *n
		if o.NoWrite {
			file = *n.OnWrite(func([]byte) error {
				return tracefile.Errorf(syscall.EIO, "%s has no write operation", o.Path)
			})
		}
		file.Name = name
		return &file
	}
	panic("cell: invariant: a node is a file or a folder")
}

// absolute gives before the paths at which overlays stand.
func absolute(overlays []Overlay, before func(fusefs.Request)) func(fusefs.Request) {
	if before == nil {
		return nil
	}
	return func(r fusefs.Request) {
		number, below, _ := strings.Cut(r.Path, "/")
		if i, err := strconv.Atoi(number); err == nil && i < len(overlays) {
			r.Path = filepath.Join(overlays[i].Path, below)
			if overlays[i].NoWrite && r.Op == fusefs.OpWrite {
				r.Errno = syscall.EIO
			}
			before(r)
		}
	}
}
