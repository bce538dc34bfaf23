package tracefsfs

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
)

// FS is a tree of tracefs files. It holds no state of its own: it is safe for
// several goroutines as far as the components' files are.
type FS struct {
	root *tracefile.Dir
}

// New makes a file system of the tree under root, whose name does not matter.
func New(root *tracefile.Dir) *FS { return &FS{root: root} }

// Root is the folder given to New, to hang the whole tree into another.
func (f *FS) Root() *tracefile.Dir { return f.root }

// Lookup finds the node at name: a slash-separated path from the root, where a
// leading slash, "." and ".." mean what they always do and ".." of the root is
// the root. Errors: ENOENT; ENOTDIR if a file stands where a folder must.
func (f *FS) Lookup(name string) (tracefile.Node, error) {
	var node tracefile.Node = f.root
	for part := range strings.SplitSeq(path.Clean("/" + name)[1:], "/") {
		if part == "" {
			break // the root itself
		}
		dir, ok := node.(*tracefile.Dir)
		if !ok {
			return nil, pathError("open", name, syscall.ENOTDIR)
		}
		child, ok := find(dir, part)
		if !ok {
			return nil, pathError("open", name, syscall.ENOENT)
		}
		node = child
	}
	if _, ok := node.(*tracefile.Dir); !ok && strings.HasSuffix(name, "/") {
		return nil, pathError("open", name, syscall.ENOTDIR)
	}
	return node, nil
}

func find(dir *tracefile.Dir, name string) (tracefile.Node, bool) {
	if dir.Find != nil {
		node := dir.Find(name)
		return node, node != nil
	}
	for _, child := range children(dir) {
		if child.NodeName() == name {
			return child, true
		}
	}
	return nil, false
}

func children(dir *tracefile.Dir) []tracefile.Node {
	if dir.Children == nil {
		return nil
	}
	return dir.Children()
}

// OpenHandle opens the file at name for the ways flags say. ctx is for the open
// only; each read and write brings its own. Errors wrap an errno: ENOENT,
// ENOTDIR, EISDIR for a folder, and what the file's own Open answers.
func (f *FS) OpenHandle(ctx context.Context, name string, flags tracefile.Flags) (tracefile.Handle, error) {
	node, err := f.Lookup(name)
	if err != nil {
		return nil, err
	}
	file, ok := node.(*tracefile.File)
	if !ok {
		return nil, pathError("open", name, syscall.EISDIR)
	}
	h, err := file.Open(ctx, flags)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return h, nil
}

// Create is what open(2) with O_CREAT does where there is no such file: EACCES,
// for tracefs folders cannot create.
func (f *FS) Create(name string) error {
	if _, err := f.parent(name); err != nil {
		return err
	}
	return pathError("open", name, syscall.EACCES)
}

// Remove refuses: EPERM for a file (ENOENT if there is none), EISDIR for a folder.
func (f *FS) Remove(name string) error {
	node, err := f.Lookup(name)
	switch {
	case err != nil:
		return err
	case node.NodeMode().IsDir():
		return pathError("remove", name, syscall.EISDIR)
	}
	return pathError("remove", name, syscall.EPERM)
}

// Mkdir makes a folder where the tree allows it (instances). Errors: EEXIST,
// ENOENT, ENOTDIR, EPERM where folders cannot be made, and what the owner says.
//
// Kernel: tracefs_syscall_mkdir, fs/tracefs/inode.c.
func (f *FS) Mkdir(name string) error {
	dir, err := f.parent(name)
	if err != nil {
		return err
	}
	base := path.Base(path.Clean("/" + name))
	_, exists := find(dir, base)
	switch {
	case base == "/" || exists:
		return pathError("mkdir", name, syscall.EEXIST)
	case dir.Mkdir == nil:
		return pathError("mkdir", name, syscall.EPERM)
	}
	return pathError("mkdir", name, dir.Mkdir(base))
}

// Rmdir removes a folder where the tree allows it. Errors: ENOENT, ENOTDIR,
// EPERM where folders cannot be removed, and what the owner says (EBUSY).
//
// Kernel: tracefs_syscall_rmdir, fs/tracefs/inode.c.
func (f *FS) Rmdir(name string) error {
	dir, err := f.parent(name)
	if err != nil {
		return err
	}
	base := path.Base(path.Clean("/" + name))
	if base == "/" {
		return pathError("rmdir", name, syscall.EBUSY)
	}
	node, exists := find(dir, base)
	switch {
	case !exists:
		return pathError("rmdir", name, syscall.ENOENT)
	case !node.NodeMode().IsDir():
		return pathError("rmdir", name, syscall.ENOTDIR)
	case dir.Rmdir == nil:
		return pathError("rmdir", name, syscall.EPERM)
	}
	return pathError("rmdir", name, dir.Rmdir(base))
}

// parent is the folder that holds name; the root holds itself.
func (f *FS) parent(name string) (*tracefile.Dir, error) {
	node, err := f.Lookup(path.Dir(path.Clean("/" + name)))
	if err != nil {
		return nil, err
	}
	dir, ok := node.(*tracefile.Dir)
	if !ok {
		return nil, pathError("open", name, syscall.ENOTDIR)
	}
	return dir, nil
}

// List writes the tree below name as "find NAME -printf '%y %m %p\n'" would,
// sorted by name: type, permission bits, path.
func (f *FS) List(w io.Writer, name string) error {
	node, err := f.Lookup(name)
	if err != nil {
		return err
	}
	return list(w, node, name)
}

func list(w io.Writer, node tracefile.Node, name string) error {
	kind := "f"
	dir, isDir := node.(*tracefile.Dir)
	if isDir {
		kind = "d"
	}
	if _, err := fmt.Fprintf(w, "%s %o %s\n", kind, node.NodeMode().Perm(), name); err != nil {
		return err
	}
	if !isDir {
		return nil
	}
	for _, child := range sorted(dir) {
		if err := list(w, child, name+"/"+child.NodeName()); err != nil {
			return err
		}
	}
	return nil
}

func sorted(dir *tracefile.Dir) []tracefile.Node {
	nodes := slices.Clone(children(dir))
	slices.SortFunc(nodes, func(a, b tracefile.Node) int { return strings.Compare(a.NodeName(), b.NodeName()) })
	return nodes
}

// pathError adds what was tried on which path; nil stays nil.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
