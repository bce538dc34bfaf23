package ringbuf_test

import (
	"cmp"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"syscall"
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

// got checks one event that was read, lost events before it taken off first.
func (m *model) got(time uint64, data []byte, lost uint64, exact bool) {
	seq := binary.LittleEndian.Uint64(data)
	if m.carried != 0 {
		lost, m.carried = m.carried, 0
	}
	if lost == ringbuf.LostUnknown {
		for lost = 0; int(lost) < len(m.queue) && m.queue[lost].seq != seq; {
			lost++
		}
	}
	if lost >= uint64(len(m.queue)) {
		m.t.Fatalf("%d events lost of %d, then one read", lost, len(m.queue))
	}
	m.lost += lost
	want := m.queue[lost]
	m.queue = m.queue[lost+1:]
	switch {
	case want.seq != seq || want.size != len(data):
		m.t.Fatalf("read event %d with %d bytes after %d lost, want %+v", seq, len(data), lost, want)
	case time < m.lastTime:
		m.t.Fatalf("event %d at %d, before it %d", seq, time, m.lastTime)
	case time > want.time, time < want.time && (exact || !want.late && !want.loose):
		m.t.Fatalf("event %d at %d, its time was %d: %+v", seq, time, want.time, want)
	case time < want.time && want.late && !want.loose && time == m.lastTime:
		m.seen["time of the event before"]++
	case time < want.time && want.late && !want.loose:
		m.seen["time in between"]++
	}
	m.lastTime = time
	m.read++
	m.seen["read"]++
}

// gotPage reads a page image: its last n data events, or all if n is below 0.
func (m *model) gotPage(image []byte, n int) {
	r, err := ringbuf.ReadPageImage(image)
	if err != nil {
		m.t.Fatal(err)
	}
	missed, lost, known := r.Missed()
	if missed && !known {
		lost = ringbuf.LostUnknown
	}
	if n < 0 {
		n = countEvents(m.t, image)
	}
	for skip := countEvents(m.t, image) - n; skip > 0; {
		if e, _ := r.Next(); e.IsData() {
			skip--
		}
	}
	if n == 0 && lost != 0 {
		m.carried = ringbuf.LostUnknown
	}
	for e, ok := r.Next(); ok; e, ok = r.Next() {
		if e.IsData() {
			m.got(e.Time, e.Data, lost, e.Absolute)
			lost = 0
		}
	}
	if r.Err() != nil {
		m.t.Fatal(r.Err())
	}
}

func countEvents(t *rapid.T, image []byte) (n int) {
	l, err := ringbuf.PageLedger(image)
	if err != nil {
		t.Fatal(err)
	}
	return int(l.Events)
}

func (m *model) consume() bool {
	e, ok := m.b.Consume(0)
	if ok {
		m.got(e.Time, e.Data, e.Lost, false)
	} else if n := m.b.Stats(0).Entries; n != 0 {
		m.t.Fatalf("nothing to read with %d entries", n)
	}
	return ok
}

// drain reads all there is; then every loss has been told.
func (m *model) drain() {
	for m.consume() {
	}
	if s := m.b.Stats(0); s.Overrun < m.lost || s.Overrun-m.lost != uint64(len(m.queue)) {
		m.t.Fatalf("%d told as lost, %d never read, %+v", m.lost, len(m.queue), s)
	}
}

// iterate reads all that can still be read, which is the end of the queue.
func (m *model) iterate() {
	it := m.b.Iter(0)
	rest := m.queue[uint64(len(m.queue))-m.b.Stats(0).Entries:]
	n, last := 0, uint64(0)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		// What is on the reader page is older than what was lost.
		seq := binary.LittleEndian.Uint64(e.Data)
		if n >= len(rest) || seq != rest[n].seq && !slices.ContainsFunc(m.queue, func(w written) bool { return w.seq == seq }) {
			m.t.Fatalf("the iterator gives event %d as number %d of %d", seq, n, len(rest))
		}
		if e.Time < last {
			m.t.Fatalf("the iterator gives event %d at %d, before it %d", seq, e.Time, last)
		}
		last = e.Time
		n++
	}
	if n != len(rest) {
		m.t.Fatalf("the iterator gives %d events of %d", n, len(rest))
	}
}

