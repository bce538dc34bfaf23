package probe

import (
	"ftracelab/tracer/event"
)

// Kind is what a probe is put on.
type Kind int

const (
	Kprobe     Kind = iota // p, r: a place in the kernel
	Uprobe                 // p, r: a place in a file
	Fprobe                 // f: a function's entry or exit
	Tracepoint             // t: a tracepoint
	Eprobe                 // e: another event
)

// Definition is one probe as it was defined. It does not change after it was
// parsed, but for MaxActive and what [Definition.Resolve] finds.
type Definition struct {
	Kind         Kind
	Group, Event string
	Return       bool // fires when the function returns

	// MaxActive is how many calls of the function can be followed at a time; 0 if
	// the definition does not say. Registering a kretprobe sets it then, and
	// [Definition.Show] shows it.
	MaxActive int

	Symbol string // of the function, "MODULE:" before it where given; of the tracepoint
	Offset uint64 // bytes behind Symbol; of a uprobe in its file
	Addr   uint64 // of a kprobe whose place is given as an address: Symbol is ""

	Path   string // of a uprobe's file, as written
	File   File
	RefCtr uint64 // offset of the file's reference counter; 0: none

	Attached *event.Type // what an event probe is attached to
	Filter   string      // of an event probe, over Attached's fields; "": none

	Args []Arg

	size    int      // bytes of the arguments' fixed part
	entry   []int    // arguments of the function that a return probe saves at its entry
	argv    []string // the words of the definition, for error_log
	pointer string   // Addr as the kernel prints it
}

// Arg is one argument of a probe: a field of its event.
type Arg struct {
	Name  string
	Comm  string // the fetch argument as written, with its type
	Count int    // elements of an array; 0: no array

	typ    *fetchType
	offset int // in the arguments' fixed part
	code   []insn
}

// Hit is where a probe fired.
type Hit struct {
	IP    uint64   // the probed address; of a return probe the function's
	RetIP uint64   // where a return probe's function returns to
	Entry []uint64 // what [Definition.AppendEntry] saved at the entry, of a return probe
}
