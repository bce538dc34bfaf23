package probe

import (
	"fmt"
	"strings"
	"syscall"
)

// Error says why a definition is refused: which errno the writer gets, and what
// error_log shows. The log shows nothing if the kernel returns a bare errno. It may
// also show two faults at the same place, one after the other.
//
// ECANCELED says that the text is not a definition of this kind, so that the
// next kind may try. If none takes it, the writer gets EINVAL.
//
// Kernel: __trace_probe_log_err, kernel/trace/trace_probe.c.
type Error struct {
	Errno syscall.Errno
	Log   []Fault
}

// Fault is an entry of error_log.
type Fault struct {
	Location string // "trace_kprobe", "trace_uprobe", "trace_fprobe", "event_probe"
	Msg      string // a text of the kernel's table
	Command  string // the definition, its words with one blank between them
	Pos      int    // the caret's column in Command, in bytes from 0; may lie after its end
}

func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString("probe")
	for _, f := range e.Log {
		fmt.Fprintf(&text, ": %q: column %d: %s", f.Command, f.Pos, f.Msg)
	}
	fmt.Fprintf(&text, ": %v", e.Errno)
	return text.String()
}

// Unwrap gives the errno.
func (e *Error) Unwrap() error { return e.Errno }
