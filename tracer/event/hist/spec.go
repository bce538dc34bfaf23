package hist

import (
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
	"ftracelab/tracer/event/hist/tracingmap"
)

// The kernel's limits.
//
// Kernel: kernel/trace/tracing_map.h, trace.h, trace_synth.h and
// trace_events_hist.c.
const (
	keysMax       = 3
	valsMax       = 3 // hitcount included
	varsMax       = 16
	sortKeysMax   = 2
	actionsMax    = 8
	paramsMax     = 64                 // of an action, and fields of a synthetic event
	textMax       = tracingmap.TextMax // bytes of a string, a name or a hidden command, its NUL included
	stackDepth    = 16
	keySizeMax    = textMax + 8*stackDepth
	subexprsMax   = 3
	operandLevels = 3
)

// flags say what a field is.
//
// Kernel: enum hist_field_flags, kernel/trace/trace_events_hist.c.
type flags uint32

const (
	flagHitcount flags = 1 << iota
	flagKey
	flagString
	flagHex
	flagSym
	flagSymOffset
	flagExecname
	flagSyscall
	flagStacktrace
	flagLog2
	flagTimestamp
	flagUsecs
	flagVar
	flagExpr
	flagVarRef
	flagCPU
	flagAlias
	flagBucket
	flagConst
	flagPercent
	flagGraph
)

// Field is a key, a value, a variable, a reference to one, or a part of an
// expression.
//
// Kernel: struct hist_field, kernel/trace/trace_events_hist.c.
type Field struct {
	flags    flags
	event    *event.Field // the record's field; nil if it is none
	kind     filter.Kind  // of event
	typ      string       // C type
	size     int          // bytes; of a key rounded up to 8
	offset   int          // bytes from the key's start
	signed   bool
	buckets  uint64 // the width after buckets=
	constant uint64

	name string     // of an expression or a reference
	on   *eventName // of a qualified reference

	operands   [2]*Field
	op         op
	fn         fn
	multiplier uint64 // of a division by a constant

	// varName is a variable's name. For a variable or a reference, the next two
	// say whose variable it is and which of an Element's.
	varName string
	hist    *Hist
	index   int

	ref      int  // of a reference: its place in Hist.refs
	readOnce bool // of a reference: reading it unsets the variable
	text     int  // of a variable with text or a stack: which of Hist.varTexts
}

// Hist is what a command says, and the map it fills. Triggers of one name share it.
//
// Kernel: struct hist_trigger_data, kernel/trace/trace_events_hist.c.
type Hist struct {
	attrs  attrs
	file   *File // the event it was written to
	remove bool  // it was written only to find another hist and remove that

	fields  []*Field // hitcount, values and variables (nVals), keys
	nVals   int      // hitcount, values and variables
	nVars   int      // those of the command
	keySize int      // bytes
	// The fields by which the file sorts: 0 is hitcount, then come the values
	// and keys in their order; variables are not counted.
	sort []tracingmap.SortKey
	// The trigger reads a time stamp, so the buffer's stamps must be absolute.
	timestamps bool

	refs    []*Field // references to variables, each once
	actions []*action

	fieldVars, saveVars []fieldVar // what actions read of this event
	// How many of these and of the variables hold text or a stack.
	fieldTexts, saveTexts, varTexts int
	hidden                          []hiddenHist

	slots int             // how many variables an Element has: the command's and those of actions
	m     *tracingmap.Map // nil until the trigger is accepted
}

// vals are hitcount, the values and the variables; keys the keys.
func (h *Hist) vals() []*Field { return h.fields[:h.nVals] }
func (h *Hist) keys() []*Field { return h.fields[h.nVals:] }

// texts is how many texts and stacks an element holds: of field variables, then
// of saved ones, then of variables.
func (h *Hist) texts() int { return h.fieldTexts + h.saveTexts + h.varTexts }

// attrs are the parts of a command.
//
// Kernel: struct hist_trigger_attrs, kernel/trace/trace_events_hist.c.
type attrs struct {
	keys, vals, sort   string
	name               string // "name=NAME", as the kernel keeps it; empty if there is none
	clock              string // "global" if none is given
	pause, cont, clear bool
	usecs              bool // time stamps are shown in microseconds
	nohitcount         bool
	bits               int // of size=
	assignments        []string
	actions            []string
	vars               []varDef // the assignments taken apart, while fields are made
}

type varDef struct{ name, expr string }

// fieldVar is a variable that an action needs but no command names.
//
// Kernel: struct field_var, kernel/trace/trace_events_hist.c.
type fieldVar struct{ variable, value *Field }

// hiddenHist is a trigger that an action made on another event.
//
// Kernel: struct field_var_hist, kernel/trace/trace_events_hist.c.
type hiddenHist struct {
	file    *File
	command string // without "hist:"
}

// handler says when an action acts, actionKind what it does.
//
// Kernel: enum handler_id and enum action_id, kernel/trace/trace_events_hist.c.
type (
	handler    uint8
	actionKind uint8
)

const (
	onmatch handler = iota + 1
	onmax
	onchange
)

const (
	save actionKind = iota + 1
	trace
	snapshot
)

// action is what follows onmatch(), onmax() or onchange().
//
// Kernel: struct action_data, kernel/trace/trace_events_hist.c.
type action struct {
	handler handler
	kind    actionKind
	name    string // as written: "trace", "save", a synthetic event's name
	params  []string
	keyword bool // trace(EVENT,…) and not EVENT(…)

	synthName string // the EVENT after the keyword
	synth     SynthEvent
	refs      []int // of each parameter: its place in Hist.refs

	match eventName // of onmatch

	track    string // of onmax and onchange: "$VARIABLE"
	trackRef *Field
	trackVar *Field // what the biggest or the latest value is kept in
}

// Trigger is a Hist on one event.
//
// Kernel: struct event_trigger_data, kernel/trace/trace.h.
type Trigger struct {
	hist       *Hist
	filter     *filter.Filter
	filterText string // "" if there is none
	paused     bool
	ref        int
	named      *Trigger // the first trigger of the same name; nil if this is the first
	name       string   // "name=NAME"
}

// Element and Value are what a map holds.
type (
	Element = tracingmap.Element
	Value   = tracingmap.Value
)

// Moment is an event as it happens.
type Moment struct {
	Rec  []byte
	Time uint64 // by the instance's clock, as the buffer stamps it
	CPU  int
	PID  int
	Comm string
	// Stack appends the stack that led to the event, from where hists see it.
	Stack func([]uint64) []uint64

	refs  [varsMax]Value // what the references read, in the order of Hist.refs
	stack []uint64
	comm  [16]byte
}
