package tracedat

import (
	"errors"
	"fmt"
	"io"
)

// Error says what is wrong with a file and where.
type Error struct {
	Offset int64 // of the file
	Packed int64 // -1, or: of what is packed there
	What   string
	Err    error // the reason, where another package knows it
}

func (e *Error) Error() string {
	s := fmt.Sprintf("trace.dat: offset %d: ", e.Offset)
	if e.Packed >= 0 {
		s += fmt.Sprintf("at %d of what is packed there: ", e.Packed)
	}
	s += e.What
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the reason.
func (e *Error) Unwrap() error { return e.Err }

// fault is an Error at a byte of the file.
func fault(offset int64, format string, args ...any) *Error {
	return &Error{Offset: offset, Packed: -1, What: fmt.Sprintf(format, args...)}
}

// readFault is a failed read.
func readFault(offset int64, err error) *Error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fault(offset, "the file ends here")
	}
	return &Error{Offset: offset, Packed: -1, What: "cannot read", Err: err}
}
