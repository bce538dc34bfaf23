package probe

import "ftracelab/tracer/event"

// Env answers what parsing asks about the outside. Every answer holds only for
// the moment; nothing is kept.
type Env interface {
	// Symbols counts the symbols called name: those of the module, or if module is
	// "" those of the kernel and of all modules together.
	Symbols(module, name string) int

	// Module reports whether a module of this name is loaded.
	Module(name string) bool

	// Place says where symbol+offset lies. The symbol may begin with "MODULE:".
	Place(symbol string, offset uint64) Place

	// Address is the address of a symbol ("MODULE:" may precede it), 0 if there is
	// none.
	Address(symbol string) uint64

	// Pointer is what %p prints for an address, without "0x": its hash, 16 hex digits.
	Pointer(addr uint64) string

	// Tracepoint finds a tracepoint; stub is the function whose BTF prototype
	// describes its arguments ("__probestub_NAME").
	Tracepoint(name string) (stub string, ok bool)

	// Event finds the event that an event probe attaches to; nil if there is none.
	Event(system, name string) *event.Type

	// Filter gives an error if text is no filter of the event. The filter's own parser
	// puts the fault into error_log; the error carries an errno.
	Filter(t *event.Type, text string) error

	// File finds a user file by its path and follows links. The error carries an errno.
	File(path string) (File, error)

	// MaxActive reports whether a probe on a function's exit may say how many calls it
	// can follow at a time. A kernel whose fprobes use the shadow stack refuses that.
	MaxActive() bool

	// BTF gives the types of the kernel; nil if it was built without BTF.
	BTF() BTF
}

// Place says where an address lies in its function.
//
// Kernel: kprobe_on_func_entry, kernel/kprobes.c: 0, -EINVAL, -ENOENT.
type Place int

const (
	NoPlace Place = iota // there is no such symbol, or no function at the address
	Inside               // after a function's entry
	AtEntry              // at a function's entry, or right after its endbr64
)

// File is a file of user space that can be probed. Two Files with the same ID are the
// same file.
type File struct {
	ID      uint64 // the number of the inode
	Regular bool
	At      string // its path, if possible an absolute one
}

// BTF is the type information of the kernel. Types have numbers; modifiers (const,
// volatile, typedef) are skipped. Type 0 is void.
//
// Kernel: kernel/bpf/btf.c, kernel/trace/trace_btf.c.
type BTF interface {
	// Proto is a function's prototype.
	Proto(function string) (Proto, bool)

	// Type gives the type with that number. If that is a modifier, it gives the type
	// that is modified.
	Type(id TypeID) CType

	// Member finds a member of a struct or union, including those inside its
	// unnamed members.
	Member(id TypeID, name string) (Member, bool)
}

// TypeID numbers a type of the BTF.
type TypeID uint32

// Proto is a function's prototype. The first parameter of a tracepoint's stub is its
// hidden data pointer.
type Proto struct {
	Params []Param
	Result TypeID // 0: void
}

// Param is a parameter of a function.
type Param struct {
	Name string
	Type TypeID
}

// Member is a member of a struct or union.
type Member struct {
	Type    TypeID
	BitOff  int // from the struct's start, also if the member lies in one without a name
	BitSize int // how many bits a bitfield has; 0: the member is none
}

// CKind is the kind of a type in C.
type CKind int

const (
	COther  CKind = iota // void, float, function …
	CInt                 // integers, char, bool
	CEnum                // enum of 32 bits
	CEnum64              // enum of 64 bits
	CPtr                 // pointer to Elem
	CArray               // array of Elem
	CStruct              // struct or union
)

// CType is a type in C.
type CType struct {
	Kind   CKind
	Bits   int    // how many bits an integer has
	Signed bool   // whether an integer is signed; char is not, because the kernel is built so
	Elem   TypeID // what a pointer points to, what an array holds
}
