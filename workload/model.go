package workload

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/gob"
	"fmt"
	"sync"

	"ftracelab/workload/machine"
)

//go:generate go run ../internal/learn -kallsyms machine/kallsyms.bin.gz -o model.bin.gz

//go:embed model.bin.gz
var modelImage []byte

// Model is what was learned from captures of a real kernel: pieces of kernel
// code by the reason they ran for, and processes as the sequences of their
// stays in the kernel. It is read-only.
type Model struct {
	Sites     []machine.Site
	Slabs     []machine.Slab
	Points    []PointAddr
	Templates []Template
	Scripts   []Script
	Calls     int     // function calls in the captures
	Shares    []Share // of these the functions called most
	Returns   []Return

	byKey map[string][]int // templates by key
	vals  *machine.Values  // assigned to the templates' code
}

// Share is how often a function was called in the captures.
type Share struct {
	Func  uint64
	Calls int
}

// PointAddr is the address of a tracepoint inside a function.
type PointAddr struct {
	Point machine.Point
	Addr  uint64
}

// Template is a piece of kernel code. The operations are kept in columns.
type Template struct {
	Key    string // why it ran: "sys 0", "fault", "irq timer user", …
	Weight int    // how often code of this kind was seen
	Ops    Columns

	code machine.Code
}

// Columns are the fields of a machine.Code, one slice each.
type Columns struct {
	Kind, Event, Flags, Preempt []byte
	Arg                         []int32
	Delta                       []uint32
}

// Script is the life of a process, or a round in the life of one that was there
// before the capture began.
type Script struct {
	Comm   string
	Kernel bool
	Born   int // template of the return from fork, -1 for none
	Stays  []ScriptStay
}

// ScriptStay is one stay in the kernel of a Script.
type ScriptStay struct {
	Template int
	After    uint32 // ns in user space before it
	NR       int32  // system call, -1 for a page fault
	Args     [6]uint64
	Ret      int64
	Child    int    // script of the process it forks, -1 for none
	Thread   bool   // the child shares the address space
	Exec     string // comm after it, if it changes
	Path     string // file it executes
}

// LoadModel returns the embedded model, which is unpacked once.
func LoadModel() (*Model, error) { return loadModel() }

var loadModel = sync.OnceValues(func() (*Model, error) {
	z, err := gzip.NewReader(bytes.NewReader(modelImage))
	if err != nil {
		return nil, fmt.Errorf("workload model: %w", err)
	}
	m := new(Model)
	if err := gob.NewDecoder(z).Decode(m); err != nil {
		return nil, fmt.Errorf("workload model: %w", err)
	}
	ks, err := machine.LoadKallsyms()
	if err != nil {
		return nil, err
	}
	m.byKey, m.vals = map[string][]int{}, m.values(ks)
	for i := range m.Templates {
		t := &m.Templates[i]
		t.code = t.Ops.Code()
		m.vals.Assign(t.code, m.Sites)
		m.byKey[t.Key] = append(m.byKey[t.Key], i)
	}
	return m, nil
})

// Code puts the columns together.
func (c *Columns) Code() machine.Code {
	code := make(machine.Code, len(c.Kind))
	for i := range code {
		code[i] = machine.Op{
			Kind: machine.OpKind(c.Kind[i]), Event: machine.Event(c.Event[i]),
			Flags: c.Flags[i], Preempt: c.Preempt[i], Arg: c.Arg[i], Delta: c.Delta[i],
		}
	}
	return code
}

// Append adds an operation.
func (c *Columns) Append(op machine.Op) {
	c.Kind, c.Event = append(c.Kind, byte(op.Kind)), append(c.Event, byte(op.Event))
	c.Flags, c.Preempt = append(c.Flags, op.Flags), append(c.Preempt, op.Preempt)
	c.Arg, c.Delta = append(c.Arg, op.Arg), append(c.Delta, op.Delta)
}
