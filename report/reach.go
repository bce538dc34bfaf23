package report

import "ftracelab/ringbuf"

// readerPages is how many sub-buffers a CPU has besides those of its buffer.
//
// Kernel: rb_allocate_cpu_buffer, kernel/trace/ring_buffer.c.
const readerPages = 1

// seconds is how far back a buffer of so many sub-buffers looks. The last one is half
// full on average.
func (p *planner) seconds(pages uint64, perEvent float64) Seconds {
	if p.rate == 0 || perEvent == 0 {
		return Unknown
	}
	return Seconds(round6((float64(pages) - 0.5) / perEvent / p.rate))
}

// bufferKB is the smallest buffer_size_kb that gives a CPU so many sub-buffers.
func (p *planner) bufferKB(pages uint64) uint64 {
	return (pages-1)*uint64(p.opt.SubbufSize-ringbuf.PageHeaderSize)/1024 + 1
}

// pagesOf is the inverse of bufferKB, for sub-buffers of that many bytes.
func pagesOf(kb, subbuf uint64) uint64 {
	room := subbuf - ringbuf.PageHeaderSize
	return max(2, (kb*1024+room-1)/room)
}

// memory is that of the buffers of one instance.
func (p *planner) memory(pages uint64) uint64 {
	return uint64(p.rep.Input.CPUs) * (pages + readerPages) * uint64(p.opt.SubbufSize)
}

// lookBack says what it takes to look back as far as the plan asks.
func (p *planner) lookBack(o *option) Reach {
	r := o.reach()
	most := pagesOf(MaxBufferSizeKB, uint64(p.opt.SubbufSize))
	need := func(perEvent float64) uint64 {
		return atMost(max(2, p.plan.TargetSeconds*p.rate*perEvent+0.5), most)
	}
	pages, others := need(o.pages), need(o.others)
	if pages == 0 || others == 0 {
		return r
	}
	p.hold(&r, o, pages, others)
	return r
}

// hold gives r buffers of so many sub-buffers: those of the instances with ids, and those
// of the others.
func (p *planner) hold(r *Reach, o *option, pages, others uint64) {
	r.BufferKB, r.Events, r.Seconds = p.bufferKB(pages), uint64(min((float64(pages)-0.5)/o.pages, 1<<62)), p.seconds(pages, o.pages)
	without := p.plan.Instances - o.withIDs
	if without > 0 {
		r.OthersKB, r.OthersSeconds = p.bufferKB(others), p.seconds(others, o.others)
	}
	r.Memory = o.maps + uint64(o.withIDs)*p.memory(pages) + uint64(without)*p.memory(others)
}

// fill says how far back a design looks if its maps and the buffers of all instances,
// which are equal, take the memory of the plan: with the map that makes it look back
// furthest. It is nil if there is not enough memory.
func (p *planner) fill(options []option) (best *Reach) {
	var most float64 // events that the buffers of best hold
	for i := range options {
		o := &options[i]
		if p.plan.MaxDropPct != nil && o.drops > p.plan.maxDrops() {
			continue
		}
		left := int64(p.plan.BudgetKB*1024) - int64(o.maps)
		each := left/int64(p.plan.Instances*p.rep.Input.CPUs*p.opt.SubbufSize) - readerPages
		if each < 2 {
			continue
		}
		pages := min(uint64(each), pagesOf(MaxBufferSizeKB, uint64(p.opt.SubbufSize)))
		if events := float64(pages) / o.pages; events > most {
			r := o.reach()
			p.hold(&r, o, pages, pages)
			best, most = &r, events
		}
	}
	return best
}

// best names the design that looks back furthest, of those that exist and keep stacks.
func (p *planner) best(reaches []Reach) string {
	var best *Reach
	for i := range reaches {
		r := &reaches[i]
		if d := p.rep.design(r.Design); d.Exists && d.Breakdown.StackRecords > p.rep.Input.StackIDs && (best == nil || r.Events > best.Events) {
			best = r
		}
	}
	if best == nil {
		return ""
	}
	return best.Design
}

// design returns the result of that name.
func (r *Report) design(name string) *Result {
	for i := range r.Designs {
		if r.Designs[i].Name == name {
			return &r.Designs[i]
		}
	}
	panic("report: invariant: no design " + name)
}

// reach is the design without its buffers.
func (o *option) reach() Reach {
	return Reach{Design: o.Name, Exists: o.Exists, Bits: o.bits, MapBytes: o.maps, DropsPct: round4(100 * o.drops), Seconds: Unknown, OthersSeconds: Unknown}
}

// pays says when the map of a design has paid for itself; nil: never.
//
// Two questions are meant by that. A trace that is read as it is written pays once the
// bytes that it does not write are more than the map. A buffer that is kept until
// something happens pays if it is so large that, with full stacks, the same events would
// take more room than the buffer and the map: then it looks back by LookBack.
func (p *planner) pays(o *option) *Pays {
	saved := float64(o.Net.SavedBytes) / float64(o.Events) * o.kept * float64(o.withIDs)
	if !(saved > 0) {
		return nil
	}
	y := &Pays{Design: o.Name, Bits: o.bits, MapBytes: o.maps, After: p.moment(float64(o.maps) / saved), LookBack: Unknown}
	if gain := (o.RetainedTimes - 1) * o.kept * float64(o.withIDs); gain > 0 {
		bytes := float64(o.maps) / gain / float64(p.rep.Input.CPUs)
		if pages := atMost(bytes/float64(p.opt.SubbufSize), 1<<40); pages > 0 {
			y.LookBack = p.seconds(max(2, pages), o.pages)
		}
	}
	y.Unique = p.uniqueAfter(float64(y.After.Events))
	return y
}

// uniqueAfter is how many unique kernel stacks there are after so many events; 0: unknown.
func (p *planner) uniqueAfter(events float64) uint64 {
	for _, g := range p.rep.Growth {
		if float64(g.Events) >= events {
			return p.scaled(float64(g.Unique))
		}
	}
	if p.why != "" {
		return 0
	}
	return p.scaled(p.law.unique(events / p.eventsPerStack()))
}
