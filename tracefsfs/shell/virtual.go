package shell

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/tracefile"
)

// virtualFile is an open file of the virtual tree, as the interpreter and the
// commands want one. Close cancels a waiting Read and waits for it, so that a
// handle sees one call at a time.
type virtualFile struct {
	h      tracefile.Handle
	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex // held while the handle works
	closed bool
}

func newVirtualFile(ctx context.Context, h tracefile.Handle) *virtualFile {
	f := &virtualFile{h: h}
	f.ctx, f.cancel = context.WithCancel(ctx)
	return f
}

func (f *virtualFile) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, syscall.EBADF
	}
	return f.h.Read(f.ctx, p)
}

// Write writes p, and again what a short write(2) left, as programs do.
func (f *virtualFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, syscall.EBADF
	}
	return tracefsfs.WriteAll(f.ctx, f.h, p)
}

func (f *virtualFile) Close() error {
	f.cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	err := f.h.Flush()
	if cerr := f.h.Close(); err == nil {
		err = cerr
	}
	return err
}

// virtualTree hangs the tracefs, the files given by their paths, and the
// shell's own /dev and /proc into one tree.
func virtualTree(tracefs *tracefsfs.FS, files map[string]tracefile.Node) *tracefsfs.FS {
	root := newFolder("")
	for name, file := range builtinFiles() {
		root.put(name, file)
	}
	for _, name := range sortedKeys(files) {
		root.put(path.Clean("/"+name), files[name])
	}
	for _, mount := range []string{tracing, debugTracing} {
		top := *tracefs.Root()
		top.Name, top.Mode = path.Base(mount), 0o700
		root.put(mount, &top)
	}
	return tracefsfs.New(root.dir())
}

// builtinFiles are the virtual files that every shell has.
func builtinFiles() map[string]tracefile.Node {
	text := func(s string) *tracefile.File {
		return tracefile.Value("", 0o444, func() string { return s }, nil)
	}
	device := func(h tracefile.Handle) *tracefile.File {
		return &tracefile.File{Mode: 0o666, Open: func(context.Context, tracefile.Flags) (tracefile.Handle, error) { return h, nil }}
	}
	mounts := fmt.Sprintf("tracefs %s tracefs rw,nosuid,nodev,noexec,relatime 0 0\ntmpfs /tmp tmpfs rw 0 0\n", tracing)
	return map[string]tracefile.Node{
		"/dev/null":         device(nullHandle{}),
		"/dev/zero":         device(zeroHandle{}),
		"/proc/mounts":      text(mounts),
		"/proc/self/mounts": text(mounts),
		"/proc/self/comm":   text("sh\n"),
		"/proc/self/stat":   text(shellPID + " (sh) R " + parentPID + strings.Repeat(" 0", 48) + "\n"),
		"/proc/version":     text(KernelVersion + "\n"),
	}
}

// nullHandle is /dev/null.
type nullHandle struct{}

func (nullHandle) Read(context.Context, []byte) (int, error)      { return 0, io.EOF }
func (nullHandle) Write(_ context.Context, p []byte) (int, error) { return len(p), nil }
func (nullHandle) Flush() error                                   { return nil }
func (nullHandle) Close() error                                   { return nil }

// zeroHandle is /dev/zero.
type zeroHandle struct{ nullHandle }

func (zeroHandle) Read(_ context.Context, p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// folder is a folder made of paths.
type folder struct {
	name    string
	entries map[string]tracefile.Node
	folders map[string]*folder
}

func newFolder(name string) *folder {
	return &folder{name: name, entries: map[string]tracefile.Node{}, folders: map[string]*folder{}}
}

// put hangs node at name, under the name's last part.
func (f *folder) put(name string, node tracefile.Node) {
	parts := strings.Split(strings.Trim(name, "/"), "/")
	for _, part := range parts[:len(parts)-1] {
		next, ok := f.folders[part]
		if !ok {
			next = newFolder(part)
			f.folders[part] = next
			f.entries[part] = next.dir()
		}
		f = next
	}
	last := parts[len(parts)-1]
	if file, ok := node.(*tracefile.File); ok {
		named := *file
		named.Name = last
		node = &named
	}
	f.entries[last] = node
}

func (f *folder) dir() *tracefile.Dir {
	return &tracefile.Dir{Name: f.name, Mode: 0o755, Children: func() []tracefile.Node {
		list := make([]tracefile.Node, 0, len(f.entries))
		for _, name := range sortedKeys(f.entries) {
			list = append(list, f.entries[name])
		}
		return list
	}}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
