package lab

import (
	"fmt"
	"slices"
	"strings"

	"ftracelab/fgraph"
	"ftracelab/machine"
)

// depthOfRecursion is deep enough for a shadow stack to be full.
const depthOfRecursion = 110

// shadow calls functions with two users of the shadow stack: one wants every return,
// and one only that of vfs_read, for which it keeps a word. Then a function calls
// itself until the shadow stack is full.
func (p *player) shadow() {
	g := fgraph.New(fgraph.Config{})
	stack := &fgraph.Stack{}
	var calls []string
	all := &fgraph.Ops{
		Entry:  func(*machine.CPU, *fgraph.Stack, fgraph.Call) bool { return true },
		Return: func(*machine.CPU, *fgraph.Stack, fgraph.Ret) {},
	}
	const vfsRead = 0xffffffff81003000
	one := &fgraph.Ops{
		Filter: func(fn uint64) bool { return fn == vfsRead },
		Return: func(*machine.CPU, *fgraph.Stack, fgraph.Ret) {},
	}
	one.Entry = func(_ *machine.CPU, s *fgraph.Stack, _ fgraph.Call) bool {
		if words := s.Reserve(one, 8); words != nil {
			words[0] = 0x2a
		}
		return true
	}
	for _, o := range []*fgraph.Ops{all, one} {
		if err := g.Register(o); err != nil {
			p.err = err
			return
		}
	}
	names := map[uint64]string{} // of the functions that were called, by address
	p.copy = func(m *Moment) {
		m.Shadow = &ShadowState{Words: stack.Words(nil), About: aboutWords(g, stack, names), Depth: stack.Depth(), Overrun: stack.Overrun(), Calls: slices.Clone(calls)}
	}
	p.values = map[string]func() uint64{
		"depth":   func() uint64 { return uint64(stack.Depth()) },
		"overrun": func() uint64 { return uint64(stack.Overrun()) },
		"words":   func() uint64 { return uint64(len(stack.Words(nil))) },
	}
	cpu := &machine.CPU{Current: &machine.Task{PID: 1}, Time: 1000}
	p.begin("The shadow stack of a task is empty. User 0 (function_graph) wants every return; user 1 (an fprobe) only that of vfs_read, and keeps a word for it.")

	enter := func(name string, fn, ret uint64) bool {
		cpu.Time += 10
		names[fn] = name
		if g.Enter(cpu, stack, fn, ret, 0) {
			calls = append(calls, name)
			p.step("task", "calls "+name, Push, sentence{
				fmt.Sprintf("The hook at the entry has put a frame on the shadow stack: where %s returns to, which function it is, the time, and which users want its return. The word on the machine's stack now leads to return_to_handler.", name),
				"function_graph_enter",
			})
			return true
		}
		p.step("task", "calls "+name+", which is not traced", Overrun, sentence{
			fmt.Sprintf("There is no room for another frame. %s runs, but its return will not be seen; trace_overrun counts it, and funcgraph-overrun shows that.", name),
			"ftrace_push_return_trace",
		})
		return false
	}
	leave := func() {
		cpu.Time += 10
		name := calls[len(calls)-1]
		calls = calls[:len(calls)-1]
		to := g.Return(cpu, stack, 0)
		p.step("task", "returns from "+name, Pop, sentence{
			fmt.Sprintf("return_to_handler has taken the frame off, has told the users who wanted this return, and goes on at %#x, the real address.", to),
			"ftrace_return_to_handler",
		})
	}
	enter("ksys_read", 0xffffffff81002000, 0xffffffff81001010)
	enter("vfs_read", vfsRead, 0xffffffff81002020)
	enter("pipe_read", 0xffffffff81004000, 0xffffffff81003030)
	leave()
	leave()
	traced := 0
	for range depthOfRecursion {
		if enter("recurse", 0xffffffff81005000, 0xffffffff81005040) {
			traced++
		}
	}
	for range traced {
		leave()
	}
	leave()
}

// aboutWords says what each word of a stack is. An address is shown by the function that it
// lies in, if that has been called.
func aboutWords(g *fgraph.Graph, s *fgraph.Stack, names map[uint64]string) []string {
	const inFunction = 1<<12 - 1 // the functions are that far from each other
	symbol := func(dst []byte, addr uint64) []byte {
		name, ok := names[addr&^inFunction]
		switch at := addr & inFunction; {
		case !ok:
			return fmt.Appendf(dst, "%#x", addr)
		case at == 0:
			return append(dst, name...)
		default:
			return fmt.Appendf(dst, "%s+%#x", name, at)
		}
	}
	var about []string
	for line := range strings.Lines(string(g.AppendWords(nil, s, symbol))) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		_, text, _ := strings.Cut(rest, " ")
		about = append(about, text)
	}
	return about
}
