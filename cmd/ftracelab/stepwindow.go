//go:build !js

package main

import (
	"context"
	"fmt"
	"io"

	tea "charm.land/bubbletea/v2"

	stepping "ftracelab/lab"
	"ftracelab/lab/tui"
)

// walk lets the user walk from place, and prints the place where that ended. It draws on
// the terminal itself, since out shows escape sequences as text.
func (f *stepFlags) walk(ctx context.Context, in io.Reader, out tty, place stepping.Place) error {
	m, err := tui.New(place)
	if err != nil {
		return err
	}
	if _, err = tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out.terminal)).Run(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "ftracelab step --url '%v'\n", m.Place())
	return err
}
