package fusefs

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/tracefile"
)

// fakeTree is a small tree with all that a server treats in a way of its own: instances,
// files that wait, raw pipes, files that are busy while others are open, folders that pass.
type fakeTree struct {
	mu        sync.Mutex
	instances map[string]bool
	tracingOn bool
	passing   bool
	pages     int          // that trace_pipe_raw has yet
	open      atomic.Int64 // handles
}

type fakeHandle struct {
	t    *fakeTree
	read func(context.Context, []byte) (int, error)
	once sync.Once
}

func (h *fakeHandle) Read(ctx context.Context, p []byte) (int, error) { return h.read(ctx, p) }
func (h *fakeHandle) Write(_ context.Context, p []byte) (int, error) {
	if len(p) > 0 && p[0] == '!' {
		return 0, syscall.EINVAL
	}
	return len(p), nil
}
func (h *fakeHandle) Flush() error           { return nil }
func (h *fakeHandle) Poll() tracefile.Events { return tracefile.PollAlways }
func (h *fakeHandle) Close() error           { h.once.Do(func() { h.t.open.Add(-1) }); return nil }

func (t *fakeTree) file(name string, read func(context.Context, []byte) (int, error)) *tracefile.File {
	return &tracefile.File{Name: name, Mode: 0o640, Open: func(context.Context, tracefile.Flags) (tracefile.Handle, error) {
		t.open.Add(1)
		return &fakeHandle{t: t, read: read}, nil
	}}
}

// raw is a file of sub-buffers whose ring is emptied now and then.
func (t *fakeTree) raw(page func(context.Context, []byte) (int, error)) *tracefile.File {
	f := t.file("trace_pipe_raw", page)
	var asked atomic.Uint64
	f.Ring = &tracefile.Ring{
		Ready:     func() bool { return asked.Load()%4 > 0 },
		Recording: func() bool { return asked.Load()%5 > 0 },
		Emptied:   func() uint64 { return asked.Add(1) / 3 },
	}
	return f
}

func fakeDir(name string, children ...tracefile.Node) *tracefile.Dir {
	return &tracefile.Dir{Name: name, Mode: 0o750, Children: func() []tracefile.Node { return children }}
}

// top are the files of an instance.
func (t *fakeTree) top() []tracefile.Node {
	end := func(context.Context, []byte) (int, error) { return 0, io.EOF }
	wait := func(ctx context.Context, _ []byte) (int, error) {
		if ctx.Value(nonBlockKey{}) != nil {
			return 0, syscall.EAGAIN
		}
		<-ctx.Done()
		return 0, syscall.EINTR
	}
	page := func(_ context.Context, p []byte) (int, error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.pages == 0 {
			return 0, syscall.EAGAIN
		}
		t.pages--
		return copy(p, make([]byte, 4096)), nil
	}
	on := tracefile.Value("tracing_on", 0o640, func() string {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.tracingOn {
			return "1\n"
		}
		return "0\n"
	}, func(s string) error {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.tracingOn = s != "0"
		return nil
	})
	events := &tracefile.Dir{Name: "events", Mode: 0o750, Children: func() []tracefile.Node {
		all := []tracefile.Node{fakeDir("sched", fakeDir("sched_switch", t.file("enable", end)))}
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.passing {
			all = append(all, &tracefile.Dir{Name: "kprobes", Mode: 0o750, Passing: true})
		}
		return all
	}}
	return []tracefile.Node{
		on, events, t.file("trace", end), t.file("trace_pipe", wait), t.file("current_tracer", end),
		fakeDir("options", t.file("pause-on-trace", end)),
		fakeDir("per_cpu", fakeDir("cpu0", t.raw(page), t.file("trace", end))),
	}
}

func (t *fakeTree) root() *tracefile.Dir {
	instances := &tracefile.Dir{
		Name: "instances", Mode: 0o750,
		Children: func() (all []tracefile.Node) {
			t.mu.Lock()
			defer t.mu.Unlock()
			for name := range t.instances {
				all = append(all, &tracefile.Dir{Name: name, Mode: 0o750, Children: t.top})
			}
			return all
		},
		Mkdir: func(name string) error {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.instances[name] = true
			return nil
		},
		Rmdir: func(name string) error {
			t.mu.Lock()
			defer t.mu.Unlock()
			delete(t.instances, name)
			return nil
		},
	}
	return &tracefile.Dir{Mode: 0o700, Children: func() []tracefile.Node { return append(t.top(), instances) }}
}

// names are what a fuzzed client looks for.
var names = []string{
	"instances", "a", "b", "events", "sched", "sched_switch", "kprobes", "enable", "trace", "trace_pipe", "per_cpu",
	"cpu0", "trace_pipe_raw", "tracing_on", "options", "pause-on-trace", "current_tracer", hidden, "remount", "raw-1", "none", ".", "..", "",
}

