package ringbuf_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"testing"

	"ftracelab/internal/explore"
	"ftracelab/ringbuf"
)

// A scene is a bounded piece of concurrency, of which every interleaving is
// tried: a writer of some events, interrupted at any point by others up to a
// depth, and a reader that makes some steps at any of these points.
type scene struct {
	name       string
	pages      int // of 64 bytes: three events of 16 on each
	fill       int // events written beforehand
	events     int // by the writer
	interrupts int // in all
	depth      int // of interrupts in interrupts
	steps      int // of the reader, in all
	read       string
	control    bool // one operation between the events
	discard    bool // interrupts may discard
	noOver     bool
	runs       int // how many interleavings there are
	states     int // of the ring that they lead through
}

// play is one run of a scene.
type play struct {
	scene
	left int // interrupts
	tape *explore.Tape
	b    *ringbuf.Buffer
	err  error

	now, number      uint64
	depthNow         int
	committed        map[uint64]uint64 // number → time taken
	discarded        int
	refused          int
	read, lost       uint64
	unknown          bool // a page told of losses without the number
	lastTime, lastIt uint64
	advance          func() (string, bool) // the reader's next step
	busy             bool                  // it is in the middle of a call
	iterator         *ringbuf.Iter
}

func (s scene) run(tape *explore.Tape) error {
	p := &play{scene: s, left: s.interrupts, tape: tape, committed: map[uint64]uint64{}}
	var err error
	p.b, err = ringbuf.New(ringbuf.Config{
		CPUs: 1, Size: s.pages * 48, SubbufSize: 64, NoOverwrite: s.noOver,
		Clock: func(int) uint64 { p.now += 10; return p.now },
	})
	if err != nil {
		return err
	}
	for range s.fill {
		p.event(ringbuf.Normal, false)
	}
	reads, stop := p.reader()
	defer stop()
	p.advance = reads
	p.b.Interrupt(0, func(ringbuf.Point) { p.moment() })
	for n := range s.events {
		if s.control && n == 1 {
			p.operate()
		}
		p.event(ringbuf.Normal, false)
	}
	p.moment()
	p.b.Interrupt(0, nil)
	return p.finish(stop)
}

// moment is a point where anything may happen: nothing, a step of the reader, or
// an interrupt; and then again.
func (p *play) moment() {
	for p.err == nil {
		if err := ringbuf.CheckRunning(p.b, 0); err != nil {
			p.err = err
			return
		}
		p.tape.State(ringbuf.Fingerprint(p.b, 0))
		kinds := 1
		canStep, canInterrupt := p.steps > 0, p.left > 0 && p.depthNow < p.depth
		if canStep {
			kinds++
		}
		if canInterrupt {
			kinds++
		}
		if kinds == 1 {
			return
		}
		switch n := p.tape.Choose(kinds); {
		case n == 0:
			return
		case n == 1 && canStep:
			p.steps--
			p.step()
		default:
			p.left--
			p.depthNow++
			discard := p.discard && p.tape.Choose(2) == 1
			p.event(ringbuf.Context(p.depthNow), discard)
			p.depthNow--
		}
	}
}

// event writes one event, with moments inside.
func (p *play) event(ctx ringbuf.Context, discard bool) {
	if p.err != nil {
		return
	}
	e, err := p.b.Reserve(0, ctx, 8)
	if errors.Is(err, ringbuf.ErrFull) || errors.Is(err, ringbuf.ErrCommitOverrun) {
		p.refused++
		return
	} else if err != nil {
		p.err = err
		return
	}
	p.number++
	n := p.number
	binary.LittleEndian.PutUint64(e.Data, n)
	if p.advance != nil {
		p.moment()
	}
	if discard {
		p.discarded++
		p.b.Discard(0, e)
		return
	}
	p.committed[n] = e.Time
	p.b.Commit(0, e)
}

// operate is one of the control operations, when no reader is in a call.
func (p *play) operate() {
	if p.busy || p.err != nil {
		return
	}
	switch p.tape.Choose(4) {
	case 1:
		p.err = p.b.Resize(0, (p.pages+1)*48)
	case 2:
		p.err = p.b.Resize(0, 2*48)
	case 3:
		p.b.SetOverwrite(p.noOver)
	}
}

// reader is a reader as a coroutine that pauses at its named points and after
// each call.
func (p *play) reader() (advance func() (string, bool), stop func()) {
	return iter.Pull(func(yield func(string) bool) {
		alive := true
		ringbuf.Pause(p.b, 0, func(point string) {
			if alive {
				alive = yield(point)
			}
		})
		defer ringbuf.Pause(p.b, 0, nil)
		image := make([]byte, 64)
		for alive && p.err == nil {
			switch p.scene.read {
			case "consume":
				if e, ok := p.b.Consume(0); ok {
					p.got(e.Time, e.Data, e.Lost)
				}
			case "page":
				if p.b.ReadPage(0, image, false) {
					p.gotPage(image)
				}
			case "iterate":
				p.iterate()
			}
			alive = alive && yield("")
		}
	})
}

func (p *play) step() {
	point, _ := p.advance()
	p.busy = point != ""
}

func (p *play) got(time uint64, data []byte, lost uint64) {
	n := binary.LittleEndian.Uint64(data)
	taken, ok := p.committed[n]
	switch {
	case !ok:
		p.err = fmt.Errorf("read event %d, which was read before or never committed", n)
	case time < p.lastTime:
		p.err = fmt.Errorf("event %d at %d, before that %d", n, time, p.lastTime)
	case time > taken || time < taken && p.left == p.interrupts:
		p.err = fmt.Errorf("event %d at %d, its time was %d, that of the one before %d", n, time, taken, p.lastTime)
	}
	delete(p.committed, n)
	p.lastTime = time
	p.lost += lost
	p.read++
}

