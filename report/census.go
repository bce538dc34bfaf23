package report

import (
	"ftracelab/budget"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
	"ftracelab/unwind/cookie"
)

// maxDepth is the last depth with a row of its own in the depth table. Deeper stacks
// share the last row.
const maxDepth = 128

// census counts what is in the trace, independently of any design, so its
// figures are measured.
type census struct {
	events, lost, losses     uint64
	kernelStacks, userStacks uint64
	stackIDs                 uint64 // ids whose stack is not known
	kernelWords, userWords   uint64
	kernelBytes              uint64 // what the kernel stacks take in full
	deepUser                 uint64 // user stacks of more than 8 addresses
	backwards                uint64 // events with an earlier time than the event before them on their CPU
	bare                     uint64 // events whose record the capture does not have
	firstTime, lastTime      uint64
	ticks                    bool // the times are not in nanoseconds
	lastOnCPU, eventsOnCPU   []uint64
	kernel, user             *uniqueSet
	kernelGrowth, userGrowth growth
	depth                    [maxDepth + 1]uint64 // how many kernel stacks have each depth
	sizes                    sizes
	deferred                 Joined
	join                     cookie.Join[struct{}]
	ids                      recordIDs
}

func newCensus(types *event.Table, memory *budget.Budget) *census {
	c := &census{
		ids:    namedIDs(types),
		kernel: newUniqueSet(maxUnique, maxKernelFrames, memory),
		user:   newUniqueSet(maxUnique, maxUserFrames, memory),
	}
	c.join = cookie.Join[struct{}]{Deliver: func(_ struct{}, _ []uint64, found bool) {
		if found {
			c.deferred.Joined++
		}
	}}
	return c
}

func (c *census) consume(b *batch) error {
	for i := range b.records {
		r := &b.records[i]
		switch r.Kind {
		case record.Event:
			if len(r.Data) >= event.CommonSize && c.ids.class(event.ParseCommon(r.Data).Type) == stackID {
				c.stackIDs++
				continue
			}
			c.event(r)
		case record.KernelStack:
			c.kernelStacks++
			c.kernelWords += uint64(len(r.Stack))
			c.kernelBytes += kernelStackBytes(len(r.Stack))
			c.depth[min(len(r.Stack), maxDepth)]++
			c.kernel.see(r.Stack)
			c.kernelGrowth.add(c, c.kernel)
		case record.UserStack:
			c.userStacks++
			c.userWords += uint64(len(r.Stack))
			if len(r.Stack) > inlineUserFrames {
				c.deepUser++
			}
			c.user.see(r.Stack)
			c.userGrowth.add(c, c.user)
		case record.Lost:
			c.losses++
			if r.Count != record.LostUnknown {
				c.lost += r.Count
			}
		}
	}
	return nil
}

func (c *census) event(r *record.Record) {
	for len(c.lastOnCPU) <= r.CPU {
		c.lastOnCPU = append(c.lastOnCPU, 0)
		c.eventsOnCPU = append(c.eventsOnCPU, 0)
	}
	if r.Time < c.lastOnCPU[r.CPU] {
		c.backwards++
	} else {
		c.lastOnCPU[r.CPU] = r.Time
	}
	if c.events == 0 || r.Time < c.firstTime {
		c.firstTime = r.Time
	}
	c.lastTime = max(c.lastTime, r.Time)
	if len(r.Data) == 0 {
		c.bare++
	}
	c.eventsOnCPU[r.CPU]++
	c.sizes.add(len(r.Data))
	c.events++
	if r.Type != nil && r.Type.System == "ftrace" {
		c.joinStack(r)
	}
}

// joinStack follows the cookies of a trace whose user stacks were deferred.
func (c *census) joinStack(r *record.Record) {
	field := r.Type.Field("cookie")
	if field == nil || len(r.Data) < field.Offset+field.Size {
		return
	}
	id := cookie.ID(field.Uint(r.Data))
	switch r.Type.Name {
	case "user_unwind_cookie":
		c.deferred.Cookies++
		c.join.Add(r.Common.PID, id, struct{}{})
	case "user_unwind_stack":
		c.deferred.Stacks++
		c.join.Stack(r.Common.PID, id, nil)
	}
}

// timed reports whether the capture has times. Without them, all times are zero.
func (c *census) timed() bool { return c.lastTime > 0 }

// inSeconds reports whether the times tell how long something took.
func (c *census) inSeconds() bool { return c.timed() && !c.ticks }

// seconds is the span between the first and the last time stamp.
func (c *census) seconds() Seconds {
	if !c.inSeconds() {
		return Unknown
	}
	return Seconds(float64(c.lastTime-c.firstTime) / 1e9)
}

// growthPoints is how many points a growth curve has at most.
const growthPoints = 64

// growth samples the number of unique stacks at every stride-th stack. If there are too
// many points, every second one is dropped and the stride doubles. So the points depend
// on the trace alone.
type growth struct {
	seen, stride uint64
	points       []GrowthPoint
}

func (g *growth) add(c *census, u *uniqueSet) {
	if g.stride == 0 {
		g.stride = 1
	}
	g.seen++
	if g.seen%g.stride != 0 {
		return
	}
	g.points = append(g.points, g.point(c, u))
	if len(g.points) < growthPoints {
		return
	}
	half := g.points[:0]
	for i := 1; i < len(g.points); i += 2 {
		half = append(half, g.points[i])
	}
	g.points = half
	g.stride *= 2
}

// point is where the curve is now.
func (g *growth) point(c *census, u *uniqueSet) GrowthPoint {
	return GrowthPoint{Events: c.events, Stacks: g.seen, Unique: uint64(len(u.stacks)), Seconds: c.seconds()}
}

// curve returns the points. The last one is at the end of the trace.
func (g *growth) curve(c *census, u *uniqueSet) []GrowthPoint {
	last := g.point(c, u)
	if n := len(g.points); n > 0 && g.points[n-1].Stacks == g.seen {
		g.points[n-1] = last
		return g.points
	}
	if g.seen == 0 {
		return []GrowthPoint{}
	}
	return append(g.points, last)
}
