package main

import (
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"

	"ftracelab/capture/budget"
)

// memoryFlag is --memory: how much memory the reading of captures may take.
type memoryFlag struct {
	bytes int64 // 0: the default
}

// newMemoryFlag takes what a machine of so many bytes lets one program have without
// asking: a quarter, and never more than is enough for the captures of a usual kernel.
// 0: it is not known.
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

// budget is a new one, for one capture.
func (m *memoryFlag) budget() *budget.Budget { return budget.New(m.bytes) }

// mappedCode is what the program's file takes of its memory, which the Go runtime does
// not count.
const mappedCode = 28 << 20

// limit makes the garbage collector keep the whole program within the memory, until
// the function it gives is called. What is held is bounded by budgets, so that it can.
func (m *memoryFlag) limit() (restore func()) {
	was := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(was, m.bytes-mappedCode)) // GOMEMLIMIT may be lower
	return func() { debug.SetMemoryLimit(was) }
}
