package workload

// step is a function on the ways of a stay, with those that it calls on them.
type step struct {
	site  int32
	fn    uint64
	calls []*step
	end   TrailEnd // of the way that ends here
	arg   int32
	last  bool   // a way ends here
	from  uint64 // the function from which the process jumps to it; 0: it is called
}

// steps makes a tree of the paths of a stay. A path begins where it leaves the one before.
func (b *trailBuilder) steps(paths []int32) *step {
	root := new(step)
	open := []*step{root}
	for _, at := range paths {
		p := &b.tr.Paths[at]
		n := 0
		for n < len(p.Sites)-1 && n+1 < len(open) && open[n+1].site == p.Sites[n] {
			n++
		}
		open = open[:n+1]
		for _, site := range p.Sites[n:] {
			s := &step{site: site, fn: b.sites()[b.site+site].Func}
			top := open[len(open)-1]
			top.calls = append(top.calls, s)
			open = append(open, s)
		}
		leaf := open[len(open)-1]
		leaf.last, leaf.end, leaf.arg = true, p.End, p.Arg
		if p.End == SwitchEnd {
			open = open[:len(open)-1]
		}
	}
	b.join(root)
	return root
}

// join finds functions that jump to the next one: the way to the second one shows that it
// returns to where the first one was called.
func (b *trailBuilder) join(s *step) {
	if b.loom == nil {
		return
	}
	made := s.calls[:0]
	for _, o := range s.calls {
		b.join(o)
		if n := len(made) - 1; n >= 0 && made[n].last && made[n].end == CallEnd && len(made[n].calls) == 0 && made[n].fn != o.fn &&
			b.sites()[b.site+made[n].site].Ret == b.sites()[b.site+o.site].Ret && b.jump(made[n].fn, o.fn) != nil {
			o.from = made[n].fn
			made = made[:n]
		}
		made = append(made, o)
	}
	s.calls = made
}

// jump finds learned code in which a function jumps to another one.
func (b *trailBuilder) jump(from, to uint64) []call {
	for _, c := range b.loom.of(from) {
		if chain := b.loom.chain(c, to); chain != nil {
			return chain
		}
	}
	return nil
}

// size is how many functions s calls on its ways.
func (s *step) size() (n int) {
	for _, o := range s.calls {
		n += 1 + o.size()
	}
	return n
}
