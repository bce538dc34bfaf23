package probe

import (
	"ftracelab/tracer/event"
)

// Kind says on what a probe is put.
type Kind int

const (
	Kprobe     Kind = iota // p, r: a place in the kernel
	Uprobe                 // p, r: a place in a file
	Fprobe                 // f: a function's entry or exit
	Tracepoint             // t: a tracepoint
	Eprobe                 // e: another event
)

// Definition is a probe as it was defined. After it was parsed, only MaxActive and what
// [Definition.Resolve] finds can change.
type Definition struct {
	Kind         Kind
	Group, Event string
	Return       bool // fires when the function returns

	// MaxActive is how many calls of the function can be followed at a time; 0 if
	// the definition does not say. Registering a kretprobe sets it then, and
	// [Definition.Show] shows it.
	MaxActive int

	Symbol string // the function, with "MODULE:" before it if given; or the tracepoint
	Offset uint64 // bytes from Symbol on; for a uprobe, bytes from the start of its file
	Addr   uint64 // for a kprobe whose place is given as an address; Symbol is "" then

	Path   string // the file of a uprobe, as it was written
	File   File
	RefCtr uint64 // the offset of the reference counter in that file; 0: there is none

	Attached *event.Type // what an event probe is attached to
	Filter   string      // the filter of an event probe, about Attached's fields; "": none

	Args []Arg

	size    int      // bytes of the arguments' fixed part
	entry   []int    // which arguments of the function a return probe saves at the entry
	argv    []string // the words of the definition, for error_log
	pointer string   // how the kernel prints Addr
}

// Arg is one argument of a probe: a field of its event.
type Arg struct {
	Name  string
	Comm  string // the fetch argument as it was written, with its type
	Count int    // how many elements an array has; 0: no array

	typ    *fetchType
	offset int // where the argument is in the arguments' fixed part
	code   []insn
}

// Hit is where a probe fired.
type Hit struct {
	IP    uint64   // the probed address; for a return probe that of the function
	RetIP uint64   // the address to which a return probe's function returns
	Entry []uint64 // for a return probe: what [Definition.AppendEntry] saved at the entry
}
