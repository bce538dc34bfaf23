package user

// Stop says why a walk ended.
type Stop uint8

const (
	found          Stop = iota // the caller was found; no walk ends with it
	NoUser                     // there is no user stack: a kernel thread
	Full                       // the limit of entries was reached
	Outermost                  // the frame says that it has no caller
	BelowStack                 // the frame pointer lies below the stack pointer
	WrongDirection             // the next frame would not lie above this one
	Misaligned                 // the frame is not on a word boundary
	Fault                      // the stack could not be read there
	NoFrameData                // no table has a row for the address, and no method is left
	BadFrameData               // the row for the address has no meaning
	NoRegister                 // the caller is in a register that is not known
	BadAddress                 // the return address cannot be one (s390x)
)

// stops are the reasons in words.
var stops = [...]string{
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
