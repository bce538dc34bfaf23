package record

import (
	"errors"
	"fmt"
)

// StackMode is a way to write stacks. The zero value writes none.
type StackMode uint8

// The ways to write a stack.
const (
	NoStacks StackMode = iota
	// FullStack is ftrace's own record: for the kernel all addresses
	// (kernel_stack), for user space the innermost 8 (user_stack).
	FullStack
	// StackID is the id a stackmap has for the stack; the full record where it has none.
	StackID
	// DeferredStack, of user space only, is a cookie with each event and one
	// user_unwind_stack for each stay in the kernel.
	DeferredStack
)

// Design is one way to write a trace's stacks, a value to compare with others.
type Design struct {
	Name      string
	Kernel    StackMode
	KernelMap MapConfig // of Kernel == StackID
	User      StackMode
	UserMap   MapConfig // of User == StackID
}

// Validate names what a design cannot be.
func (d Design) Validate() error {
	switch {
	case d.Name == "":
		return errors.New("a design has no name")
	case d.Kernel > StackID:
		return fmt.Errorf("design %s: kernel stacks cannot be deferred", d.Name)
	case d.User > DeferredStack:
		return fmt.Errorf("design %s: no such mode of user stacks: %d", d.Name, d.User)
	}
	return nil
}
