package lab

import (
	"iter"

	"ftracelab/ringbuf"
)

// beside is a reader on another CPU: a coroutine that stands still after each of its
// operations, while the writer goes on. It has no next while it is not in a call.
type beside struct {
	next func() (operation, bool)
	stop func()
	made int // operations of this call

	stage Stage // how far it is; "" before its first call
}

// An operation is what the reader has done: it has come to a point, or it has ended.
type operation struct {
	ended bool
	at    ringbuf.ReadPoint
	what  string
	kind  Kind
	say   sentence
}

const getPage = "rb_get_reader_page"

// readPoints are what the reader has done at a point.
var readPoints = map[ringbuf.ReadPoint]operation{
	ringbuf.ReadEnd: {what: "has read its page to the end", say: sentence{
		"Nothing is left on the reader page. If events can be read, they are in the ring.", getPage,
	}},
	ringbuf.ReadCommit: {what: "sees that the commit is on another page", say: sentence{
		"The writer has left the reader page for good, so the reader may give that page away. Next it looks for the head.", getPage,
	}},
	ringbuf.ReadSpin: {what: "finds no head, and looks again", kind: Spin, say: sentence{
		"The link to the oldest page says update: the writer is giving that page up, and no link says head yet. The reader can only look again.", "rb_set_head_page",
	}},
	ringbuf.ReadHead: {what: "has found the head, and has prepared its empty page", say: sentence{
		"The empty page's link leads behind the head already. What is left is one compare-and-swap of the link that leads to the head; whatever the writer does before that may make it fail.", getPage,
	}},
	ringbuf.ReadFailed: {what: "fails to exchange its page", kind: Retry | SwapFails, say: sentence{
		"The link that led to the head is not what it was when the reader looked: the writer has moved the head on, to overwrite that page. Nothing has changed for the reader, which looks for the head again.", "rb_head_page_replace",
	}},
	ringbuf.ReadTaken: {what: "has exchanged its empty page for the head", kind: Swap, say: sentence{
		"One compare-and-swap has put the empty page into the ring, and the oldest page is out of it, where no writer comes. The link backwards and the name of the reader page still have to follow.", "rb_head_page_replace",
	}},
}

// beside lets the reader make its next operation.
func (r *ring) beside(page bool) {
	s := &r.side
	if s.next == nil {
		s.made = 0
		take := r.takeEvent
		if page {
			take = r.takePage
		}
		s.next, s.stop = iter.Pull(func(yield func(operation) bool) {
			alive := true
			r.b.Pause(0, func(at ringbuf.ReadPoint) { alive = alive && yield(operation{at: at}) })
			what, k, say := take()
			r.b.Pause(0, nil)
			if alive {
				yield(operation{ended: true, what: what, kind: k &^ Swap, say: say})
			}
		})
	}
	op, _ := s.next()
	s.made++
	r.left = Writer{}
	if op.ended {
		s.stop()
		s.next, s.stage = nil, taken
	} else {
		s.stage = reading(op.at)
		op = readPoints[op.at]
	}
	r.step("reader", op.what, op.kind, op.say)
}

// finishBeside lets the reader end its call.
func (r *ring) finishBeside() {
	r.ending = true
	for r.side.next != nil && r.err == nil {
		r.beside(false)
	}
	r.ending = false
	if r.side.next != nil {
		r.side.stop()
		r.side.next = nil
	}
}

// numbers are what conditions may compare in a ring.
func (r *ring) numbers() map[string]func() uint64 {
	stat := func(get func(ringbuf.Stats) uint64) func() uint64 {
		return func() uint64 { return get(r.b.Counters(0)) }
	}
	return map[string]func() uint64{
		"entries":        stat(func(s ringbuf.Stats) uint64 { return s.Entries }),
		"overrun":        stat(func(s ringbuf.Stats) uint64 { return s.Overrun }),
		"commit-overrun": stat(func(s ringbuf.Stats) uint64 { return s.CommitOverrun }),
		"dropped":        stat(func(s ringbuf.Stats) uint64 { return s.Dropped }),
		"read":           stat(func(s ringbuf.Stats) uint64 { return s.Read }),
		"writers":        func() uint64 { return uint64(len(r.who)) },
	}
}

// key is a hash of where everybody is and how the ring looks.
func (r *ring) key() uint64 {
	d := r.b.Outline(0)
	h := hasher(14695981039346656037)
	h.add(len(r.who), len(r.got), r.side.position())
	for _, c := range r.who {
		h.add(int(c))
	}
	h.add(r.at...)
	for _, p := range d.Pages {
		flags := 0
		for i, on := range []bool{p.Reader, p.Head, p.Commit, p.Tail, p.Link == "head", p.Link == "update"} {
			if on {
				flags |= 1 << i
			}
		}
		h.add(p.ID, flags, p.Next, p.Committed, p.Write, p.Read, p.Entries)
	}
	for _, o := range d.Open {
		h.add(o.Page, o.Offset)
	}
	known := 0
	if d.BeforeStamp == d.WriteStamp {
		known = 1
	}
	h.add(known)
	return uint64(h)
}

// position is how far the reader is in its call; 0: in none.
func (s *beside) position() int {
	if s.next == nil {
		return 0
	}
	return s.made
}

// hasher is an FNV hash.
type hasher uint64

func (h *hasher) add(values ...int) {
	for _, v := range values {
		*h = (*h ^ hasher(v)) * 1099511628211
		*h ^= *h >> 29
	}
}
