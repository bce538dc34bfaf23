package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/workload"
)

// uncoded is how many of a thousand calls may be where the kernel's code has none. The calls
// are different ones: a call counts once, however often it happens. The scenario vfs follows
// stacks of a kernel that was built in another way.
func uncoded(scenario string) int {
	if scenario == "vfs" {
		return 14
	}
	return 8
}

// TestCallsAreInTheCode: where a function of the machine calls another one, the code of the
// kernel does. Calls by modules are not looked at, nor interrupts, which come at any place.
func TestCallsAreInTheCode(t *testing.T) {
	dir := kernel(t)
	if dir == "" {
		return
	}
	for _, s := range workload.Scenarios() {
		t.Run(s.Name, func(t *testing.T) { testCode(t, s, dir) })
	}
}

// testCode runs a scenario, and the activities beside it.
func testCode(t *testing.T, s workload.Scenario, dir string) {
	m, err := machine.New(machine.Config{CPUs: 2, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(m); err != nil {
		t.Fatal(err)
	}
	code, err := readText(m.Kallsyms(), dir)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[step]bool{}
	said := 0
	m.Hooks.Learned = func(*machine.CPU, machine.Said) { said++ }
	for _, event := range m.LearnedTracepoints() {
		if err := m.Enable(event, true); err != nil {
			t.Fatal(err)
		}
	}
	m.Hooks.Call = func(c *machine.CPU, f *machine.Frame) { addSteps(seen, c.Frames()) }
	m.Run(2 * machine.Second)
	code.ks = m.Kallsyms() // with the modules of the activities
	var wrong []string
	for c := range seen {
		if !c.coded(code) {
			wrong = append(wrong, fmt.Sprintf("%s calls %s and returns to +%#x, jump: %v", code.name(c.from), code.name(c.to), c.ret-c.from, c.ret == 0))
		}
	}
	slices.Sort(wrong)
	t.Logf("%s: %d of %d, %d events of activities", s.Name, len(wrong), len(seen), said)
	if len(wrong) > len(seen)*uncoded(s.Name)/1000 {
		t.Errorf("%s: %d of %d calls are not in the code:\n%s", s.Name, len(wrong), len(seen), strings.Join(wrong, "\n"))
	}
}

// step is a call from one function to another; ret is 0 if it is a jump.
type step struct{ from, to, ret uint64 }

// addSteps adds the innermost calls of a stack, up to the first that was seen.
func addSteps(seen map[step]bool, frames []machine.Frame) {
	for n := len(frames) - 1; n > 0; n-- {
		s := step{frames[n-1].Func, frames[n].Func, frames[n].Parent()}
		if frames[n].Place() == frames[n-1].Place() {
			s.ret = 0
		}
		if seen[s] {
			return
		}
		seen[s] = true
	}
}

func (s step) coded(code *text) bool {
	from, _ := code.ks.At(s.from)
	if from.Module != "" || strings.HasPrefix(code.name(s.to), "asm_") {
		return true
	}
	b := code.branchesOf(s.from)
	if s.ret == 0 {
		return slices.Contains(b.jumps, s.to) || b.leaves
	}
	return code.returnsTo(s.from, s.to, s.ret) || slices.ContainsFunc(b.pointers, func(p pointer) bool { return p.ret == s.ret })
}
