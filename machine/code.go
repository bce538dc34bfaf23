package machine

// Op is one step of kernel code. It happens Delta nanoseconds after the step before it,
// in the code's own time, which stands still while the code is interrupted. Flags and
// Preempt are the state of the processor just after the step.
type Op struct {
	Delta   uint32
	Arg     int32 // OpCall: index into Kernel.Sites; OpReturn: see Values; OpTrace: an operand of Event
	Kind    OpKind
	Event   Event // OpTrace: what happens
	Flags   uint8 // Flag…
	Preempt uint8 // preempt_disable depth; the high half is the migrate_disable depth
}

// OpKind says what a step does.
type OpKind uint8

const (
	OpCall     OpKind = iota // call Sites[Arg]
	OpReturn                 // return from the innermost function
	OpTrace                  // a tracepoint, and what the machine does there
	OpSwitch                 // choose the next task, and execute Workload.Switch; Arg is the state in which the task goes to sleep
	OpHalt                   // idle: wait for an interrupt, then go on at Arg if there is work, else at Delta
	OpPrintk                 // call trace_printk with Printks[Arg]
	OpProbe                  // Stay.Probe is called
	OpSwitchTo               // the next task becomes the current one
	OpFinish                 // execute Workload.Finish, in a task that has never run before
	OpLearned                // a Happening: Kernel.Happenings[Arg]
	OpUnwind                 // leave the innermost Arg functions without returning from them, as longjmp does
)

// Flags of an Op; the values are those of the kernel's TRACE_FLAG_*.
const (
	FlagIRQsOff = 0x01
	FlagHardIRQ = 0x08
	FlagSoftIRQ = 0x10
	FlagNMI     = 0x40
	FlagBHOff   = 0x80
)

// Code is a straight piece of kernel code. Every OpCall has its OpReturn, but not
// necessarily in the same piece: one piece enters the idle loop and another one leaves
// it.
type Code []Op

// Site is a place in the kernel that calls a function.
type Site struct {
	Func uint64 // entry address of the callee
	Ret  uint64 // return address, inside the caller
	// Hidden marks functions that ftrace cannot see (noinstr and notrace). They are on
	// the stack, but no hook runs for them.
	Hidden bool
	// Tail marks a jump instead of a call. The callee returns to where its caller would
	// have returned, and the caller is no longer on the stack.
	Tail bool
	// Probe marks functions that are called only while system call tracepoints
	// are enabled (syscall_trace_enter).
	Probe bool
}

// Slab is what an allocation site asks for.
type Slab struct {
	Kind       uint16 // objects of the same kind share addresses: those of the same cache
	Req, Alloc uint32
	GFP        uint32
	Accounted  bool
	Cache      string // the name of the cache, for kmem_cache_free
}

// Kernel is the code that a machine executes, and the workload that decides which of it
// runs.
type Kernel struct {
	Sites   []Site
	Printks []Printk
	Slabs   []Slab // the operands of the slab events
	// Points are the addresses of tracepoints inside functions, by function and
	// tracepoint: the return address of the call to the probe.
	Points map[Point]uint64
	Values *Values // what functions return; OpReturn refers to it
	// Happenings and Pieces belong to the code of learned activities. They may grow while
	// the machine runs, through AddLearned.
	Happenings []Happening
	Pieces     []Piece
	Workload   Workload
	// Load says what lies in memory when t begins the program filename, which is called comm
	// (load_elf_binary). nil: nothing does.
	Load func(t *Task, comm, filename string) Program
	// Balance says that tasks that wait for a CPU move to another one: see CPU.Unbalanced.
	// Without it, a new task begins on an idle CPU or on that of its parent.
	//
	// Departure: tasks that wait move only if the workload asks for it, which the scenarios users
	// and frames do. In a kernel, they always move.
	Balance bool
	Pace    *Pace // nil: the code always takes the same time
	// Patience is how long an interrupt waits for the kernel code to end that it would
	// interrupt. It limits the number of different kernel stacks: an interrupt at a new
	// place in kernel code makes as many new stacks as its handler has functions.
	//
	// Departure: hardware does not wait.
	Patience Time
}

// Point is a tracepoint in a function.
type Point struct {
	Func  uint64
	Event Event
}

// Workload decides what tasks do and which code runs. The machine asks it during a
// step, so its answers must depend only on the state of the machine and on its named
// random streams.
type Workload interface {
	// Next returns the next stay of t in the kernel. It is called when t is back in
	// user space, is idle, or, for a kernel thread, begins a new round of its loop.
	Next(c *CPU, t *Task) Stay
	// Interrupt returns the code that handles irq on c. With empty code, the interrupt
	// counts as handled.
	Interrupt(c *CPU, irq Interrupt) Code
	// Preempt returns the code that reschedules on the way back to user space.
	Preempt(c *CPU, t *Task) Code
	// Wakee chooses the task that a wake-up of that class wakes; nil: none.
	Wakee(c *CPU, class int32) *Task
	// Switch returns what c executes from the choice of the next task to the context
	// switch. It has the tracepoint EvSchedSwitch and ends with OpSwitchTo. If the task
	// goes on, it has neither. Without code, a switch takes no time.
	Switch(c *CPU, s Switching) Code
	// Finish returns what s.Next, which has just become the current task of c, executes
	// first. born says that it has never run before.
	Finish(c *CPU, s Switching, born bool) Code
	// Event is called when code has come to an event that the workload has to carry
	// out: fork, exec and exit.
	Event(c *CPU, t *Task, e Event, arg int32)
}

// Switching is a context switch of a CPU. If Next is Prev, the task goes on.
type Switching struct {
	Prev, Next *Task
	State      int64 // in which Prev leaves, one of State…
	// Pulled says that Next waited for another CPU. EvSchedMigrate in the code of the switch,
	// or else the switch itself, reports that it has moved.
	Pulled bool
}

// StayKind says how a task enters the kernel.
type StayKind uint8

const (
	KernelWork StayKind = iota // a kernel thread or the idle loop, which do not come from user space
	Syscall
	PageFault
	Breakpoint // an int3 that a uprobe has put there
)

// Stay is one stay in the kernel: when it begins, why, and what it executes.
type Stay struct {
	Kind  StayKind
	After Time // time in user space before it
	Code  Code

	NR   int64 // the number of the system call; then its arguments and its result
	Args [6]uint64
	Ret  int64

	Address, ErrorCode uint64 // of a page fault

	Request *Request // the request of the block events in Code

	// Open says that interrupts do not wait for Code to end (Kernel.Patience). It is
	// meant for code that is always the same, so that the stacks are the same, too.
	Open bool
	// Probe is called at each OpProbe of Code. A tracer's own thread does its work
	// there, and a guest takes its new name.
	Probe func(c *CPU)

	User UserRegs // where user space is during the stay
	// Round is added to what counts up from round to round of a learned activity
	// (QuantityRound).
	Round uint64
	Wait  Wait // what ends a sleep in Code
}

// Wait says what a task waits for when it goes to sleep.
type Wait struct {
	Class   int32         // a wake-up of this class ends the sleep if Workload.Wakee chooses the task; 0: none does
	Timeout Time          // the sleep ends after this time at the latest; 0: never
	At      Time          // the sleep ends at this moment; 0: never
	By      InterruptKind // the interrupt that ends it then
	IRQ     int
	Name    string
	// Over, if it is not nil, is called at the context switch. If it reports that what
	// the task waits for has happened already, the task does not go to sleep.
	Over func() bool
}
