package lab

import (
	"errors"
	"fmt"
	"slices"

	"ftracelab/ringbuf"
)

// A story is what happens in a ring buffer: how it is made, and who does what.
type story struct {
	begin string // what is there before the first step
	cfg   ringbuf.Config
	fill  int // events that are written before
	tell  func(*ring)
}

// ring plays a story.
type ring struct {
	*player
	b    *ringbuf.Buffer
	now  uint64
	who  []ringbuf.Context // those who are writing, the outermost first
	at   []int             // steps of each of them; the first is of the story
	got  []string          // by the reader
	page []byte
	side beside

	writing []Writer // as who, and how far each is
	left    Writer   // who has just ended, "" if nobody
	written uint64   // events that were given to Commit
	watched bool     // each point of the writer is a step

	told   int  // things that the story has told
	begun  int  // of these, so many came before the mark at which the run began
	acting bool // what happens was chosen
}

// Names of the contexts, as steps show them.
var contexts = map[ringbuf.Context]string{
	ringbuf.Normal: "task", ringbuf.SoftIRQ: "softirq", ringbuf.IRQ: "irq", ringbuf.NMI: "nmi",
}

var interrupts = map[Act]ringbuf.Context{SoftIRQ: ringbuf.SoftIRQ, IRQ: ringbuf.IRQ, NMI: ringbuf.NMI}

func (p *player) ring(s story) {
	r := &ring{player: p, now: 1000, at: []int{0}}
	p.copy, p.can, p.do = r.moment, r.acts, r.act
	p.key, p.values = r.key, r.numbers()
	if m := before(p.known, p.place.Step); m != nil {
		r.resume(m)
		r.page = make([]byte, r.b.SubbufSize())
		r.watch(true)
	} else if !r.open(s) {
		return
	}
	s.tell(r)
	r.finishBeside()
	r.b.Interrupt(0, nil)
}

// open makes the buffer, and lets the run begin.
func (r *ring) open(s story) bool {
	cfg := s.cfg
	cfg.CPUs, cfg.Clock = 1, r.clock
	b, err := ringbuf.New(cfg)
	if err != nil {
		r.err = err
		return false
	}
	r.b, r.page = b, make([]byte, b.SubbufSize())
	for range s.fill {
		r.fill()
	}
	r.watch(true)
	r.begin(s.begin)
	return true
}

// clock is that of the buffer: it goes on whenever it is read.
func (r *ring) clock(int) uint64 {
	r.now += 10
	return r.now
}

// watch lets each point of the writer be a step, or lets it write as fast as it can.
func (r *ring) watch(on bool) {
	if r.watched == on {
		return
	}
	r.watched = on
	if !on {
		r.b.Interrupt(0, nil)
		return
	}
	r.b.Interrupt(0, func(at ringbuf.Point) {
		r.at[len(r.at)-1]++
		r.writes(pointStages[at])
		if !r.passes() {
			r.step(r.name(), "point "+at.String(), r.kind(at), points[at])
		}
	})
}

func (r *ring) name() string { return contexts[r.who[len(r.who)-1]] }

func (r *ring) moment(m *Moment) {
	d := r.b.Diagram(0)
	m.Ring, m.Read = &d, slices.Clone(r.got)
	m.Writers, m.Left, m.Reading, m.Written = append([]Writer(nil), r.writing...), r.left, r.side.stage, r.written
}

// acts are what may be chosen now: every interrupt that can interrupt who is
// running, and between two events a reader.
func (r *ring) acts() []Act {
	var acts []Act
	for _, a := range []Act{SoftIRQ, IRQ, NMI} {
		if len(r.who) == 0 || interrupts[a] > r.who[len(r.who)-1] {
			acts = append(acts, a)
		}
	}
	if r.side.next != nil {
		return append(acts, Beside)
	}
	if len(r.who) == 0 {
		acts = append(acts, Consume, Page)
	}
	return append(acts, Beside, BesidePage)
}

func (r *ring) act(a Act) {
	defer func(was bool) { r.acting = was }(r.acting)
	r.acting = true
	switch a {
	case Consume:
		r.consume()
	case Page:
		r.readPage()
	case Beside, BesidePage:
		r.beside(a == BesidePage)
	default:
		r.write(interrupts[a], contexts[interrupts[a]]+"!")
	}
}

// kind tells what a point of the writer is an example of.
func (r *ring) kind(at ringbuf.Point) Kind {
	k := Kind(0)
	switch at {
	case ringbuf.PointLink:
		k = PageEnd
	case ringbuf.PointUpdate:
		k = Overwrite
	case ringbuf.PointCommit:
		if len(r.who) == 1 {
			k = Commit
		}
	}
	if len(r.who) > 1 {
		k |= Nested
	}
	return k
}

// write writes one event, and is seen before it, between reserve and commit, and after.
func (r *ring) write(ctx ringbuf.Context, text string) { r.writeOr(ctx, text, false) }

// discard reserves one and takes it back.
func (r *ring) discard(ctx ringbuf.Context, text string) { r.writeOr(ctx, text, true) }

