package filter

import (
	"fmt"
	"strings"
	"syscall"
)

// The faults of a filter, as error_log and the filter file name them.
//
// Kernel: ERRORS, kernel/trace/trace_events_filter.c.
const (
	msgInvalidOp         = "Invalid operator"
	msgTooManyOpen       = "Too many '('"
	msgTooManyClose      = "Too few '('"
	msgMissingQuote      = "Missing matching quote"
	msgMissingBraceOpen  = "Missing '{'"
	msgMissingBraceClose = "Missing '}'"
	msgOperandTooLong    = "Operand too long"
	msgExpectString      = "Expecting string field"
	msgExpectDigit       = "Expecting numeric field"
	msgIllegalFieldOp    = "Illegal operation for field type"
	msgFieldNotFound     = "Field not found"
	msgIllegalIntval     = "Illegal integer value"
	msgBadSubsysFilter   = "Couldn't find or set field in one of a subsystem's events"
	msgTooManyPreds      = "Too many terms in predicate expression"
	msgInvalidFilter     = "Meaningless filter expression"
	msgInvalidCPUList    = "Invalid cpulist"
	msgIPFieldOnly       = "Only 'ip' field is supported for function trace"
	msgInvalidValue      = "Invalid value (did you forget quotes)?"
	msgNoFunction        = "Function not found"
	msgErrno             = "Error" // a fault without a text of its own
	msgNoFilter          = "No filter found"
)

// Location is where error_log says these faults come from.
const Location = "event filter parse error"

// Error is a fault in a filter's text: what error_log shows for it and which
// errno the writer gets. The errno is often not EINVAL: the kernel lets some of
// the parser's own small negative numbers out, which read as EPERM, ENOENT,
// ESRCH.
//
// Kernel: append_filter_err, kernel/trace/trace_events_filter.c.
type Error struct {
	Msg     string        // a text of the kernel's table
	Pos     int           // the caret's column in Command, in bytes from 0; may lie behind its end
	Command string        // the filter, blanks at its end cut off
	Errno   syscall.Errno // for the writer
}

func (e *Error) Error() string {
	return fmt.Sprintf("filter %q: column %d: %s: %v", e.Command, e.Pos, e.Msg, e.Errno)
}

// Unwrap gives the errno.
func (e *Error) Unwrap() error { return e.Errno }

// seqSize is the room for a filter file's text; what does not fit is left out
// as a whole.
//
// Kernel: TRACE_SEQ_BUFFER_SIZE, include/linux/trace_seq.h.
const seqSize = 8156

// fileText is what the filter file shows after the fault, without the last line
// break.
func (e *Error) fileText() string {
	var text strings.Builder
	text.WriteString(e.Command)
	if e.Msg == msgErrno {
		text.WriteString("\nError: (0)\n")
		return text.String()
	}
	caret := "\n" + strings.Repeat(" ", min(e.Pos, len(e.Command))) + "^"
	for _, part := range []string{caret, "\nparse_error: " + e.Msg + "\n"} {
		if text.Len()+len(part) >= seqSize {
			break
		}
		text.WriteString(part)
	}
	return text.String()
}
