package main

import (
	"cmp"
	"slices"
	"strings"

	"ftracelab/machine"
)

// piece is an interrupt that an event of the activity has raised.
type piece struct {
	seg     *segment
	after   uint64
	irq     int
	handler string
}

// maxCause is the longest time between an event and the interrupt that it raises, in ns.
const maxCause = 60_000_000

// causes finds for each interrupt of a device in which something of the activity happens
// the event before it that has raised it.
func (l *learner) causes(em *emitter, roles []*process) (pieces []piece) {
	var said []*item
	collect := func(g *segment) {
		for i := range g.items {
			if g.items[i].kind == saying {
				said = append(said, &g.items[i])
			}
		}
	}
	for _, p := range roles {
		for _, g := range p.segs {
			collect(g)
		}
	}
	slices.SortStableFunc(l.irqs, func(a, b *segment) int { return cmp.Compare(a.start, b.start) })
	for _, g := range l.irqs {
		if strings.Contains(g.key, "apic_timer") || !l.matters(g, em) {
			continue
		}
		slices.SortStableFunc(said, func(a, b *item) int { return cmp.Compare(a.rec.time, b.rec.time) })
		at := -1
		for i, it := range said {
			if it.rec.time >= g.start {
				break
			}
			if issue := isIssue(l.ev.said[it.rec.typ].Name); it.raises == 0 && issue && g.start-it.rec.time < maxCause {
				at = i
			}
		}
		if at < 0 {
			continue
		}
		p := piece{seg: g, after: g.start - said[at].rec.time, irq: 25, handler: "virtio1-req.0"}
		for i := range g.items {
			if it := &g.items[i]; it.kind == event && it.event == machine.EvIRQHandlerEntry {
				p.irq, p.handler = int(it.rec.u32(8)), it.rec.dynamic(12)
			}
		}
		pieces = append(pieces, p)
		said[at].raises = int32(len(em.said.Pieces) + len(pieces))
		collect(g)
	}
	return pieces
}

// isIssue reports whether a device answers an event of that name.
func isIssue(name string) bool { return name == "block_rq_issue" || name == "net_dev_start_xmit" }

// matters reports whether an interrupt has an event of the activity or wakes one of its
// roles.
func (l *learner) matters(g *segment, em *emitter) bool {
	for i := range g.items {
		switch it := &g.items[i]; {
		case it.kind == saying:
			return true
		case it.kind == event && it.event == machine.EvSchedWaking:
			if _, ok := em.roles[int(it.rec.u32(24))]; ok {
				return true
			}
		}
	}
	return false
}
