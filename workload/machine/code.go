package machine

// Op is one step of kernel code: something that happens Delta nanoseconds of
// the code's own time after the step before it. Flags and Preempt are the
// state of the processor just after the step.
type Op struct {
	Delta   uint32
	Arg     int32 // OpCall: index into Kernel.Sites; OpReturn: see Values; OpTrace: an operand of Event
	Kind    OpKind
	Event   Event // OpTrace: what happens
	Flags   uint8 // Flag…
	Preempt uint8 // preempt_disable depth, migrate_disable depth in the high half
}

// OpKind says what a step does.
type OpKind uint8

const (
	OpCall   OpKind = iota // call Sites[Arg]
	OpReturn               // return from the innermost function
	OpTrace                // a tracepoint, and what the machine does there
	OpSwitch               // context switch; Arg is the state the task goes to sleep in
	OpHalt                 // idle: wait for an interrupt; then Arg is where to go on with work, Delta without
	OpPrintk               // call trace_printk with Printks[Arg]
	OpProbe                // Stay.Probe is called
)

// Flags of an Op; the values are those of the kernel's TRACE_FLAG_*.
const (
	FlagIRQsOff = 0x01
	FlagHardIRQ = 0x08
	FlagSoftIRQ = 0x10
	FlagNMI     = 0x40
	FlagBHOff   = 0x80
)

// Code is a straight piece of kernel code. Every OpCall has its OpReturn, but
// not necessarily in the same piece: the idle loop is entered in one and left
// in another.
type Code []Op

// Site is a place in the kernel that calls a function.
type Site struct {
	Func uint64 // entry address of the callee
	Ret  uint64 // return address, inside the caller
	// Hidden marks functions ftrace cannot see (noinstr and notrace): they are
	// on the stack but no hook runs.
	Hidden bool
	// Tail marks a jump instead of a call: the callee returns to where its
	// caller would have, and the caller is no longer on the stack.
	Tail bool
	// Probe marks functions that are called only while system call tracepoints
	// are enabled (syscall_trace_enter).
	Probe bool
}

// Slab is what one allocation site asks for.
type Slab struct {
	Kind       uint16 // which objects share addresses: allocations and frees of one cache
	Req, Alloc uint32
	GFP        uint32
	Accounted  bool
	Cache      string // name of the cache, for kmem_cache_free
}

// Kernel is the code a machine executes and the decisions it leaves to its
// workload.
type Kernel struct {
	Sites   []Site
	Printks []Printk
	Slabs   []Slab // operands of the slab events
	// Points are addresses of tracepoints inside functions: the return address
	// of the call to the probe, by function and tracepoint.
	Points   map[Point]uint64
	Values   *Values // what functions return, as OpReturn names it
	Workload Workload
	// Patience is how long an interrupt waits for kernel code that it would
	// interrupt to end. It bounds the number of different kernel stacks: each
	// interrupt of kernel code makes as many new ones as its handler has functions.
	//
	// Departure: hardware does not wait.
	Patience Time
}

// Point is a tracepoint in a function.
type Point struct {
	Func  uint64
	Event Event
}

// Workload decides what tasks do and which code runs. The machine asks it
// during a step, so answers must depend on the machine's state and its named
// random streams alone.
type Workload interface {
	// Next returns the next stay of t in the kernel. It is asked when t is back
	// in user space, at the top of a kernel thread's loop, or idle.
	Next(c *CPU, t *Task) Stay
	// Interrupt returns the code that handles irq on c; an empty code is taken
	// as handled.
	Interrupt(c *CPU, irq Interrupt) Code
	// Preempt returns the code that reschedules on the way back to user space.
	Preempt(c *CPU, t *Task) Code
	// Wakee picks the task that a wake-up of that class is for, or nil.
	Wakee(c *CPU, class int32) *Task
	// Event is told of what code did that is a matter of the workload: fork,
	// exec and exit.
	Event(c *CPU, t *Task, e Event, arg int32)
}

// StayKind says how a task gets into the kernel.
type StayKind uint8

const (
	KernelWork StayKind = iota // a kernel thread or the idle loop: no crossing from user space
	Syscall
	PageFault
)

// Stay is one stay in the kernel: when it begins, why and what it executes.
type Stay struct {
	Kind  StayKind
	After Time // time in user space before it
	Code  Code

	NR   int64 // system call number, arguments, result
	Args [6]uint64
	Ret  int64

	Address, ErrorCode uint64 // page fault

	Request *Request // what the block events in Code are about

	// Open says that interrupts do not wait for Code to end (Kernel.Patience): it
	// is the same all the time, and so are the stacks.
	Open bool
	// Probe is called at each OpProbe of Code: what a tracer's own thread does.
	Probe func(c *CPU)

	User UserRegs // where user space is then
	Wait Wait     // how a sleep in Code ends
}

// Wait is what a task that goes to sleep waits for.
type Wait struct {
	Class   int32         // wake-up class, given to Workload.Wakee's choice; 0 is none
	Timeout Time          // the sleep ends at the latest so much later; 0 is never
	At      Time          // the sleep ends at that moment; 0 is never
	By      InterruptKind // what ends it then
	IRQ     int
	Name    string
	// Over, if it is set, says whether what is waited for has come already: then the
	// task does not go to sleep. It is asked at the moment of the switch.
	Over func() bool
}
