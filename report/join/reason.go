package join

import "fmt"

// Reason says what became of an event that may have a user stack.
type Reason uint8

// The reasons. Joined is the only one with a stack.
const (
	Joined       Reason = iota // the stack of its stay is there
	NoFrames                   // the stack is there and empty: the walk found no frame data
	Lost                       // events were lost after it, and the stack may be among them
	Exited                     // the task has exited
	Inside                     // the task was still in the kernel when the trace ended
	Missing                    // the task has returned, nothing was lost, and there is no stack
	KernelThread               // it has no cookie, and neither has any other event of its task
	Refused                    // the same, but its task has been in user space: the kernel refuses 32-bit programs
	NoCookie                   // it has no cookie, and others of its task have
	Reasons
)

func (r Reason) String() string {
	return [...]string{
		"joined", "no frame data", "lost in an overrun", "task exited", "still inside the kernel at the end of the trace",
		"returned without a stack", "kernel thread", "refused, as a 32-bit program is", "no cookie",
	}[r]
}

// Counts says what became of the events of a trace.
type Counts struct {
	Events  [Reasons]uint64 // by reason
	Cookies uint64          // events with a cookie
	Stacks  uint64          // stacks that were recorded
}

// Without counts the events without a stack: lost have a cookie, empty have none.
func (c *Counts) Without() (lost, empty uint64) {
	for r := NoFrames; r < Reasons; r++ {
		empty += c.Events[r]
	}
	lost = c.Cookies - c.Events[Joined]
	return lost, empty - min(empty, lost)
}

// String is the closing line of a joined trace.
func (c *Counts) String() string {
	s := fmt.Sprintf("%d events wait for a user stack: %d joined to %d stacks", c.Cookies, c.Events[Joined], c.Stacks)
	for r := NoFrames; r < Reasons; r++ {
		if r == KernelThread || r == Refused || r == NoCookie || c.Events[r] == 0 {
			continue
		}
		s += fmt.Sprintf(", %d %v", c.Events[r], r)
	}
	without := ""
	for _, r := range []Reason{KernelThread, Refused, NoCookie} {
		if n := c.Events[r]; n > 0 {
			without += fmt.Sprintf(", %d %v", n, r)
		}
	}
	if without != "" {
		s += "; without a cookie" + without[1:]
	}
	return s
}
