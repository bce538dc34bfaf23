package ringbuf_test

import (
	"cmp"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"ftracelab/ringbuf"

	"pgregory.net/rapid"
)

// RINGBUF_CHECKS=100000 go test -run TestModel ./ringbuf is the long form. The seed
// is fixed unless -rapid.seed gives another.
func TestMain(m *testing.M) {
	flag.Parse()
	set := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { set[f.Name] = true })
	for name, value := range map[string]string{"rapid.checks": cmp.Or(os.Getenv("RINGBUF_CHECKS"), "1000"), "rapid.seed": "1"} {
		if !set[name] {
			if err := flag.Set(name, value); err != nil {
				fmt.Fprintln(os.Stderr, "RINGBUF_CHECKS:", err)
				os.Exit(2)
			}
		}
	}
	os.Exit(m.Run())
}

// written is an event as the model knows it: its number is its payload.
type written struct {
	seq    uint64
	time   uint64 // taken for it
	size   int    // of the stored payload
	ticket uint64 // in the order in which room was taken
	late   bool   // others took room between its time and its room
	loose  bool   // an event before it was discarded and kept its time
}

// side is one ring as seen from outside: a queue of events of which some are
// lost, the losses being told in front of the next event. A swap exchanges sides.
type side struct {
	queue []written

	attempts, committed, discarded, dropped, overrunCommit, refused uint64

	read, lost uint64 // lost as told to the reader
	carried    uint64 // lost before a page on which there was no event
	lastTime   uint64 // read
	mayLose    bool   // overwriting was on at some time, or the ring was shrunk
	padded     bool   // a discarded event stayed on a page
}

// open is an event being written; they are a stack.
type open struct {
	ctx    ringbuf.Context
	seenA  uint64 // tickets given out when it was at A
	ticket uint64
	late   bool
}

// model is a buffer of one CPU, another for its snapshots, and who waits.
type model struct {
	t        *rapid.T
	b, snap  *ringbuf.Buffer
	now, seq uint64
	tick     uint64 // by which the clock moves when it is read
	tickets  uint64

	*side
	other      *side // of snap
	overwrite  [2]bool
	gaps       []int // points until the next interrupt
	open       []open
	held       [5]bool // recursion bits: the extra one, NMI … Normal
	inFlight   []written
	waiters    []waiting
	fault      error // found in an interrupt
	seen       map[string]int
	lastChange string
}

type waiting struct {
	percent int
	woken   <-chan struct{}
	kicks   int
}

func newModel(t *rapid.T, seen map[string]int) *model {
	size := rapid.SampledFrom([]int{64, 256, 512, 4096}).Draw(t, "subbuf")
	m := &model{t: t, side: &side{}, other: &side{}, seen: seen}
	m.now = rapid.SampledFrom([]uint64{0, 3<<59 - 1000}).Draw(t, "start")
	cfg := ringbuf.Config{
		CPUs: 1, Size: rapid.IntRange(0, 5).Draw(t, "pages") * (size - 16), SubbufSize: size,
		NoOverwrite: rapid.Bool().Draw(t, "no overwrite"), AbsoluteTime: rapid.Bool().Draw(t, "absolute"),
		Clock: func(int) uint64 { m.now += m.tick; return m.now },
	}
	m.overwrite[0] = !cfg.NoOverwrite
	m.overwrite[1] = true
	m.mayLose, m.other.mayLose = m.overwrite[0], true
	for _, b := range []**ringbuf.Buffer{&m.b, &m.snap} {
		var err error
		if *b, err = ringbuf.New(cfg); err != nil {
			t.Fatal(err)
		}
		cfg.NoOverwrite = false
	}
	return m
}

func storedPayload(length int) int {
	size := ringbuf.EventSize(length) - 4
	if size > 112 {
		size -= 4
	}
	return size
}

// lengths of payloads: all kinds of headers, and the biggest.
func lengths(max int) *rapid.Generator[int] {
	return rapid.OneOf(rapid.IntRange(8, min(max, 40)), rapid.IntRange(min(max, 105), min(max, 120)), rapid.IntRange(8, max), rapid.Just(max))
}

// steps of time: none, small, around what 27 bits hold, and days. A clock that
// passes 2^59 is beyond absolute stamps, in the kernel as here; one that starts
// above is not.
var steps = rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64Range(1, 1000),
	rapid.Uint64Range(1<<27-2, 1<<27+2), rapid.Uint64Range(1, 1<<49))

func (m *model) length() int { return lengths(m.b.MaxEventSize()).Draw(m.t, "length") }

// enter is the recursion rule: each context once, and one more in all; the
// lowest bit that is set is the innermost's.
func (m *model) enter(ctx ringbuf.Context) bool {
	bit := 4 - int(ctx)
	if m.held[bit] {
		bit = 0
	}
	if m.held[bit] {
		return false
	}
	m.held[bit] = true
	return true
}

func (m *model) leave() { m.held[slices.Index(m.held[:], true)] = false }

