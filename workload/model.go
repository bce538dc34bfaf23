package workload

import (
	"fmt"
	"sync"

	"ftracelab/machine"
)

//go:generate go run ../internal/learn -kallsyms ../machine/kallsyms.bin -o model.bin

// Model is what was learned from captures of a real kernel: pieces of kernel code, by
// the reason why they ran, and processes, as sequences of their stays in the kernel. It
// does not change.
type Model struct {
	Sites     []machine.Site
	Slabs     []machine.Slab
	Points    []PointAddr
	Templates []Template
	Scripts   []Script
	Calls     int     // how many function calls the captures have
	Shares    []Share // the functions that were called most often
	Returns   []Return

	byKey      map[string][]int // templates by key
	codes      []templateCode   // of the templates
	vals       *machine.Values  // the return values to which the templates' code refers
	enteredOff map[uint64]bool  // see settle
	within     places
}

// Share says how often a function was called in the captures.
type Share struct {
	Func  uint64
	Calls int
}

// PointAddr is the address of a tracepoint inside a function.
type PointAddr struct {
	Point machine.Point
	Addr  uint64
}

// Template is a piece of kernel code. Its operations are stored in columns.
type Template struct {
	Key    string  // why it ran: "sys 0", "fault", "irq timer user", …
	Weight int     // how often code of this kind was seen
	Ops    Columns // empty in the model's image and in what LoadModel returns

	// In the model's image only: what is special about the code, how many operations it
	// has, and how many bytes these are.
	Special      string
	Count, Bytes int
}

// templateCode is the code of a template, which is made when it first runs: a machine that
// is booted for a moment needs little of it.
type templateCode struct {
	ops  string // its columns in the image
	once sync.Once
	code machine.Code
}

// Columns are the fields of a machine.Code, with a slice for each field.
type Columns struct {
	Kind, Event, Flags, Preempt []byte
	Arg                         []int32
	Delta                       []uint32
}

// Script is the life of a process. For a process that existed before the capture began,
// it is one round of its life.
type Script struct {
	Comm   string
	Kernel bool
	Born   int // the template for the return from fork; -1: there is none
	Stays  []ScriptStay
}

// ScriptStay is one stay in the kernel of a Script.
type ScriptStay struct {
	Template int
	After    uint32 // time in user space before it, in ns
	NR       int32  // number of the system call; -1: a page fault
	Args     [6]uint64
	Ret      int64
	Child    int    // the script of the process that it forks; -1: it does not fork
	Thread   bool   // the child shares the address space
	Exec     string // the comm after it, if it changes
	Path     string // the file that it executes
}

// LoadModel returns the embedded model, which is decoded the first time.
func LoadModel() (*Model, error) { return loadModel() }

var loadModel = sync.OnceValues(func() (*Model, error) {
	m, err := decodeModel(modelImage)
	if err != nil {
		return nil, fmt.Errorf("workload model: %w", err)
	}
	ks, err := machine.LoadKallsyms()
	if err != nil {
		return nil, err
	}
	m.byKey, m.vals = map[string][]int{}, m.values(ks)
	m.enteredOff = map[uint64]bool{}
	for _, name := range []string{"irqentry_exit_to_user_mode", "arch_exit_to_user_mode_prepare.constprop.0"} {
		if fn, ok := ks.ByName(name); ok {
			m.enteredOff[fn.Addr] = true
		}
	}
	m.within = placesOf(ks)
	for i := range m.Templates {
		m.byKey[m.Templates[i].Key] = append(m.byKey[m.Templates[i].Key], i)
	}
	return m, nil
})

// code gives the code of a template.
func (m *Model) code(template int) machine.Code {
	c := &m.codes[template]
	c.once.Do(func() {
		code, err := decodeOps(c.ops, m.Templates[template].Count)
		if err != nil {
			panic("workload: invariant: " + err.Error()) // it is embedded
		}
		settle(code, m.Sites, m.enteredOff)
		c.code = m.within.insert(code, m.Sites)
		m.vals.Assign(c.code, m.Sites)
	})
	return c.code
}

// special says what is special about the code of a template, as far as there is other code
// that runs for the same reason.
func (t *Template) special() string {
	var sleeps, yields, wakes bool
	for i := range t.Ops.Kind {
		arg := t.Ops.Arg[i]
		switch kind := machine.OpKind(t.Ops.Kind[i]); {
		case kind == machine.OpSwitch && (arg == machine.StateRunning || arg == machine.StatePreempted):
			yields = true
		case kind == machine.OpSwitch:
			sleeps = true
		case kind == machine.OpTrace && machine.Event(t.Ops.Event[i]) == machine.EvSchedWaking && arg == wakeUser:
			wakes = true
		}
	}
	switch {
	case t.Key == "exit" && yields:
		return "yields"
	case t.Key[:3] == "irq" && wakes:
		return "wakes"
	case t.Key[:3] != "kth" && sleeps:
		return "sleeps"
	}
	return ""
}

// filed gives the reason under which a template of the image is filed.
func (t *Template) filed() string {
	switch t.Special {
	case "":
		return t.Key
	case "yields":
		return "preempt"
	}
	return t.Key + " " + t.Special
}

// Code makes the code from its columns.
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
