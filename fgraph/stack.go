package fgraph

import "ftracelab/fgraph/work"

// Sizes of a shadow stack, in words of 8 bytes.
const (
	// StackWords is one page of 4096 bytes.
	StackWords = 512
	// MaxOps is how many users can be registered at once.
	MaxOps = 16
	// MaxDataBytes is the most a user may reserve for one call.
	MaxDataBytes = 32 * 8
)

// Stack is the shadow stack of one task. Its zero value is an empty stack.
// It belongs to the task's CPU: no two goroutines may use it at once.
//
// Kernel: task_struct's ret_stack, curr_ret_stack, curr_ret_depth and
// trace_overrun.
type Stack struct {
	words   [StackWords]uint64
	top     int // next free word, 0 = empty
	depth   int // frames on the stack; the kernel's curr_ret_depth + 1
	overrun uint32
	slept   uint64 // when the task was last switched out, 0 = never
}

// Depth is the number of frames on the stack.
func (s *Stack) Depth() int { return s.depth }

// Top is the index of the next free word, 0 for an empty stack.
func (s *Stack) Top() int { return s.top }

// Overrun counts the calls that were not traced because the stack was full.
func (s *Stack) Overrun() uint32 { return s.overrun }

// Words appends the words in use, lowest first, for drawing.
func (s *Stack) Words(dst []uint64) []uint64 { return append(dst, s.words[:s.top]...) }

// Var returns the word that o may use as it likes in this task. It is zeroed
// when o is registered, before o first sees the task.
//
// Kernel: fgraph_get_task_var, kernel/trace/fgraph.c.
func (s *Stack) Var(o *Ops) *uint64 { return &s.words[StackWords-MaxOps+o.index] }

// Reserve gives o enough words for the given number of bytes. They stay until the
// call that is being entered returns; see Retrieve. Only o's Entry may call it, once.
// The words are not cleared. It returns nil if bytes is not in 1…MaxDataBytes, the
// stack is full, or o has reserved for this call before.
//
// Kernel: fgraph_reserve_data, kernel/trace/fgraph.c.
//
// Departure: according to its comment the kernel refuses a second reservation,
// but its code does not.
func (s *Stack) Reserve(o *Ops, bytes int) []uint64 {
	if bytes <= 0 || bytes > MaxDataBytes || s.top == 0 {
		return nil
	}
	size := (bytes + 7) / 8
	below := s.words[s.top-1]
	if wordType(below) == typeData && wordDataUser(below) == o.index {
		return nil
	}
	top := s.top + size + 1
	if top >= o.graph.maxOffset() {
		return nil
	}
	data := s.words[s.top : s.top+size : s.top+size]
	s.words[top-1] = dataWord(o.index, size, wordBack(below)+size+1)
	// The word behind it, and the index of the top.
	o.graph.cfg.Work.Add(0, 2, work.LinesOf(s.top, size+1), 0)
	s.top = top
	return data
}

// Retrieve returns the words that o reserved when the call that now returns was
// entered, or nil if it reserved nothing. Their length is the reserved size
// rounded up to words. Only o's Return may call it.
//
// Kernel: fgraph_retrieve_data, kernel/trace/fgraph.c.
func (s *Stack) Retrieve(o *Ops) []uint64 {
	for at := s.top - 1; at >= 0; {
		w := s.words[at]
		if wordType(w) != typeData {
			return nil
		}
		size := wordDataSize(w)
		if wordDataUser(w) == o.index {
			return s.words[at-size : at : at]
		}
		at -= size + 1
	}
	return nil
}

// frame returns the index of the frame whose words end at end, or -1 if there
// is none.
func (s *Stack) frame(end int) int {
	if end <= 0 {
		return -1
	}
	end--
	back := wordBack(s.words[end])
	if back <= 0 || back > end {
		return -1
	}
	return end - back
}

// Positions in a frame. retp follows calltime, or subtime where there is one.
const (
	frameRet = iota
	frameFunc
	frameCalltime
)

// Subtime returns the word in which the function profiler adds up the time that the
// callees of a call took. above selects the call: 0 is the innermost one, 1 the one
// above it, and so on. The result is nil if there is no such call or no such word
// (Config.SubtimeWord).
//
// Kernel: ftrace_graph_get_ret_stack, kernel/trace/fgraph.c, and subtime of
// struct ftrace_ret_stack, include/linux/ftrace.h.
func (g *Graph) Subtime(s *Stack, above int) *uint64 {
	if !g.cfg.SubtimeWord || g.cfg.NoCalltime {
		return nil
	}
	at := s.frame(s.top)
	for ; at >= 0 && above > 0; above-- {
		at = s.frame(at)
	}
	if at < 0 {
		return nil
	}
	return &s.words[at+frameCalltime+1]
}
