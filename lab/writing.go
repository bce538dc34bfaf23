package lab

import (
	"ftracelab/ringbuf"
)

// A Writer is somebody who is writing an event into a ring.
type Writer struct {
	Who   string // task, softirq, irq or nmi
	Stage Stage  // the last thing that it has done
	Ends  bool   // it has filled its event, and has begun to commit or discard it
}

// A Stage is how far somebody is on the way through the ring. It is the name of a
// [ringbuf.Point] or a [ringbuf.ReadPoint], or one of those below.
type Stage string

// The stages of a writer that are no points of package ringbuf.
const (
	Begun     Stage = "begun"
	Reserved  Stage = "reserved"
	Filled    Stage = "filled"
	Committed Stage = "committed"
	Discarded Stage = "discarded"
	Full      Stage = "full"    // refused: there is no page to take
	Blocked   Stage = "blocked" // refused: the tail has reached the commit page
	Refused   Stage = "refused" // for another reason
)

// pointStages are the stages of a writer at its points.
var pointStages = func() (all [ringbuf.Points]Stage) {
	for at := range all {
		all[at] = Stage(ringbuf.Point(at).String())
	}
	return all
}()

// reading is the stage of a reader at a point of its call.
func reading(at ringbuf.ReadPoint) Stage { return Stage("reader " + at.String()) }

// taken is the stage of a reader whose call has ended.
const taken Stage = "reader has its event"

// writes tells of the innermost writer what it has done.
func (r *ring) writes(s Stage) {
	r.writing[len(r.writing)-1].Stage = s
	r.left = Writer{}
	if r.side.next == nil {
		r.side.stage = ""
	}
}

// leaves ends the innermost writer's event.
func (r *ring) leaves(s Stage) {
	last := len(r.writing) - 1
	r.left = r.writing[last]
	r.left.Stage = s
	r.writing = r.writing[:last]
}
