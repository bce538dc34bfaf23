package ringbuf

// A ReadPoint is a place in a reader where it matters what the writer does meanwhile.
// See Buffer.Pause.
type ReadPoint uint8

const (
	ReadEnd    ReadPoint = iota // the reader page has been read to its end
	ReadCommit                  // the commit page has been read: it is another one
	ReadSpin                    // no head found: the writer is moving it
	ReadHead                    // the head has been found, and the empty page leads where it leads
	ReadFailed                  // the exchange has failed: the link to the head has changed
	ReadTaken                   // the head page is out of the ring
	ReadPage                    // an iterator has found the memory of a page
	ReadHeld                    // and holds it
)

// readPoints is how many there are.
const readPoints = int(ReadHeld) + 1

var readPointNames = [readPoints]string{"end", "commit", "spin", "head", "failed", "taken", "page", "held"}

func (p ReadPoint) String() string {
	if int(p) < readPoints {
		return readPointNames[p]
	}
	return "?"
}

// Pause calls fn whenever a reader of cpu is at a point, until it is given nil. It is
// for programs in which the reader and the writer are coroutines, of which one runs at
// a time: fn gives way to the writer, which may make any number of steps before the
// reader goes on. The reader has the readers' lock meanwhile, so no other method of a
// reader may be called then but Diagram and Counters, which take no lock while fn is set.
//
// It is for the goroutine that writes, while no reader is in a call.
func (b *Buffer) Pause(cpu int, fn func(at ReadPoint)) { b.writer(cpu).readHook = fn }

func (c *cpuBuffer) atRead(p ReadPoint) {
	if c.readHook != nil {
		c.readHook(p)
	}
}

// look is the ring of cpu for somebody who changes nothing, with the readers' lock taken
// unless a reader that has it stands still. What is returned with it gives the lock back.
func (b *Buffer) look(cpu int) (c *cpuBuffer, done func()) {
	if c := b.writer(cpu); c.readHook != nil {
		return c, func() {}
	}
	c = b.readers(cpu)
	return c, c.lock.Unlock
}
