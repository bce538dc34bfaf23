package workload

import "ftracelab/machine"

// Of four system calls of a process on a trail, so many have a page fault in front of them. In
// the captures of all functions and of all events there are 1.1 and 0.8 faults for each call.
const (
	faultsOf  = 4
	faultsAre = 3
)

// fault gives the page fault in front of the next stay of a process, if there is one. Half of
// the time in user space before the stay comes before the fault.
//
// Departure: a trail shows only the page faults that allocate an object of a cache. The others
// come at regular distances, and their code is learned.
func (d *trail) fault(t *machine.Task) (stay machine.Stay, ok bool) {
	if d.faulted || t.Kernel || d.all.code.loom == nil || d.pos >= len(d.life.Stay) || d.pos%faultsOf >= faultsAre {
		return stay, false
	}
	d.faulted = true
	codes := d.all.code.faults()
	if len(codes) == 0 {
		return stay, false
	}
	n := d.pos + int(d.round)
	d.cost = costOf(codes[n%len(codes)])
	return machine.Stay{
		Kind: machine.PageFault, After: max(machine.Time(d.life.Busy[d.pos])/2, 1), Code: codes[n%len(codes)],
		NR: -1, Address: 0x7f3be8000000 + uint64(n)<<12, ErrorCode: []uint64{0x14, 0x6, 0x7, 0x4}[n%4], User: d.all.w.userAt(t, n, -1),
	}, true
}

// faults gives the code of page faults, without what happens only on ways.
func (b *trailBuilder) faults() []machine.Code {
	if b.faulting == nil {
		w := &weaver{trailBuilder: b, kind: machine.PageFault}
		for _, template := range b.loom.faults {
			c, ok := b.loom.outermost(template)
			if !ok {
				continue
			}
			b.code = b.code[:0]
			w.outside(c, 2)
			code := append(machine.Code(nil), b.code...)
			b.w.model.vals.Assign(code, b.sites())
			b.faulting = append(b.faulting, code)
		}
	}
	return b.faulting
}

// outside adds a call with all that its outermost functions do themselves, down to a depth.
func (w *weaver) outside(c call, depth int) {
	if depth == 0 {
		w.beside(c)
		return
	}
	w.code = append(w.code, *w.loom.op(c))
	w.loom.each(c, func(op *machine.Op, made call) {
		if made.at >= 0 {
			w.outside(made, depth-1)
			return
		}
		w.code = append(w.code, *op)
	})
	w.code = append(w.code, w.loom.codes[c.template][c.end])
}