func (p *play) gotPage(image []byte) {
	r, err := ringbuf.ReadPageImage(image)
	if err != nil {
		p.err = err
		return
	}
	missed, lost, known := r.Missed()
	if missed && !known {
		p.unknown = true // no room for the number
	}
	for e, ok := r.Next(); ok; e, ok = r.Next() {
		if e.IsData() {
			p.got(e.Time, e.Data, lost)
			lost = 0
		}
	}
	if r.Err() != nil {
		p.err = r.Err()
	}
}

// iterate makes one step of an iterator: nobody consumes, so it never goes back.
func (p *play) iterate() {
	if p.iterator == nil {
		p.iterator = p.b.Iter(0)
	}
	e, ok := p.iterator.Next()
	if !ok {
		return
	}
	p.iterated(e)
}

func (p *play) iterated(e ringbuf.Entry) {
	n, told := binary.LittleEndian.Uint64(e.Data), e.Lost != 0
	if n <= p.lastIt || p.lastIt != 0 && n != p.lastIt+1 && !told || e.Time != p.committed[n] {
		p.err = fmt.Errorf("the iterator gives %d at %d after %d, loss told: %v", n, e.Time, p.lastIt, told)
	}
	p.lastIt = n
}

// finish lets the reader end, reads the rest and balances the accounts.
func (p *play) finish(stop func()) error {
	stop()
	if p.err != nil {
		return p.err
	}
	if err := ringbuf.Check(p.b, 0); err != nil {
		return err
	}
	if p.scene.read == "iterate" {
		for e, ok := p.iterNext(); ok; e, ok = p.iterNext() {
			p.iterated(e)
		}
	}
	for e, ok := p.b.Consume(0); ok && p.err == nil; e, ok = p.b.Consume(0) {
		p.got(e.Time, e.Data, e.Lost)
	}
	written := p.number - uint64(p.discarded)
	s := p.b.Stats(0)
	switch {
	case p.err != nil:
		return p.err
	case p.unknown && p.lost <= s.Overrun:
		p.lost = s.Overrun
	}
	switch {
	case p.read+p.lost != written:
		return fmt.Errorf("%d events committed, %d read and %d told as lost", written, p.read, p.lost)
	case s.Entries != 0 || s.Read != p.read || s.Overrun != p.lost:
		return fmt.Errorf("%d read, %d lost, but %+v", p.read, p.lost, s)
	case s.Dropped+s.CommitOverrun != uint64(p.refused):
		return fmt.Errorf("%d refused, but %+v", p.refused, s)
	case uint64(len(p.committed)) != p.lost:
		return fmt.Errorf("%d events were not read, %d told as lost", len(p.committed), p.lost)
	}
	return ringbuf.Check(p.b, 0)
}

func (p *play) iterNext() (ringbuf.Entry, bool) {
	if p.iterator == nil {
		return ringbuf.Entry{}, false
	}
	return p.iterator.Next()
}

// The scenes, the kernels of a ring buffer where things go wrong if they do. The
// fill puts the writer where its event crosses to the next page: with two pages
// that is the one of the oldest events.
var scenes = []scene{
	{name: "writer, interrupt, consumer", pages: 2, fill: 6, events: 1, interrupts: 1, depth: 1, steps: 4, read: "consume", runs: 399145, states: 948},
	{name: "writer, interrupt, page reader", pages: 2, fill: 6, events: 1, interrupts: 1, depth: 1, steps: 4, read: "page", runs: 399145, states: 985},
	{name: "interrupts, consumer", pages: 2, fill: 6, events: 1, interrupts: 2, depth: 2, steps: 2, read: "consume", runs: 213121, states: 4240},
	{name: "interrupts of interrupts", pages: 2, fill: 2, events: 2, interrupts: 3, depth: 3, runs: 7966, states: 5858},
	{name: "interrupts at a full page", pages: 2, fill: 6, events: 2, interrupts: 3, depth: 3, runs: 12494, states: 6370},
	{name: "interrupt storm", pages: 3, fill: 8, events: 1, interrupts: 5, depth: 1, runs: 11505, states: 3041},
	{name: "interrupts that discard", pages: 2, fill: 5, events: 2, interrupts: 3, depth: 2, discard: true, runs: 54637, states: 8443},
	{name: "swap against overwriting", pages: 2, fill: 6, events: 4, steps: 4, read: "page", runs: 135527, states: 406},
	{name: "swap against refusing", pages: 2, fill: 5, events: 3, steps: 4, read: "page", noOver: true, runs: 16715, states: 95},
	{name: "iterator against overwriting", pages: 2, fill: 6, events: 4, steps: 4, read: "iterate", runs: 148995, states: 30},
	{name: "the whole ring read at a point", pages: 2, fill: 6, events: 1, steps: 7, read: "page", runs: 196772, states: 163},
	{name: "control between events", pages: 3, fill: 8, events: 3, interrupts: 1, depth: 1, steps: 2, read: "page", control: true, runs: 49705, states: 3056},
}

func TestEveryInterleaving(t *testing.T) {
	total := explore.Result{}
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			limit := 0
			if testing.Short() {
				limit = 3000
			}
			r, err := explore.Run(limit, s.run)
			t.Log(r)
			if err != nil {
				t.Fatal(err)
			}
			if r.All && (r.Runs != s.runs || r.States != s.states) {
				t.Errorf("%v; there should be %d and %d", r, s.runs, s.states)
			}
			total.Runs += r.Runs
			total.Steps += r.Steps
			total.States += r.States
		})
	}
	t.Log("in all:", total)
}