// fuzzed is a server without a kernel, with what a kernel would know of it.
type fuzzed struct {
	*Mount
	tree    *fakeTree
	dir     string // for FIFOs
	full    bool   // there are no descriptors
	nodes   []uint64
	lookups map[uint64]uint64
	files   []uint64
	readers []int
}

func newFuzzed(t *testing.T) *fuzzed {
	f := &fuzzed{tree: &fakeTree{instances: map[string]bool{}, passing: true}, dir: t.TempDir(), nodes: []uint64{fuse.FUSE_ROOT_ID}, lookups: map[uint64]uint64{}}
	f.Mount = newMount("/nowhere", Config{FS: tracefsfs.New(f.tree.root())})
	f.ends = func(n *node, flags ...int) (ends []int, err error) {
		if f.full {
			return nil, syscall.EMFILE
		}
		for _, how := range flags {
			fd, err := unix.Open(f.fifo(n.id), how|unix.O_CLOEXEC, 0)
			if err != nil {
				closeAll(ends)
				return nil, err
			}
			ends = append(ends, fd)
		}
		return ends, nil
	}
	return f
}

func (f *fuzzed) fifo(id uint64) string {
	name := filepath.Join(f.dir, strconv.FormatUint(id, 10))
	_ = unix.Mkfifo(name, 0o600) // it may be there
	return name
}

// input is the bytes of a fuzzed sequence; at its end there are zeros.
type input struct{ data []byte }

func (in *input) next() int {
	if len(in.data) == 0 {
		return 0
	}
	b := in.data[0]
	in.data = in.data[1:]
	return int(b)
}

func pick[T any](in *input, from []T) (one T) {
	if n := in.next(); len(from) > 0 {
		one = from[n%len(from)]
	}
	return one
}

func (f *fuzzed) known(status fuse.Status, out *fuse.EntryOut) {
	if status.Ok() {
		f.nodes = append(f.nodes, out.NodeId)
		f.lookups[out.NodeId]++
	}
}

// step does one operation. A wait ends when cancel is closed.
func (f *fuzzed) step(in *input, cancel chan struct{}) {
	op := in.next()
	h := fuse.InHeader{NodeId: pick(in, f.nodes)}
	if op&0x80 != 0 {
		h.NodeId += 1000 // none of ours
	}
	var entry fuse.EntryOut
	switch op % 16 {
	case 0, 1, 2:
		f.known(f.Lookup(cancel, &h, pick(in, names), &entry), &entry)
	case 3:
		f.known(f.Mkdir(cancel, &fuse.MkdirIn{InHeader: h}, pick(in, names), &entry), &entry)
	case 4:
		f.Rmdir(cancel, &h, pick(in, names))
	case 5, 6:
		var out fuse.OpenOut
		flags := uint32(in.next()&3) | uint32(in.next()&1)*syscall.O_TRUNC | uint32(in.next()&1)*syscall.O_NONBLOCK
		if f.Open(cancel, &fuse.OpenIn{InHeader: h, Flags: flags}, &out).Ok() {
			f.files = append(f.files, out.Fh)
		}
	case 7:
		f.Read(cancel, &fuse.ReadIn{InHeader: h, Fh: pick(in, f.files), Offset: uint64(in.next()), Size: 4096}, make([]byte, 4096))
	case 8:
		f.Write(cancel, &fuse.WriteIn{InHeader: h, Fh: pick(in, f.files)}, []byte(pick(in, []string{"0", "1", "!", "", "gid=7,mode=750"})))
	case 9:
		f.Flush(cancel, &fuse.FlushIn{InHeader: h, Fh: pick(in, f.files)})
	case 10:
		f.Release(cancel, &fuse.ReleaseIn{InHeader: h, Fh: pick(in, f.files)})
	case 11:
		var out fuse.OpenOut
		if f.OpenDir(cancel, &fuse.OpenIn{InHeader: h}, &out).Ok() {
			f.files = append(f.files, out.Fh)
			f.ReadDir(cancel, &fuse.ReadIn{InHeader: h, Fh: out.Fh, Offset: uint64(in.next())}, fuse.NewDirEntryList(make([]byte, 256), 0))
		}
	case 12:
		var attr fuse.AttrOut
		f.GetAttr(cancel, &fuse.GetAttrIn{InHeader: h}, &attr)
		set := fuse.SetAttrIn{}
		set.InHeader, set.Valid, set.Mode = h, fuse.FATTR_MODE|fuse.FATTR_UID, uint32(in.next())
		f.SetAttr(cancel, &set, &attr)
	case 13:
		f.forget(h.NodeId, uint64(in.next()))
	case 14: // a client opens a FIFO that it has found, or closes one
		if n := in.next(); n&1 == 0 && len(f.readers) > 0 {
			unix.Close(f.readers[0])
			f.readers = f.readers[1:]
		} else if _, found := f.lookups[h.NodeId]; found && len(f.readers) < 8 {
			if fd, err := unix.Open(f.fifo(h.NodeId), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
				f.readers = append(f.readers, fd)
			}
		}
	case 15: // something happens without a client
		n := in.next()
		f.full = n&1 != 0
		f.tree.mu.Lock()
		f.tree.passing, f.tree.pages = n&2 != 0, n>>2
		f.tree.mu.Unlock()
		f.eachFIFO(f.serve)
	}
}

