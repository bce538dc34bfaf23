package main

import (
	"bytes"
	"fmt"

	"ftracelab/machine"
	"ftracelab/workload"
)

// Code that was learned earlier, from captures that are not at hand, knows which visible
// function calls which. place finds the places of these calls, and the hidden functions on
// the way, in the code of the kernel.

// call is a function in a template: what is called there, and what happens inside.
type call struct {
	enter, leave machine.Op
	site         machine.Site
	inside       []callOrOp
}

// callOrOp is a call, or, if that is nil, an operation that is none.
type callOrOp struct {
	call *call
	op   machine.Op
}

// parse gives the calls and operations of code up to the return from the function around
// them, and what comes behind.
func parse(code machine.Code, sites []machine.Site) (inside []callOrOp, rest machine.Code) {
	for len(code) > 0 && code[0].Kind != machine.OpReturn {
		op := code[0]
		code = code[1:]
		if op.Kind != machine.OpCall {
			inside = append(inside, callOrOp{op: op})
			continue
		}
		c := &call{enter: op, site: sites[op.Arg]}
		if c.inside, code = parse(code, sites); len(code) > 0 {
			c.leave, code = code[0], code[1:]
		}
		inside = append(inside, callOrOp{call: c})
	}
	return inside, code
}

// onTheWay reports whether a function is only there because others are reached through it.
func (c *call) onTheWay() bool {
	for _, in := range c.inside {
		if in.call == nil {
			return false
		}
	}
	return c.site.Hidden && len(c.inside) > 0
}

// placer writes a template anew.
type placer struct {
	cs    *callers
	sites []machine.Site
	fixed int // how many functions at the bottom were entered before the template's first step
	stack []frame
	ops   workload.Columns
}

func (p *placer) template(t *workload.Template) error {
	inside, rest := parse(t.Ops.Code(), p.sites)
	if len(rest) > 0 {
		return fmt.Errorf("the code of %q returns from more functions than it calls", t.Key)
	}
	p.stack, p.ops = nil, workload.Columns{}
	p.fixed = len(below(t.Key))
	if fn := under(t.Key); fn != "" {
		s, _ := p.cs.ks.ByName(fn)
		p.stack = append(p.stack, frame{Site: machine.Site{Func: s.Addr, Hidden: true}})
	}
	p.write(inside, len(p.stack))
	t.Ops = p.ops
	return nil
}

// write writes what is inside the function below top.
func (p *placer) write(inside []callOrOp, top int) {
	if top >= p.fixed && !p.ofModule(p.stack[top-1].Func) {
		inside = withoutWay(inside)
	}
	for i, in := range inside {
		if in.call != nil {
			p.enter(in.call, top, i == len(inside)-1)
			continue
		}
		p.leave(top, in.op)
		p.ops.Append(in.op)
	}
}

// withoutWay puts what is inside functions that are only on the way into their places.
func withoutWay(inside []callOrOp) (flat []callOrOp) {
	for _, in := range inside {
		if in.call != nil && in.call.onTheWay() {
			flat = append(flat, withoutWay(in.call.inside)...)
		} else {
			flat = append(flat, in)
		}
	}
	return flat
}

func (p *placer) ofModule(fn uint64) bool {
	s, ok := p.cs.ks.At(fn)
	return !ok || s.Module != ""
}

func (p *placer) enter(c *call, top int, last bool) {
	way := []machine.Site{c.site}
	switch {
	case top == 0 || p.ofModule(p.stack[top-1].Func):
	case top < p.fixed:
		way[0].Ret = p.cs.place(p.stack[top-1].Func, c.site.Func)
	default:
		caller := p.stack[top-1]
		way = p.cs.path(p.cs.entry(caller.ret), caller.Func, c.site.Func, last, p.stack[top:])
	}
	keep := 0
	for keep < len(way)-1 && top+keep < len(p.stack) && p.stack[top+keep].Site == way[keep] {
		keep++
	}
	p.leave(top+keep, c.enter)
	for i, s := range way[keep:] {
		op := c.enter
		if keep+i < len(way)-1 {
			op.Delta = scaled(0)
		}
		s.Hidden = s.Hidden || keep+i == len(way)-1 && c.site.Hidden
		op.Arg = p.cs.asm.Site(s)
		f := frame{Site: s, ret: s.Ret}
		if s.Tail && len(p.stack) > 0 {
			f.ret = p.stack[len(p.stack)-1].ret
		}
		p.ops.Append(op)
		p.stack = append(p.stack, f)
	}
	inner := len(p.stack)
	p.write(c.inside, inner)
	p.leave(inner, c.leave)
	p.ops.Append(c.leave)
	p.stack = p.stack[:inner-1]
	if way[len(way)-1].Tail {
		p.leave(top, c.leave) // what has jumped there has ended as well
	}
}

// leave returns from the functions above depth, in the state of the operation that follows.
func (p *placer) leave(depth int, next machine.Op) {
	for len(p.stack) > depth {
		p.ops.Append(machine.Op{Kind: machine.OpReturn, Delta: scaled(0), Flags: next.Flags, Preempt: next.Preempt})
		p.stack = p.stack[:len(p.stack)-1]
	}
}

// placeActivities places the calls in learned activities.
func placeActivities(a *workload.Activities, cs *callers) error {
	cs.asm = machine.NewAssembler(cs.ks, 0)
	p := &placer{cs: cs, sites: a.Sites}
	for i := range a.Templates {
		if err := p.template(&a.Templates[i]); err != nil {
			return err
		}
	}
	a.Sites = cs.asm.Sites
	return nil
}

// placeAgain places the calls in the file of the activities that are shipped.
func placeAgain(o oracle, kernel, file string) error {
	b, err := oracle("").bytes(file)
	if err != nil {
		return err
	}
	a, err := workload.DecodeActivities(bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	ks, err := machine.LoadKallsyms()
	if err != nil {
		return err
	}
	ids, err := eventIDs(o)
	if err != nil {
		return err
	}
	var all []machine.Symbol
	for _, m := range a.Modules {
		all = append(all, m.Symbols...)
	}
	cs, err := learnCallers(o, kernel, ks.With(all), ids)
	if err != nil {
		return err
	}
	return writeActivities(a, cs, file)
}

// writeActivities writes activities whose calls are placed.
func writeActivities(a *workload.Activities, cs *callers, file string) error {
	if err := placeActivities(a, cs); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := a.Encode(&b); err != nil {
		return err
	}
	return writeGzip(file, b.Bytes())
}
