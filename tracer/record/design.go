package record

import (
	"errors"
	"fmt"

	"ftracelab/ringbuf"
	"ftracelab/tracer/record/stackcode"
)

// StackMode is a way to write stacks. The zero value writes none.
type StackMode uint8

// The ways to write a stack.
const (
	NoStacks StackMode = iota
	// FullStack is ftrace's own record: all addresses of a kernel stack
	// (kernel_stack), the innermost 8 of a user stack (user_stack).
	FullStack
	// StackID is the id that a stackmap has for the stack, or the full record
	// if it has none.
	StackID
	// DeferredStack is for user stacks only: a cookie with each event, and one
	// user_unwind_stack for each stay in the kernel.
	DeferredStack
	// CodedStack is for kernel stacks only: what the stack shares with the one before it
	// on its sub-buffer, and the other addresses; see [stackcode.Code].
	CodedStack
)

// Design is one way to write a trace's stacks, a value to compare with others.
type Design struct {
	Name      string
	Kernel    StackMode
	KernelMap MapConfig // of Kernel == StackID
	User      StackMode
	UserMap   MapConfig      // of User == StackID
	Code      stackcode.Code // of Kernel == CodedStack
	// Ring makes the ring that the trace is written into; nil: the kernel's. It may use
	// up to twice the bytes that the kernel's uses.
	Ring func(ringbuf.Config) (Ring, error)
}

// Validate returns an error that names what is impossible in d, or nil.
func (d Design) Validate() error {
	switch {
	case d.Name == "":
		return errors.New("a design has no name")
	case d.Kernel == DeferredStack:
		return fmt.Errorf("design %s: kernel stacks cannot be deferred", d.Name)
	case d.Kernel > CodedStack:
		return fmt.Errorf("design %s: no such mode of kernel stacks: %d", d.Name, d.Kernel)
	case d.User == CodedStack:
		return fmt.Errorf("design %s: user stacks cannot be coded", d.Name)
	case d.Code > stackcode.Delta:
		return fmt.Errorf("design %s: no such code: %v", d.Name, d.Code)
	case d.User > DeferredStack:
		return fmt.Errorf("design %s: no such mode of user stacks: %d", d.Name, d.User)
	}
	return nil
}
