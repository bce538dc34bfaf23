package ringbuf_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"syscall"

	"ftracelab/internal/explore"
	"ftracelab/ringbuf"
)

// play is one run of a scene.
type play struct {
	scene
	left     int // interrupts
	tape     *explore.Tape
	b, snap  *ringbuf.Buffer
	sabotage func(*ringbuf.Buffer, ringbuf.Point)
	err      error

	now, number      uint64
	depthNow         int
	open             int               // events
	committed        map[uint64]uint64 // number → time taken
	written, refused int
	read, lost       uint64
	unknown          bool // a page told of losses without the number
	lastTime, lastIt uint64
	advance          func() (string, bool) // the reader's next step
	stop             func()
	busy             bool // it is in the middle of a call
	iterator         *ringbuf.Iter
	mapping          *ringbuf.Mapping
}

func (s scene) run(tape *explore.Tape) error { return newPlay(s, tape, nil).run() }

func newPlay(s scene, tape *explore.Tape, sabotage func(*ringbuf.Buffer, ringbuf.Point)) *play {
	return &play{scene: s, left: s.interrupts, tape: tape, committed: map[uint64]uint64{}, sabotage: sabotage}
}

func (p *play) buffer() *ringbuf.Buffer {
	b, err := ringbuf.New(ringbuf.Config{
		CPUs: 1, Size: p.pages * 48, SubbufSize: 64, NoOverwrite: p.noOver,
		Clock: func(int) uint64 { p.now += 10; return p.now },
	})
	if err != nil {
		panic(err)
	}
	return b
}

func (p *play) run() error {
	p.b = p.buffer()
	if p.changes > 0 {
		p.snap = p.buffer()
	}
	for range p.fill {
		p.event(ringbuf.Normal, false)
	}
	if p.scene.read == "map" {
		p.mapping, p.err = p.b.Map(0)
	}
	p.advance, p.stop = iter.Pull(p.reader)
	defer p.stop()
	p.b.Interrupt(0, func(at ringbuf.Point) {
		if p.sabotage != nil {
			p.sabotage(p.b, at)
		}
		p.moment()
	})
	for range p.events {
		p.event(ringbuf.Normal, false)
	}
	p.moment()
	p.b.Interrupt(0, nil)
	return p.finish()
}

// moment is a point where anything may happen: nothing, a step of the reader, an
// interrupt, or a change of the ring; and then again.
func (p *play) moment() {
	for p.err == nil {
		if err := ringbuf.CheckRunning(p.b, 0); err != nil {
			p.err = err
			return
		}
		p.tape.State(ringbuf.Fingerprint(p.b, 0))
		var can [3]func()
		kinds := 0
		if p.steps > 0 {
			can[kinds] = p.step
			kinds++
		}
		if p.left > 0 && p.depthNow < p.depth {
			can[kinds] = p.interrupt
			kinds++
		}
		if p.changes > 0 && !p.busy && (p.open == 0 || ringbuf.Committing(p.b, 0) > 0) {
			can[kinds] = p.change
			kinds++
		}
		if kinds == 0 {
			return
		}
		n := p.tape.Choose(kinds + 1)
		if n == 0 {
			return
		}
		can[n-1]()
	}
}

// event writes one event, with moments inside.
func (p *play) event(ctx ringbuf.Context, discard bool) {
	if p.err != nil {
		return
	}
	p.open++
	defer func() { p.open-- }()
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
	if len(e.Data) < 8 {
		p.err = fmt.Errorf("%d bytes reserved", len(e.Data))
		return
	}
	binary.LittleEndian.PutUint64(e.Data, n)
	if p.advance != nil {
		p.moment()
	}
	if discard {
		p.b.Discard(0, e)
		return
	}
	p.written++
	p.committed[n] = e.Time
	p.b.Commit(0, e)
}

// interrupt writes an event in the next higher context. The commit stays where it
// is, unless the interrupted event has ended but for its last instruction.
func (p *play) interrupt() {
	p.left--
	p.depthNow++
	open := ringbuf.Committing(p.b, 0)
	before := ringbuf.CommitPosition(p.b, 0)
	discard := p.discard && p.tape.Choose(2) == 1
	steps := p.steps
	p.event(ringbuf.Context(p.depthNow), discard)
	p.depthNow--
	if after := ringbuf.CommitPosition(p.b, 0); p.err == nil && open > 0 && after != before && p.steps == steps {
		p.err = fmt.Errorf("an interrupt has moved the commit from %x to %x", before, after)
	}
}

// change is one of the changes of a ring. While an event is open or the ring is
// mapped it is refused, and changes nothing.
func (p *play) change() {
	p.changes--
	before := ringbuf.Fingerprint(p.b, 0)
	var err error
	kind := p.tape.Choose(5)
	switch kind {
	case 0:
		err = p.b.Resize(0, (p.pages+1)*48)
	case 1:
		err = p.b.Resize(0, 2*48)
	case 2:
		err = ringbuf.SwapCPU(p.b, p.snap, 0)
	case 3:
		size := 64 + 128 - p.b.SubbufSize()
		if err = p.b.SetSubbufSize(size); err == nil {
			err = p.snap.SetSubbufSize(size)
		}
	case 4:
		p.b.SetOverwrite(p.noOver)
		return
	}
	inUse := ringbuf.Committing(p.b, 0) > 0 || p.mapping != nil
	refused := errors.Is(err, syscall.EBUSY) && inUse || errors.Is(err, syscall.EINVAL) && kind == 2
	switch {
	case err != nil && !refused:
		p.err = fmt.Errorf("change %d: %w", kind, err)
	case inUse || refused:
		if after := ringbuf.Fingerprint(p.b, 0); after != before {
			p.err = fmt.Errorf("change %d of a ring that is in use", kind)
		}
	case kind == 2:
		p.lastTime, p.lastIt = 0, 0
	case kind == 3: // all is gone, the counters as well
		p.written, p.refused, p.read, p.lost, p.lastTime, p.lastIt = 0, 0, 0, 0, 0, 0
		clear(p.committed)
	}
}