// mapped maps the ring, during which it cannot be changed, and reads through the
// mapping.
func (m *model) mapped() {
	m.consume() // a loss that was found by looking ahead is told
	mapping, err := m.b.Map(0)
	if err != nil {
		m.t.Fatal(err)
	}
	stats, pages := m.b.Stats(0), m.b.Pages(0)
	for what, err := range map[string]error{
		"resize": m.b.Resize(0, m.b.Size(0)+m.b.SubbufSize()), "order": m.b.SetSubbufSize(m.b.SubbufSize() * 2), "swap": ringbuf.SwapCPU(m.b, m.snap, 0),
	} {
		if !errors.Is(err, syscall.EBUSY) || m.b.Stats(0) != stats || m.b.Pages(0) != pages {
			m.t.Fatalf("%s of a mapped ring: %v", what, err)
		}
	}
	for range rapid.IntRange(0, 3).Draw(m.t, "pages") {
		before := m.b.Stats(0).Read
		mapping.GetReader()
		if m.b.Snapshot(0).Pages[0].Commit {
			m.carried = ringbuf.LostUnknown // the kernel does not tell on the writer's page
		}
		m.gotPage(mapping.Reader(), int(m.b.Stats(0).Read-before))
		m.seen["GET_READER"]++
	}
	mapping.Close()
}

// swap takes a snapshot, or is refused because the rings are not alike.
func (m *model) swap() {
	alike := m.b.Pages(0) == m.snap.Pages(0) && m.b.SubbufSize() == m.snap.SubbufSize()
	x, y := m.b.Stats(0), m.snap.Stats(0)
	switch err := ringbuf.SwapCPU(m.b, m.snap, 0); {
	case !alike && errors.Is(err, syscall.EINVAL):
		if m.b.Stats(0) != x || m.snap.Stats(0) != y {
			m.t.Fatal("a refused swap has changed something")
		}
	case !alike || err != nil:
		m.t.Fatalf("swap of rings that are alike (%v): %v", alike, err)
	case m.b.Stats(0) != y || m.snap.Stats(0) != x:
		m.t.Fatalf("swapped %+v and %+v, they are %+v and %+v", x, y, m.b.Stats(0), m.snap.Stats(0))
	default:
		m.side, m.other = m.other, m.side
		m.mayLose = m.mayLose || m.overwrite[0]
		m.seen["swap"]++
	}
}

// order changes the size of the sub-buffers, of both or of one buffer; all is
// lost then.
func (m *model) order() {
	size := rapid.SampledFrom([]int{64, 256, 512, 4096}).Draw(m.t, "subbuf")
	if size == m.b.SubbufSize() {
		return
	}
	if err := m.b.SetSubbufSize(size); err != nil {
		m.t.Fatal(err)
	}
	m.side = &side{mayLose: m.overwrite[0]}
	if size != m.snap.SubbufSize() && rapid.Bool().Draw(m.t, "both") {
		if err := errors.Join(m.snap.SetSubbufSize(size), m.snap.Resize(0, m.b.Size(0))); err != nil {
			m.t.Fatal(err)
		}
		m.other = &side{mayLose: true}
	}
	m.seen["order"]++
}

func (m *model) resize() {
	before := m.b.Pages(0)
	size := rapid.IntRange(0, 6).Draw(m.t, "pages") * (m.b.SubbufSize() - 16)
	if rapid.IntRange(0, 9).Draw(m.t, "pinned") == 0 {
		m.b.PinSize(0)
		if err := m.b.Resize(0, size); m.b.Pages(0) != before || err != nil && !errors.Is(err, syscall.EBUSY) {
			m.t.Fatalf("resize of a pinned ring: %v, %d pages, were %d", err, m.b.Pages(0), before)
		}
		m.b.UnpinSize(0)
		return
	}
	if err := m.b.Resize(0, size); err != nil {
		m.t.Fatal(err)
	}
	m.mayLose = m.mayLose || m.b.Pages(0) < before
	m.seen["resize"]++
}

// wait begins to wait, as Wait does before it sleeps.
func (m *model) wait() {
	w := waiting{percent: rapid.SampledFrom([]int{0, 1, 25, 50, 75, 100}).Draw(m.t, "percent")}
	var hit bool
	if w.woken, w.kicks, hit = ringbuf.Watch(m.b, 0, w.percent); !hit {
		m.waiters = append(m.waiters, w)
	} else if !m.wakes(w.percent) && !m.padded {
		m.t.Fatalf("%d%% of the pages hold data, it is said:\n%s", w.percent, m.b.Snapshot(0))
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
