package tracedat

import (
	"errors"
	"fmt"
	"io"
)

// Error says what is wrong with a file, and where.
type Error struct {
	Offset int64 // at which byte of the file
	Packed int64 // at which byte of the content that is packed there; -1: nothing is packed
	What   string
	Err    error // the error of another package that is the reason; may be nil
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

// Unwrap gives Err.
func (e *Error) Unwrap() error { return e.Err }

// fault makes an Error for a byte of the file.
func fault(offset int64, format string, args ...any) *Error {
	return &Error{Offset: offset, Packed: -1, What: fmt.Sprintf(format, args...)}
}

// readFault makes an Error for a read that failed.
func readFault(offset int64, err error) *Error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fault(offset, "the file ends here")
	}
	return &Error{Offset: offset, Packed: -1, What: "cannot read", Err: err}
}
