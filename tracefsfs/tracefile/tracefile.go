package tracefile

import (
	"context"
	"io/fs"
)

// Flags are the open(2) flags a tracefs file can tell apart.
type Flags uint32

// The flags that matter to a tracefs file.
const (
	Read     Flags = 1 << iota // O_RDONLY or O_RDWR
	Write                      // O_WRONLY or O_RDWR
	Trunc                      // O_TRUNC: for many files this alone clears
	Append                     // O_APPEND
	NonBlock                   // O_NONBLOCK: EAGAIN instead of waiting
)

// Node is an entry of the tree: *File or *Dir.
type Node interface {
	NodeName() string
	NodeMode() fs.FileMode
}

// File is a file declared beside the component that owns it.
type File struct {
	Name string
	Mode fs.FileMode // permission bits, as in the kernel's listing
	// Open returns a handle for one open(2). Its error carries a syscall.Errno.
	Open func(ctx context.Context, flags Flags) (Handle, error)
	Traits
}

// Traits say of a file what its handle does not tell, for whoever serves it to other
// programs. The zero value is that of a file with a text and a position.
type Traits struct {
	// Consumes says that a read takes away what it gives: there is no position.
	Consumes bool
	// Stream says that a descriptor of the file has no position: lseek(2) and pwrite(2) are
	// ESPIPE.
	Stream bool
	// OwnPosition says that only the handle knows where the next read begins: lseek(2)
	// succeeds and changes nothing, and a write moves nothing.
	OwnPosition bool
	// Defines says that a write may make folders come and go.
	Defines bool
	// Holds, unless it is nil, reports whether an open of the file now keeps others from
	// something until it is closed.
	Holds func() bool
	// Live, unless it is nil, reports whether more may come after the end.
	Live func() bool
	// Ring is what is behind a file of sub-buffers; nil for all others.
	Ring *Ring
}

// Ring is the ring buffer behind a file whose reads take sub-buffers out of it.
type Ring struct {
	// Recording is tracing_on.
	Recording func() bool
	// Ready reports whether a reader that waits for sub-buffers is to get what there is:
	// it heeds buffer_percent.
	Ready func() bool
	// Emptied counts how often the ring was emptied. What was taken before that, and not
	// been given to a reader, is void.
	Emptied func() uint64
	// Map maps the ring into memory. Its error carries a syscall.Errno.
	Map func() (Mapping, error)
}

// Mapping is a ring buffer in the memory of a process: a meta page, which fills as many
// bytes as a sub-buffer, and the sub-buffers by their number.
type Mapping interface {
	// Size is that of a sub-buffer and that of all, in bytes. It does not change.
	Size() (subbuf, all int)
	// ReadAt fills p with what is at an offset, as the last GetReader or Refresh left it.
	ReadAt(p []byte, offset int64)
	// Refresh shows what has been written to the reader's sub-buffer since, and that the
	// ring was emptied. It reports whether there is anything new.
	Refresh() bool
	// GetReader is the ioctl TRACE_MMAP_IOCTL_GET_READER: it shows what came after that
	// which the last call showed. If wait is set, it waits until there is something.
	GetReader(ctx context.Context, wait bool) error
	// Unread gives back sub-buffers that were read from the ring and that nobody has looked
	// at. They come before what is still in the ring.
	Unread(subbufs []byte)
	// Pending says whether something from Unread is left.
	Pending() bool
	// Take reads a sub-buffer from Unread, if there is any.
	Take(p []byte) (n int, ok bool)
	Close()
}

// Handle is an open file. Reads are sequential, each Write is one write(2):
// a handle sees a whole buffer at once and answers with the count it took.
// Errors carry a syscall.Errno (see Errno). A handle is used by one goroutine
// at a time.
type Handle interface {
	Read(ctx context.Context, p []byte) (int, error) // io.EOF at the end
	Write(ctx context.Context, p []byte) (int, error)
	// Flush does end-of-write work (a token without its newline); idempotent.
	Flush() error
	// Poll says what can be done without waiting. Asking is an event of its own for some
	// files, which say PollPri only once.
	Poll() Events
	Close() error
}

// Dir is a folder. Children is asked at each lookup, so a folder may change.
type Dir struct {
	Name     string
	Mode     fs.FileMode
	Children func() []Node
	// Find, if it is set, gives the child of a name as Children has it, without
	// making the others; nil if there is none.
	Find func(name string) Node
	// Mkdir and Rmdir are set only where the kernel allows them (instances).
	Mkdir func(name string) error
	Rmdir func(name string) error
	// Passing folders may go without an Rmdir: the folders of dynamic events.
	Passing bool
}

// NodeName is the file's name.
func (f *File) NodeName() string { return f.Name }

// NodeMode is the file's permission bits.
func (f *File) NodeMode() fs.FileMode { return f.Mode }

// NodeName is the folder's name.
func (d *Dir) NodeName() string { return d.Name }

// NodeMode is the folder's permission bits with fs.ModeDir.
func (d *Dir) NodeMode() fs.FileMode { return d.Mode | fs.ModeDir }
