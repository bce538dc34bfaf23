package fgraph

import (
	"math/bits"

	"ftracelab/fgraph/work"
	"ftracelab/machine"
)

// ReturnToHandler is the address that replaces a return address: the address of
// return_to_handler in the reference kernel.
const ReturnToHandler uint64 = 0xffffffff81093e00

// frameWords is the size of a frame without its bitmap word.
func (g *Graph) frameWords() int {
	if g.cfg.NoCalltime {
		return 3
	}
	if g.cfg.SubtimeWord {
		return 5
	}
	return 4
}

// maxOffset is the word that a stack must stay below, so that there is always
// room for one more frame, its bitmap and the variables of the users.
func (g *Graph) maxOffset() int { return StackWords - (g.frameWords() + 1 + MaxOps) }

// push puts a frame on the stack and returns the index of its bitmap word.
//
// Kernel: ftrace_push_return_trace, kernel/trace/fgraph.c.
func (g *Graph) push(c *machine.CPU, s *Stack, fn, ret, retp uint64) (bitmap int, ok bool) {
	f := g.frameWords()
	if s.top+f+1 >= g.maxOffset() {
		s.overrun++
		return 0, false
	}
	at := s.top
	bitmap = at + f
	// The word that leads back comes first: from the moment top is raised an
	// interrupt may walk the stack or push frames of its own. One that comes before that
	// pushes its frames over these two words, so they are written once more.
	s.words[bitmap] = reservedWord(f)
	s.words[at+frameRet] = ret
	g.at("written")
	s.top = bitmap + 1
	g.at("raised")
	s.words[bitmap] = reservedWord(f)
	s.words[at+frameRet] = ret
	s.words[at+frameFunc] = fn
	if !g.cfg.NoCalltime {
		s.words[at+frameCalltime] = g.cfg.Clock(c)
	}
	s.words[bitmap-1] = retp
	// The frame and the word behind it, which is written twice; in the task, the index of
	// the top and the depth. The bitmap is written into the same line.
	g.cfg.Work.Add(0, f+2+2, 1+work.LinesOf(at, f+1), 0)
	return bitmap, true
}

// at is a place where something may come between.
func (g *Graph) at(place string) {
	if g.point != nil {
		g.point(place)
	}
}

// Enter shows the call of fn, which will return to ret, to the users and
// reports whether one of them wants to see it return. If so the caller replaces
// the return address by ReturnToHandler and calls Return when that is reached.
//
// retp identifies the place of the return address for RetAddr; it is 0 if there
// are no such places.
//
// Kernel: function_graph_enter, kernel/trace/fgraph.c.
func (g *Graph) Enter(c *machine.CPU, s *Stack, fn, ret, retp uint64) bool {
	return g.enter(c, s, Call{Func: fn, To: ret}, retp)
}

func (g *Graph) enter(c *machine.CPU, s *Stack, call Call, retp uint64) bool {
	if g.dead {
		return false
	}
	at, ok := g.push(c, s, call.Func, call.To, retp)
	if !ok {
		return false
	}
	call.Depth = s.depth
	s.depth++
	var wanted uint16
	g.at("pushed")
	if o := g.direct; o != nil {
		if g.ask(c, s, o, call) {
			wanted = 1 << o.index
		}
	} else {
		g.cfg.Work.Add(0, 0, 0, g.active) // the filter of each user
		for used := g.used; used != 0; used &= used - 1 {
			i := bits.TrailingZeros16(used)
			if o := g.array[i]; o != nil && o.wants(call.Func) && g.ask(c, s, o, call) {
				wanted |= 1 << i
			}
		}
	}
	g.at("asked")
	if wanted == 0 {
		s.top = at - g.frameWords()
		s.depth--
		g.cfg.Work.Add(0, 2, 0, 0)
		return false
	}
	w := bitmapWord(wanted|1, g.frameWords())
	if wanted&1 == 0 && !g.cfg.AlwaysReturnZero {
		w |= notZeroBit
	}
	s.words[at] = w
	g.cfg.Work.Add(0, 1, 0, 0)
	return true
}

// ask calls o's Entry and, if Entry does not want the return, drops what it has
// reserved.
func (g *Graph) ask(c *machine.CPU, s *Stack, o *Ops, call Call) bool {
	top := s.top
	if o.Entry(c, s, call) {
		return true
	}
	s.top = top
	return false
}

// Return takes the innermost frame off the stack, shows the return and the
// function's return value to the users that wanted it, and returns the address
// at which the task goes on. It panics if there is no frame, because then there
// is no address to return to.
//
// Kernel: ftrace_return_to_handler and ftrace_pop_return_trace,
// kernel/trace/fgraph.c, where the machine panics as well.
func (g *Graph) Return(c *machine.CPU, s *Stack, value uint64) uint64 {
	return g.leave(c, s, value, nil)
}

