package lab

import (
	"slices"

	"ftracelab/ringbuf"
)

// A mark is the state of a ring between two events of its story. A later step is reached
// from there without what came before. Its buffer is only ever copied.
type mark struct {
	told int // what the story has told so far, see ring.tells
	made int // steps
	next int // the choice that comes next

	b       *ringbuf.Buffer
	now     uint64
	at      int // steps of the story
	got     []string
	stage   Stage // of the reader
	left    Writer
	written uint64
}

// markEvery is how much a story tells between two marks. A run of ten thousand events then
// has twenty, which are less than a MiB.
var markEvery = 500

// tells is asked for each thing that a story tells, before it happens. It reports whether
// the run has begun behind it; then it is not to happen again. What somebody has chosen is
// not told by the story.
func (r *ring) tells() (before bool) {
	if r.acting || len(r.who) > 0 || r.err != nil {
		return false
	}
	r.told++
	if r.told <= r.begun {
		return true
	}
	if !r.listed && r.look == nil && r.side.next == nil && r.made > 0 && (r.told-1)%markEvery == 0 {
		r.marks = append(r.marks, mark{
			told: r.told - 1, made: r.made, next: r.player.next, b: r.b.Copy(nil), now: r.now, at: r.at[0],
			got: slices.Clone(r.got), stage: r.side.stage, left: r.left, written: r.written,
		})
	}
	return false
}

// resume puts the ring where it was at a mark.
func (r *ring) resume(m *mark) {
	r.begun, r.made, r.player.next = m.told, m.made, m.next
	r.b, r.now, r.at[0] = m.b.Copy(r.clock), m.now, m.at
	r.got, r.side.stage, r.left, r.written = slices.Clone(m.got), m.stage, m.left, m.written
}

// before is the last mark before a step; nil: there is none.
func before(marks []mark, step int) *mark {
	for i := len(marks) - 1; i >= 0; i-- {
		if marks[i].made < step {
			return &marks[i]
		}
	}
	return nil
}
