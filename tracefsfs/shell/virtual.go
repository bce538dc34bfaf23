package shell

import (
	"context"
	"errors"
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
	name   string
	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex // held while the handle works
	closed bool
}

func newVirtualFile(ctx context.Context, h tracefile.Handle, name string) *virtualFile {
	f := &virtualFile{h: h, name: name}
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
	n, err := tracefsfs.WriteAll(f.ctx, f.h, p)
	if hint := writeHint(f.name, p); err != nil && hint != "" {
		err = hinted{err, hint}
	}
	return n, err
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
func virtualTree(tracefs *tracefsfs.FS, m *mounts, files map[string]tracefile.Node) *tracefsfs.FS {
	root := newFolder("")
	for name, file := range builtinFiles(m) {
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
func builtinFiles(m *mounts) map[string]tracefile.Node {
	text := func(s string) *tracefile.File {
		return tracefile.Value("", 0o444, func() string { return s }, nil)
	}
	device := func(open func() tracefile.Handle) *tracefile.File {
		return &tracefile.File{Mode: 0o666, Open: func(context.Context, tracefile.Flags) (tracefile.Handle, error) { return open(), nil }}
	}
	mounts := tracefile.Value("", 0o444, m.table, nil)
	return map[string]tracefile.Node{
		"/dev/null":         device(func() tracefile.Handle { return nullHandle{} }),
		"/dev/zero":         device(func() tracefile.Handle { return new(zeroHandle) }),
		"/proc/mounts":      mounts,
		"/proc/self/mounts": mounts,
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
func (nullHandle) Poll() tracefile.Events                         { return tracefile.PollAlways }
func (nullHandle) Close() error                                   { return nil }

// zeroHandle is /dev/zero. It gives zeroSpeed bytes per millisecond of simulated time,
// so that a program which copies them for ever can be ended.
type zeroHandle struct {
	nullHandle
	given int
}

const zeroSpeed = 4 << 20

func (z *zeroHandle) Read(ctx context.Context, p []byte) (int, error) {
	z.given += len(p)
	for ; z.given >= zeroSpeed; z.given -= zeroSpeed {
		if err := WaitForTime(ctx); err != nil && !errors.Is(err, ErrNoProcess) {
			return 0, err
		}
	}
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