func (g *Graph) leave(c *machine.CPU, s *Stack, value uint64, frame *machine.Frame) uint64 {
	at := s.frame(s.top)
	if at < 0 {
		g.dead = true
		panic("fgraph: invariant: return to an empty or damaged shadow stack")
	}
	f := g.frameWords()
	g.cfg.Work.Add(0, 2, 1+work.LinesOf(at, s.top-at), 0)
	ret := Ret{
		Func:    s.words[at+frameFunc],
		To:      s.words[at+frameRet],
		Value:   value,
		Depth:   s.depth - 1,
		Overrun: s.overrun,
		Rettime: g.cfg.Clock(c),
		Frame:   frame,
	}
	if !g.cfg.NoCalltime {
		ret.Calltime = s.words[at+frameCalltime]
	}
	w := s.words[at+f]
	wanted := wordBitmap(w)
	if w&notZeroBit != 0 {
		wanted &^= 1
	}
	for ; wanted != 0; wanted &= wanted - 1 {
		g.at("telling")
		if o := g.array[bits.TrailingZeros16(wanted)]; o != nil {
			o.Return(c, s, ret)
		}
	}
	to := s.words[at+frameRet] // an interrupt may write over it when the frame is gone
	s.top = at
	g.at("popped")
	s.depth--
	return to
}

// Sleep adjusts the call times of next's frames by the time it was switched
// out, so that sleeping does not count as running. It is called at each switch
// while the option sleep-time is off.
//
// Kernel: ftrace_graph_probe_sched_switch, kernel/trace/fgraph.c.
func (g *Graph) Sleep(now uint64, prev, next *Stack) {
	if prev != nil {
		prev.slept = now
	}
	if next == nil || next.slept == 0 || g.cfg.NoCalltime {
		return
	}
	off := now - next.slept
	for at := next.frame(next.top); at >= 0; at = next.frame(at) {
		next.words[at+frameCalltime] += off
	}
}

// RetAddr returns, for an unwinder, the address that ret stands for. If ret is
// not ReturnToHandler, that is ret itself. Otherwise RetAddr looks for the real
// address from *index downwards; the caller sets *index to 0 before the first
// call, and RetAddr moves it on.
//
// retp is the place where the unwinder found ret: a tail call leaves several
// frames for one place, of which only the lowest holds the real address. If
// retp is 0, frames are taken in order. An address that cannot be found is
// returned as it is.
//
// Kernel: ftrace_graph_ret_addr, kernel/trace/fgraph.c.
func (g *Graph) RetAddr(s *Stack, index *int, ret, retp uint64) uint64 {
	if ret != ReturnToHandler || s == nil {
		return ret
	}
	at := *index
	if at == 0 {
		at = s.top
	}
	for at = s.frame(at); at >= 0; at = s.frame(at) {
		orig := s.words[at+frameRet]
		place := s.words[at+g.frameWords()-1]
		if orig != ReturnToHandler && (retp == 0 || place == retp) {
			*index = at
			if at == 0 {
				*index = -1 // the bottom; 0 would start over
			}
			return orig
		}
	}
	return ret
}

// Call is the machine hook of function entry: it replaces f.Ret if a user wants
// to see the return. Set it as machine.Hooks.Call, or call it from there.
func (g *Graph) Call(c *machine.CPU, f *machine.Frame) {
	if g.active == 0 || !g.Traces(f.IP) {
		return
	}
	s := g.cfg.Stack(c.Current)
	if s == nil {
		return
	}
	if g.enter(c, s, Call{Func: f.IP, To: f.Ret, Frame: f}, f.Place()) {
		f.Ret = ReturnToHandler
	}
}

// Leave is the machine hook of a return to ReturnToHandler: it puts the real
// address back into f.Ret. After tail calls several frames return here, one
// after the other, because each but the lowest returns to ReturnToHandler again;
// all of them return the same value.
//
// The hook must stay set while frames are in flight, also after the last user
// has gone.
//
// Departure: frames of functions that were left without returning, as longjmp leaves
// them, lie above the frame of the function that returns. Here they are taken off, and
// nobody is told. The kernel has no longjmp: it would take the frame on top for that
// of the function, and its task would go on in the wrong place.
func (g *Graph) Leave(c *machine.CPU, f *machine.Frame) {
	s := g.cfg.Stack(c.Current)
	if s != nil && f.Ret == ReturnToHandler {
		g.skip(s, f.Place())
	}
	for s != nil && f.Ret == ReturnToHandler {
		f.Ret = g.leave(c, s, f.Value, f)
	}
}

// skip takes frames off the top that belong to places further in than place.
func (g *Graph) skip(s *Stack, place uint64) {
	for {
		at := s.frame(s.top)
		if at < 0 || s.words[at+g.frameWords()-1] <= place {
			return
		}
		s.top = at
		s.depth--
	}
}
