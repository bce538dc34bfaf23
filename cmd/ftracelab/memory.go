package main

import (
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"

	"ftracelab/budget"
)

// memoryFlag is --memory: how much memory the program may take to read captures.
type memoryFlag struct {
	bytes int64 // 0: the default
}

// newMemoryFlag chooses the default for a machine with so many bytes of memory: a
// quarter of it, but not more than is enough for captures of a usual kernel. 0 means
// that the machine's memory is not known.
func newMemoryFlag(machine int64) *memoryFlag {
	m := &memoryFlag{budget.Default}
	if machine > 0 {
		m.bytes = max(min(m.bytes, machine/4), budget.Least)
	}
	return m
}

// String implements pflag.Value.
func (m *memoryFlag) String() string {
	for _, u := range units {
		if m.bytes%u.size == 0 {
			return strconv.FormatInt(m.bytes/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(m.bytes, 10)
}

// Type implements pflag.Value.
func (m *memoryFlag) Type() string { return "SIZE" }

var units = []struct {
	name string
	size int64
}{{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}}

// Set implements pflag.Value: a number with K, M or G.
func (m *memoryFlag) Set(text string) error {
	digits, size := text, int64(1)
	for _, u := range units {
		if d, ok := strings.CutSuffix(strings.ToUpper(text), u.name); ok {
			digits, size = d, u.size
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > 1<<62/size {
		return fmt.Errorf("%q is no size, as 256M", text)
	}
	if n*size < budget.Least {
		return fmt.Errorf("%s is too little: %dM is the least", text, budget.Least>>20)
	}
	m.bytes = n * size
	return nil
}

// budget makes a new budget, for one capture.
func (m *memoryFlag) budget() *budget.Budget { return budget.New(m.bytes) }

// mappedCode is the memory that the mapped file of the program takes. The Go runtime
// does not count it.
const mappedCode = 28 << 20

// limit makes the garbage collector keep the whole program within the memory, until
// restore is called. That is possible because budgets limit what is in use.
func (m *memoryFlag) limit() (restore func()) {
	was := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(was, m.bytes-mappedCode)) // GOMEMLIMIT may be lower
	return func() { debug.SetMemoryLimit(was) }
}