// write reserves and ends one event in ctx, with inside called in between.
func (m *model) write(ctx ringbuf.Context, length int, discard bool, inside func()) {
	m.attempts++
	m.now += steps.Draw(m.t, "step")
	m.open = append(m.open, open{ctx: ctx, seenA: m.tickets})
	depth, start := len(m.open)-1, m.now
	allowed := m.enter(ctx)
	e, err := m.b.Reserve(0, ctx, length)
	if allowed && err != nil {
		m.leave()
	}
	if err != nil {
		m.refuse(allowed, length, err)
		m.end(depth)
		return
	}
	switch o := &m.open[depth]; {
	case !allowed:
		m.t.Fatalf("%d may write once more than it should", ctx)
	case len(e.Data) != length || e.Time < start || e.Time > m.now:
		m.t.Fatalf("reserved %d bytes at %d to %d, got %d at %d", length, start, m.now, len(e.Data), e.Time)
	case o.ticket == 0: // the plain case, without points
		m.tickets++
		o.ticket = m.tickets
	}
	for i := range e.Data {
		e.Data[i] = 0xaa
	}
	attempts := m.attempts
	if inside != nil {
		inside()
	}
	o := m.open[depth]
	if discard {
		m.b.Discard(0, e)
		m.padded = m.padded || m.tickets != o.ticket || m.attempts != attempts // or those have padded the page
		m.discarded++
		m.seen["discarded"]++
	} else {
		m.seq++
		binary.LittleEndian.PutUint64(e.Data, m.seq)
		m.inFlight = append(m.inFlight, written{seq: m.seq, time: e.Time, size: storedPayload(length), ticket: o.ticket, late: o.late})
		m.b.Commit(0, e)
	}
	m.leave()
	m.end(depth)
}

// refuse checks why an event was refused, and counts it.
func (m *model) refuse(allowed bool, length int, err error) {
	switch {
	case errors.Is(err, ringbuf.ErrRecursion) && !allowed, errors.Is(err, ringbuf.ErrTooBig) && length > m.b.MaxEventSize(),
		errors.Is(err, ringbuf.ErrDisabled) && !m.b.Recording():
		m.refused++
	case errors.Is(err, ringbuf.ErrFull) && !m.overwrite[0]:
		m.dropped++
	case errors.Is(err, ringbuf.ErrCommitOverrun) && len(m.open) > 1:
		m.overrunCommit++
	default:
		m.t.Fatalf("refused without reason: %v", err)
	}
	m.seen[err.Error()]++
}

// end ends what write began. With the outermost all become readable, in the
// order in which they took their room.
func (m *model) end(depth int) {
	if m.open = m.open[:depth]; depth > 0 {
		return
	}
	slices.SortFunc(m.inFlight, func(a, b written) int { return int(a.ticket) - int(b.ticket) })
	for i := range m.inFlight {
		m.inFlight[i].loose = m.padded
	}
	m.queue = append(m.queue, m.inFlight...)
	m.committed += uint64(len(m.inFlight))
	m.inFlight = m.inFlight[:0]
}

// at is what happens at each point of the writer: the model keeps the order, and
// now and then there is an interrupt.
func (m *model) at(p ringbuf.Point) {
	switch o := &m.open[len(m.open)-1]; p {
	case ringbuf.PointA:
		o.seenA = m.tickets
	case ringbuf.PointC:
		o.late = o.seenA != m.tickets
		m.tickets++
		o.ticket = m.tickets
	}
	if len(m.gaps) == 0 {
		return
	}
	if m.gaps[0]--; m.gaps[0] < 0 {
		m.gaps = m.gaps[1:]
		m.seen["interrupt at "+p.String()]++
		m.interrupt()
	}
}

// interrupt writes in a higher context, or tries to in the same. Whatever it
// does, the commit stays where it is.
func (m *model) interrupt() {
	ctx := m.open[len(m.open)-1].ctx
	ctx = min(ringbuf.NMI, ctx+ringbuf.Context(rapid.IntRange(0, 3).Draw(m.t, "how much higher")))
	open := ringbuf.Committing(m.b, 0) // 0: the interrupted event has ended but for an instruction
	before := ringbuf.CommitPosition(m.b, 0)
	m.write(ctx, m.length(), rapid.IntRange(0, 15).Draw(m.t, "discard") == 0, nil)
	if after := ringbuf.CommitPosition(m.b, 0); open > 0 && after != before {
		m.fault = fmt.Errorf("an interrupt has moved the commit from %x to %x", before, after)
	}
}

