package main

import (
	"context"
	"errors"
	"io"

	stepping "ftracelab/lab"
)

// walk is for terminals, of which there is none here.
func (f *stepFlags) walk(context.Context, io.Reader, tty, stepping.Place) error {
	return errors.New("there is no terminal")
}
