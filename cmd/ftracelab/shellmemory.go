package main

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strconv"
	"strings"
)

// shellMemory is --memory of shell: how many bytes a script may take.
type shellMemory int

// leastShellMemory is the least memory with which a shell is of any use.
const leastShellMemory = 64 << 20

func (m *shellMemory) String() string { return fmt.Sprintf("%dM", *m>>20) }

func (m *shellMemory) Type() string { return "size" }

// Set takes a number of megabytes or, with a G behind it, of gigabytes.
func (m *shellMemory) Set(s string) error {
	number, unit := strings.TrimSuffix(s, "M"), 1<<20
	if g, ok := strings.CutSuffix(s, "G"); ok {
		number, unit = g, 1<<30
	}
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || n < 0 || number == s:
		return errors.New("want a size as 256M or 2G")
	case n > math.MaxInt/2/unit:
		return errors.New("more than a process can have")
	case n*unit < leastShellMemory:
		return fmt.Errorf("less than %dM", leastShellMemory>>20)
	}
	*m = shellMemory(n * unit)
	return nil
}

// limit makes Go collect its garbage before the process grows much larger than that,
// until undo is called. There is some room above the limit of a script; otherwise Go
// would do nothing but collect garbage before the shell notices that the script takes
// too much.
func (m *shellMemory) limit() (undo func()) {
	before := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(before, int64(*m)/4*5))
	return func() { debug.SetMemoryLimit(before) }
}