// forget forgets as many lookups as the kernel could.
func (f *fuzzed) forget(id, n uint64) {
	n = min(n, f.lookups[id])
	f.Forget(id, n)
	if f.lookups[id] -= n; f.lookups[id] == 0 {
		delete(f.lookups, id)
	}
}

// settle does what a kernel does whose clients have all gone.
func (f *fuzzed) settle() {
	closeAll(f.readers)
	for _, fh := range f.files {
		f.Release(nil, &fuse.ReleaseIn{Fh: fh})
	}
	for id, n := range f.lookups {
		f.Forget(id, n)
	}
	f.closeFIFOs()
}

// FuzzOperations does what no kernel would: operations in any order, on nodes and files
// that there are and that there are not. The server answers, and keeps nothing in the end.
func FuzzOperations(f *testing.F) {
	f.Add([]byte{
		0, 0, 10, 0, 1, 11, 0, 2, 12, // find the raw pipe of CPU 0: nodes 1, 2, 3
		14, 3, 1, 15, 0, 42, 14, 3, 0, // somebody reads it while there are pages, and goes
		0, 0, 13, 6, 4, 1, 0, 0, 8, 0, 0, 0, // 0 > tracing_on
		15, 0, 42, 0, 2, 12, // find it again: what there is goes into the pipe
		0, 0, 8, 6, 6, 1, 1, 0, // > trace
		15, 0, 43, 0, 2, 12, // find it without descriptors
	})
	f.Add([]byte{
		0, 0, 0, 3, 1, 1, 0, 2, 10, 0, 3, 11, 0, 4, 12, // a raw pipe of a new instance: node 5
		14, 5, 1, 4, 1, 1, 12, 5, 1, 5, 5, 0, 0, 0, 0, 1, 1, // it is read when the instance goes
		0, 0, 9, 6, 6, 0, 0, 0, 7, 6, 0, 0, // a read of trace_pipe, which waits
	})
	f.Add([]byte{
		0, 0, 13, 6, 1, 2, 0, 0, 7, 1, 0, 0, 7, 1, 0, 1, 7, 1, 0, 0, // read tracing_on, on and back
		8, 1, 0, 1, 9, 1, 0, 9, 1, 0, 10, 1, 0, // write it, close it twice
		0, 0, 17, 0, 2, 18, 6, 3, 1, 0, 0, 8, 3, 1, 4, 10, 3, 1, // remount
		0, 0, 8, 6, 4, 1, 1, 0, 9, 4, 2, 10, 4, 2, // > trace
		0, 0, 3, 0, 5, 4, 0, 6, 5, 0, 7, 7, 6, 8, 0, 0, 0, 7, 8, 3, 0, // an event's file
		0, 0, 9, 6, 9, 0, 0, 1, 7, 9, 4, 0, // trace_pipe without waiting
	})
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &input{data: data[:min(len(data), 300)]}
		m := newFuzzed(t)
		before := openDescriptors(t)
		for len(in.data) > 0 {
			cancel, done := make(chan struct{}), make(chan struct{})
			go func() { defer close(done); m.step(in, cancel) }()
			select {
			case <-done:
				continue
			case <-time.After(5 * time.Millisecond):
				close(cancel) // the client is killed
			}
			select {
			case <-done:
			case <-time.After(20 * time.Second):
				panic("an operation hangs")
			}
		}
		m.settle()
		m.mu.Lock()
		defer m.mu.Unlock()
		if n := m.tree.open.Load(); n != 0 {
			t.Errorf("%d handles are left open", n)
		}
		if len(m.Mount.files) != 0 || len(m.cfg.Closing.files) != 0 || len(m.aliases) != 0 || len(m.fifos) != 0 {
			t.Errorf("left: %d files, %d closing, %d names of FIFOs, %d FIFOs", len(m.Mount.files), len(m.cfg.Closing.files), len(m.aliases), len(m.fifos))
		}
		if len(m.Mount.nodes) != 1 || len(m.paths) != 1 {
			t.Errorf("left: %d nodes, %d paths", len(m.Mount.nodes), len(m.paths))
		}
		if after := openDescriptors(t); after > before {
			t.Errorf("%d descriptors, %d before", after, before)
		}
	})
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
