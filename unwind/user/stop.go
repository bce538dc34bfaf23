package user

import "fmt"

// Stop says why a walk ended.
type Stop uint8

const (
	found          Stop = iota // the caller was found; no walk ends with it
	NoUser                     // there is no user stack: a kernel thread
	Full                       // the limit of entries was reached
	Outermost                  // the frame says that it has no caller, by its table or by a frame pointer of 0
	BelowStack                 // the frame pointer lies below the stack pointer
	WrongDirection             // the next frame would not lie above this one
	Misaligned                 // the frame is not on a word boundary
	Fault                      // the stack could not be read there
	NoFrameData                // no table has a row for the address, and no method is left
	BadFrameData               // the row for the address has no meaning
	NoRegister                 // the caller is in a register that is not known
	BadAddress                 // the return address cannot be one (s390x)
	numStops
)

// stops are the reasons in words.
var stops = [numStops]string{
	found: "found", NoUser: "no user stack", Full: "full", Outermost: "outermost frame",
	BelowStack: "frame pointer below the stack pointer", WrongDirection: "frame in the wrong direction",
	Misaligned: "misaligned frame", Fault: "fault", NoFrameData: "no frame data", BadFrameData: "wrong frame data",
	NoRegister: "register not known", BadAddress: "no return address",
}

func (s Stop) String() string {
	if int(s) < len(stops) {
		return stops[s]
	}
	return "unknown"
}

// Walks counts walks by why they ended. The zero value has counted none.
type Walks struct {
	by    [numStops]int
	last  Stop
	depth int
}

// Add counts a walk that found depth addresses.
func (w *Walks) Add(depth int, why Stop) {
	w.by[why]++
	w.last, w.depth = why, depth
}

// Total is how many walks were counted.
func (w *Walks) Total() (n int) {
	for _, k := range w.by {
		n += k
	}
	return n
}

// Append appends the counts, and what the last walk came to, as text without a line end.
//
//	5 walks: 4 outermost frame, 1 fault; the last one: 8 addresses, fault
func (w *Walks) Append(dst []byte) []byte {
	dst = fmt.Appendf(dst, "%d walks", w.Total())
	if w.Total() == 1 {
		dst = dst[:len(dst)-1]
	}
	before := ": "
	for why, n := range w.by {
		if n > 0 {
			dst = fmt.Appendf(dst, "%s%d %v", before, n, Stop(why))
			before = ", "
		}
	}
	if w.last != found {
		dst = fmt.Appendf(dst, "; the last one: %d addresses, %v", w.depth, w.last)
	}
	return dst
}