// runModel takes steps and looks at all invariants after each.
func runModel(t *rapid.T, seen map[string]int) {
	m := newModel(t, seen)
	actions := map[string]func(){
		"write": func() { m.write(ringbuf.Normal, m.length(), false, nil) },
		"burst": func() {
			for range rapid.IntRange(2, 20).Draw(t, "events") {
				m.write(ringbuf.Normal, m.length(), false, nil)
			}
		},
		"discard": func() { m.write(ringbuf.Normal, m.length(), true, nil) },
		"interrupted": func() {
			m.gaps = rapid.SliceOfN(rapid.IntRange(0, 9), 1, 4).Draw(t, "gaps")
			m.b.Interrupt(0, m.at)
			m.tick = 1 // equal times mislead the slow path, see interrupted
			m.write(ringbuf.Context(rapid.IntRange(0, 2).Draw(t, "context")), m.length(), rapid.IntRange(0, 15).Draw(t, "discard") == 0, nil)
			m.b.Interrupt(0, nil)
			m.tick = 0
		},
		"interrupted while filling": func() {
			m.write(ringbuf.Normal, m.length(), rapid.IntRange(0, 15).Draw(t, "discard") == 0, func() {
				for range rapid.IntRange(1, 6).Draw(t, "interrupts") {
					m.interrupt()
				}
			})
		},
		"too big": func() {
			m.write(ringbuf.Normal, m.b.SubbufSize()+rapid.SampledFrom([]int{-15, 0, 1 << 40}).Draw(t, "length"), false, nil)
		},
		"off": func() {
			m.b.SetRecording(false)
			m.write(ringbuf.Normal, 8, false, nil)
			m.b.SetRecording(true)
		},
		"consume": func() {
			p, had := m.b.Peek(0)
			p.Data = slices.Clone(p.Data)
			lost := p.Lost
			if it := m.b.Iter(0); had {
				if e, ok := it.Next(); !ok || string(e.Data) != string(p.Data) || e.Time != p.Time {
					t.Fatalf("peeked at %v, the iterator begins with %v", p, e)
				}
			}
			if e, ok := m.b.Consume(0); ok != had || ok && (e.Time != p.Time || e.Lost != lost || string(e.Data) != string(p.Data)) {
				t.Fatalf("peeked at %v %v, consumed %v %v", p, had, e, ok)
			} else if ok {
				m.got(e.Time, e.Data, e.Lost, false)
			}
		},
		"page": func() {
			image := make([]byte, m.b.SubbufSize())
			if m.b.ReadPage(0, image, rapid.Bool().Draw(t, "full")) {
				m.gotPage(image, -1)
			}
		},
		"part of a page": func() {
			image := make([]byte, m.b.SubbufSize())
			if m.b.ReadPageN(0, image, rapid.IntRange(0, len(image)).Draw(t, "bytes"), false) {
				m.gotPage(image, -1)
			}
		},
		"drain":   m.drain,
		"iterate": m.iterate,
		"map":     m.mapped,
		"swap":    m.swap,
		"order":   m.order,
		"resize":  m.resize,
		"wait":    m.wait,
		"overwrite": func() {
			m.overwrite[0] = rapid.Bool().Draw(t, "on")
			m.mayLose = m.mayLose || m.overwrite[0]
			m.b.SetOverwrite(m.overwrite[0])
		},
		"crash": m.crash,
		"reset": func() {
			m.b.Reset(0)
			m.side = &side{mayLose: m.overwrite[0]}
			if s := m.b.Stats(0); s != (ringbuf.Stats{OldestTS: s.OldestTS}) || !m.b.Empty(0) || m.b.Ledger(0) != (ringbuf.Ledger{}) {
				t.Fatalf("after reset: %+v %+v", s, m.b.Ledger(0))
			}
		},
	}
	repeat := map[string]func(*rapid.T){"": func(*rapid.T) { m.check() }}
	for name, do := range actions {
		repeat[name] = func(*rapid.T) { m.lastChange = name; do() }
	}
	// Emptying the ring all the time would keep it from filling.
	for _, name := range []string{"order", "reset", "drain"} {
		repeat[name] = func(t *rapid.T) {
			if rapid.IntRange(0, 5).Draw(t, "rarely") == 0 {
				actions[name]()
			}
		}
	}
	t.Repeat(repeat)
	m.drain()
}

func TestModel(t *testing.T) {
	seen := map[string]int{}
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		runModel(t, seen)
	})
	t.Logf("%d runs, %d times all %d invariants; %v", runs, seen["checked"], len(invariants), seen)
	if t.Failed() || runs < 400 {
		return // too few to see all of it
	}
	for _, what := range []string{
		"interrupt at A", "interrupt at B", "interrupt at C", "interrupt at D", "interrupt at E", "interrupt at F", "interrupt at link",
		"interrupt at update", "interrupt at head", "interrupt at tail", "interrupt at commit",
		ringbuf.ErrFull.Error(), ringbuf.ErrTooBig.Error(), ringbuf.ErrRecursion.Error(), ringbuf.ErrDisabled.Error(), ringbuf.ErrCommitOverrun.Error(),
		"time of the event before", "swap", "order", "resize", "GET_READER", "discarded", "woken", "crash refused", "crash recovered",
	} {
		if seen[what] == 0 {
			t.Errorf("none of %d runs led to: %s", runs, what)
		}
	}
}
