package ringbuf

// A Point is a place in the writer where it matters if an interrupt comes that
// writes as well. The letters are those of the package doc and of the kernel's
// comments. See Buffer.Interrupt.
type Point uint8

const (
	PointA       Point = iota // write index, stamps and clock have been read
	PointB                    // before_stamp is set
	PointC                    // the room is taken, or the page is too short for it
	PointD                    // write_stamp is set
	PointE                    // others were faster: new time taken, before_stamp set
	PointF                    // others were faster: write_stamp read again
	PointLink                 // the page is full, the link to the next page has been read
	PointUpdate               // the link to the head is update
	PointHead                 // the page behind the overwritten one is the head
	PointTail                 // about to enter the next page
	PointCommits              // an event ends: commits has been read
	PointCommit               // the commit has moved, committing has not been lowered
	PointLowered              // it has been, and commits is about to be read again
)

// Points is how many there are.
const Points = int(PointLowered) + 1

var pointNames = [Points]string{"A", "B", "C", "D", "E", "F", "link", "update", "head", "tail", "commits", "commit", "lowered"}

func (p Point) String() string {
	if int(p) < Points {
		return pointNames[p]
	}
	return "?"
}

// Interrupt calls fn whenever the writer of cpu is at a point, until it is
// given nil. Whatever fn writes to cpu, in a higher context than the one that
// is writing, is written as an interrupt at this point would write it; fn is
// called at the points of those writes, too. While fn is nil, this costs a
// writer nothing.
//
// Of the readers' methods fn may call Diagram; the others may wait for the
// writer, which waits for fn.
//
// It is for the goroutine that writes, between two events. After SwapCPU fn
// stays with the buffer.
func (b *Buffer) Interrupt(cpu int, fn func(at Point)) {
	c := b.writer(cpu)
	c.settle()
	c.hook = fn
}

func (c *cpuBuffer) at(p Point) {
	if c.hook != nil {
		c.hook(p)
	}
}
