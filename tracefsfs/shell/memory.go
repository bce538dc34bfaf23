package shell

import (
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// maxMemory bounds what all files in memory hold together, of which nodeCost is for
// each file or folder.
const (
	maxMemory = 64 << 20
	nodeCost  = 512
)

// memory is the file system of /tmp and /var/tmp. It is safe for goroutines:
// the parts of a pipeline run beside each other.
type memory struct {
	mu    sync.Mutex
	nodes map[string]*memoryNode // by clean absolute path
	used  int
}

type memoryNode struct {
	name string
	mode fs.FileMode
	data []byte
}

func newMemory() *memory {
	m := &memory{nodes: map[string]*memoryNode{}}
	m.nodes["/"] = &memoryNode{name: "/", mode: fs.ModeDir | 0o755} // mount points are made in it
	for _, dir := range []string{"/tmp", "/var/tmp"} {
		m.nodes[dir] = &memoryNode{name: path.Base(dir), mode: fs.ModeDir | fs.ModeSticky | 0o777}
	}
	return m
}

func (m *memory) open(name string, flag int, perm fs.FileMode) (io.ReadWriteCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	write := flag&(os.O_WRONLY|os.O_RDWR) != 0
	node, ok := m.nodes[name]
	switch {
	case ok && flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL:
		return nil, syscall.EEXIST
	case ok && node.mode.IsDir() && write:
		return nil, syscall.EISDIR
	case !ok && flag&os.O_CREATE == 0:
		return nil, syscall.ENOENT
	case !ok:
		if err := m.room(name); err != nil {
			return nil, err
		}
		node = &memoryNode{name: path.Base(name), mode: perm.Perm()}
		m.nodes[name] = node
	}
	if write && flag&os.O_TRUNC != 0 {
		m.used -= len(node.data)
		node.data = nil
	}
	return &memoryFile{m: m, node: node, write: write, append: flag&os.O_APPEND != 0}, nil
}

// holds: was name, or the folder of / that it lies in, made in memory?
func (m *memory) holds(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	first, _, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	_, ok := m.nodes["/"+first]
	return ok && first != "" && first != "tmp"
}

// owns: is name, or the folder of /tmp or /var/tmp it lies in, in memory? What is
// not may be read from the host, so that scripts can be kept in the host's /tmp.
func (m *memory) owns(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	root := "/tmp/"
	if below(name, "/var/tmp") {
		root = "/var/tmp/"
	}
	rest, inside := strings.CutPrefix(name, root)
	if !inside {
		return true // /tmp itself
	}
	first, _, _ := strings.Cut(rest, "/")
	_, ok := m.nodes[root+first]
	return ok
}

// parent checks that name's folder is there.
func (m *memory) parent(name string) error {
	dir, ok := m.nodes[path.Dir(name)]
	switch {
	case !ok:
		return syscall.ENOENT
	case !dir.mode.IsDir():
		return syscall.ENOTDIR
	}
	return nil
}

// room checks that name's folder is there, and takes what a file or folder takes.
func (m *memory) room(name string) error {
	if err := m.parent(name); err != nil {
		return err
	}
	if m.used+nodeCost > maxMemory {
		return syscall.ENOSPC
	}
	m.used += nodeCost
	return nil
}

func (m *memory) stat(name string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	node, ok := m.nodes[name]
	if !ok {
		return nil, syscall.ENOENT
	}
	return memoryInfo{node.name, node.mode, int64(len(node.data))}, nil
}

func (m *memory) readDir(name string) ([]fs.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, ok := m.nodes[name]
	switch {
	case !ok:
		return nil, syscall.ENOENT
	case !dir.mode.IsDir():
		return nil, syscall.ENOTDIR
	}
	var list []fs.DirEntry
	for at, node := range m.nodes {
		if path.Dir(at) == name {
			list = append(list, fs.FileInfoToDirEntry(memoryInfo{node.name, node.mode, int64(len(node.data))}))
		}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

func (m *memory) mkdir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.nodes[name]; ok {
		return syscall.EEXIST
	}
	if err := m.room(name); err != nil {
		return err
	}
	m.nodes[name] = &memoryNode{name: path.Base(name), mode: fs.ModeDir | 0o755}
	return nil
}

func (m *memory) rmdir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	node, ok := m.nodes[name]
	switch {
	case !ok:
		return syscall.ENOENT
	case !node.mode.IsDir():
		return syscall.ENOTDIR
	case name == "/tmp" || name == "/var/tmp":
		return syscall.EBUSY
	}
	for at := range m.nodes {
		if path.Dir(at) == name {
			return syscall.ENOTEMPTY
		}
	}
	m.used -= nodeCost
	delete(m.nodes, name)
	return nil
}

func (m *memory) remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	node, ok := m.nodes[name]
	switch {
	case !ok:
		return syscall.ENOENT
	case node.mode.IsDir():
		return syscall.EISDIR
	}
	m.used -= len(node.data) + nodeCost
	delete(m.nodes, name)
	return nil
}

// memoryFile is an open file. One that was removed lives on until closed.
type memoryFile struct {
	m      *memory
	node   *memoryNode
	offset int
	write  bool
	append bool
}

func (f *memoryFile) Read(p []byte) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.node.mode.IsDir() {
		return 0, syscall.EISDIR
	}
	if f.offset >= len(f.node.data) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[f.offset:])
	f.offset += n
	return n, nil
}

func (f *memoryFile) Write(p []byte) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if !f.write {
		return 0, syscall.EBADF
	}
	if f.append {
		f.offset = len(f.node.data)
	}
	grow := f.offset + len(p) - len(f.node.data)
	if grow > 0 {
		if f.m.used+grow > maxMemory {
			return 0, syscall.ENOSPC
		}
		f.m.used += grow
		f.node.data = append(f.node.data, make([]byte, grow)...)
	}
	copy(f.node.data[f.offset:], p)
	f.offset += len(p)
	return len(p), nil
}

func (f *memoryFile) Close() error { return nil }

// memoryInfo describes a file in memory, whose times are zero.
type memoryInfo struct {
	name string
	mode fs.FileMode
	size int64
}

func (fi memoryInfo) Name() string       { return fi.name }
func (fi memoryInfo) Size() int64        { return fi.size }
func (fi memoryInfo) Mode() fs.FileMode  { return fi.mode }
func (fi memoryInfo) ModTime() time.Time { return time.Time{} }
func (fi memoryInfo) IsDir() bool        { return fi.mode.IsDir() }
func (fi memoryInfo) Sys() any           { return nil }