func (r *ring) writeOr(ctx ringbuf.Context, text string, discard bool) {
	if r.err != nil || r.tells() {
		return
	}
	if len(r.who) == 0 {
		if r.skips() {
			r.writeUnseen(ctx, text, discard)
			return
		}
		r.watch(true)
		defer r.ended()
	}
	nested := Kind(0)
	if len(r.who) > 0 {
		nested = Nested
		r.at = append(r.at, 0)
	}
	r.who = append(r.who, ctx)
	r.writing = append(r.writing, Writer{Who: contexts[ctx]})
	r.writes(Begun)
	// The last step of an event stands behind it: a reader may come there.
	leave := func(s Stage) {
		r.leaves(s)
		r.who = r.who[:len(r.who)-1]
		if nested != 0 {
			r.at = r.at[:len(r.at)-1]
		}
	}
	who := contexts[ctx]
	r.step1(func() { r.step(who, fmt.Sprintf("begins an event of %d bytes", len(text)), nested, sayBegin) })
	e, err := r.b.Reserve(0, ctx, len(text))
	if err != nil {
		leave(refusal(err))
		r.at[len(r.at)-1]++
	}
	switch {
	case errors.Is(err, ringbuf.ErrFull):
		r.step(who, "is refused: the ring is full", nested|Lost, sayFull)
		return
	case errors.Is(err, ringbuf.ErrCommitOverrun):
		r.step(who, "is refused: the tail has reached the commit page", nested|Lost, sayOverrun)
		return
	case err != nil:
		r.step(who, "is refused: "+err.Error(), nested|Lost, sayRefused)
		return
	}
	r.writes(Reserved)
	r.step1(func() { r.step(who, "has reserved its room", nested, sayReserved) })
	copy(e.Data, text)
	r.writes(Filled)
	r.step1(func() { r.step(who, "has filled it with "+fmt.Sprintf("%q", text), nested, sayFilled) })
	r.writing[len(r.writing)-1].Ends = true
	if discard {
		r.b.Discard(0, e)
		leave(Discarded)
		r.step(who, "has discarded it", nested, sayDiscarded)
		return
	}
	r.written++
	r.b.Commit(0, e)
	leave(Committed)
	k, say := nested|Left, sayNestedEnd
	if nested == 0 {
		k, say = Commit, sayEnd
	}
	r.step1(func() { r.step(who, "has committed it", k, say) })
}

// writeUnseen writes an event of which no step is looked at.
func (r *ring) writeUnseen(ctx ringbuf.Context, text string, discard bool) {
	r.watch(false)
	e, err := r.b.Reserve(0, ctx, len(text))
	if err != nil {
		return // as it was when the steps were listed
	}
	copy(e.Data, text)
	if discard {
		r.b.Discard(0, e)
		return
	}
	r.written++
	r.b.Commit(0, e)
}

// refusal is the stage of a writer that got no room.
func refusal(err error) Stage {
	switch {
	case errors.Is(err, ringbuf.ErrFull):
		return Full
	case errors.Is(err, ringbuf.ErrCommitOverrun):
		return Blocked
	}
	return Refused
}

// step1 counts a step of a writer, and lets it be told if anybody wants to know.
func (r *ring) step1(tell func()) {
	r.at[len(r.at)-1]++
	if !r.passes() {
		tell()
	}
}

// fill writes an event that no step shows.
func (r *ring) fill() {
	text := r.next()
	e, err := r.b.Reserve(0, ringbuf.Normal, len(text))
	if err != nil {
		r.err = err
		return
	}
	copy(e.Data, text)
	r.b.Commit(0, e)
	r.written++
}

// pause lets time pass.
func (r *ring) pause(ns uint64) {
	if !r.tells() {
		r.now += ns
	}
}

func (r *ring) consume() {
	if r.tells() {
		return
	}
	r.finishBeside()
	what, k, say := r.takeEvent()
	r.side.stage, r.left = taken, Writer{}
	r.step("reader", what, k, say)
}

func (r *ring) readPage() {
	if r.tells() {
		return
	}
	r.finishBeside()
	what, k, say := r.takePage()
	r.side.stage, r.left = taken, Writer{}
	r.step("reader", what, k, say)
}

// takeEvent lets the reader take one event.
func (r *ring) takeEvent() (what string, k Kind, say sentence) {
	before := r.readerPage()
	e, ok := r.b.Consume(0)
	if !ok {
		return "finds nothing", 0, sayEmpty
	}
	text := fmt.Sprintf("%d: %q", e.Time, e.Data)
	if e.Lost > 0 {
		text += fmt.Sprintf(", %d lost before", e.Lost)
	}
	r.got = append(r.got, text)
	say = sayConsumed
	if r.readerPage() != before {
		k, say = Swap, saySwapped
	}
	return "takes the event " + text, k, say
}

// takePage lets the reader take a page.
func (r *ring) takePage() (what string, k Kind, say sentence) {
	before := r.readerPage()
	if !r.b.ReadPage(0, r.page, false) {
		return "finds nothing", 0, sayEmpty
	}
	n := 0
	if p, err := ringbuf.ReadPageImage(r.page); err == nil {
		for e, ok := p.Next(); ok; e, ok = p.Next() {
			if e.IsData() {
				n++
			}
		}
	}
	r.got = append(r.got, "a page with "+counted(n, "event"))
	say = sayPartly
	if r.readerPage() != before {
		k, say = Swap, saySwapped
	}
	return "takes a page with " + counted(n, "event"), k, say
}

func (r *ring) readerPage() int { return r.b.Outline(0).Pages[0].ID }