// reader is a reader as a coroutine that pauses at its named points and after
// each call.
func (p *play) reader(yield func(string) bool) {
	alive := true
	ringbuf.Pause(p.b, 0, func(point string) {
		if alive {
			alive = yield(point)
		}
	})
	defer func() { ringbuf.Pause(p.b, 0, nil) }()
	for alive && p.err == nil {
		switch p.scene.read {
		case "consume":
			if e, ok := p.b.Consume(0); ok {
				p.got(e.Time, e.Data, e.Lost)
			}
		case "page":
			image := make([]byte, p.b.SubbufSize())
			if p.b.ReadPage(0, image, false) {
				p.gotPage(image, -1)
			}
		case "iterate":
			p.iterate()
		case "map":
			p.getReader()
		}
		alive = alive && yield("")
	}
}

func (p *play) step() {
	p.steps--
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

// gotPage reads the last n events of a page, or all if n is below 0.
func (p *play) gotPage(image []byte, n int) {
	r, err := ringbuf.ReadPageImage(image)
	if err != nil {
		p.err = err
		return
	}
	missed, lost, known := r.Missed()
	if missed && !known {
		p.unknown = true // no room for the number
	}
	p.lost += lost
	skip := 0
	if n >= 0 {
		l, _ := ringbuf.PageLedger(image)
		skip = int(l.Events) - n
	}
	for e, ok := r.Next(); ok; e, ok = r.Next() {
		if !e.IsData() {
			continue
		}
		if skip--; skip < 0 {
			p.got(e.Time, e.Data, 0)
		}
	}
	if r.Err() != nil {
		p.err = r.Err()
	}
}

// getReader is a process that maps the ring: what GET_READER has made of the
// reader's sub-buffer is consumed. It may have grown since.
func (p *play) getReader() {
	before := ringbuf.ReadEvents(p.b, 0)
	p.mapping.GetReader()
	p.unknown = true // the kernel does not tell on the writer's page
	p.gotPage(p.mapping.Reader(), int(ringbuf.ReadEvents(p.b, 0)-before))
}

// iterate makes one step of an iterator: nobody consumes, so it goes back only
// when the ring is changed.
func (p *play) iterate() {
	if p.iterator == nil {
		p.iterator = p.b.Iter(0)
	}
	changes := p.changes
	if e, ok := p.iterator.Next(); ok && p.scene.changes == changes {
		p.iterated(e)
	}
}

func (p *play) iterated(e ringbuf.Entry) {
	n, told := binary.LittleEndian.Uint64(e.Data), e.Lost != 0
	if n <= p.lastIt || p.lastIt != 0 && n != p.lastIt+1 && !told || e.Time != p.committed[n] {
		p.err = fmt.Errorf("the iterator gives %d at %d after %d, loss told: %v", n, e.Time, p.lastIt, told)
	}
	p.lastIt = n
}

// finish lets the reader end, reads the rest and balances the accounts.
func (p *play) finish() error {
	p.stop()
	if p.err != nil {
		return p.err
	}
	if err := ringbuf.Check(p.b, 0); err != nil {
		return err
	}
	if p.iterator != nil && p.snap == nil {
		for e, ok := p.iterator.Next(); ok; e, ok = p.iterator.Next() {
			p.iterated(e)
		}
	}
	var sum ringbuf.Stats
	for _, b := range []*ringbuf.Buffer{p.b, p.snap} {
		if b == nil {
			continue
		}
		for e, ok := b.Consume(0); ok && p.err == nil; e, ok = b.Consume(0) {
			p.got(e.Time, e.Data, e.Lost)
		}
		if err := errors.Join(p.err, ringbuf.Check(b, 0)); err != nil {
			return err
		}
		p.lastTime = 0
		s := b.Stats(0)
		sum.Entries += s.Entries
		sum.Read += s.Read
		sum.Overrun += s.Overrun
		sum.Dropped += s.Dropped
		sum.CommitOverrun += s.CommitOverrun
	}
	if p.unknown && p.lost <= sum.Overrun {
		p.lost = sum.Overrun
	}
	switch {
	case p.read+p.lost != uint64(p.written):
		return fmt.Errorf("%d events committed, %d read and %d told as lost", p.written, p.read, p.lost)
	case sum.Entries != 0 || sum.Read != p.read || sum.Overrun != p.lost:
		return fmt.Errorf("%d read, %d lost, but %+v", p.read, p.lost, sum)
	case sum.Dropped+sum.CommitOverrun != uint64(p.refused):
		return fmt.Errorf("%d refused, but %+v", p.refused, sum)
	case uint64(len(p.committed)) != p.lost:
		return fmt.Errorf("%d events were not read, %d told as lost", len(p.committed), p.lost)
	}
	return nil
}
