package ringbuf_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"

	"ftracelab/ringbuf"

	"pgregory.net/rapid"
)

// What must hold of a ring, whatever happens. TestModel looks at all of it after
// each of its steps, TestEveryInterleaving at each point of a writer; the other
// tests named show the same from another side.
var invariants = []struct {
	what  string
	holds func(m *model) error
	also  []string // tests
}{
	{
		"every committed event is read once or counted as overrun; every Reserve ends in one way",
		func(m *model) error {
			s := m.b.Stats(0)
			if ends := m.committed + m.discarded + s.Dropped + s.CommitOverrun + m.refused; ends != m.attempts || s.Dropped != m.dropped || s.CommitOverrun != m.overrunCommit {
				return fmt.Errorf("%d attempts, %d ends: %+v", m.attempts, ends, s)
			}
			return nil // that nothing is read twice: model.got
		},
		[]string{"TestEveryInterleaving", "TestReadersBesideWriter", "TestSwapBesideWriter"},
	},
	{
		"written = entries + read + overrun; discarded events are none of them",
		func(m *model) error {
			s := m.b.Stats(0)
			if s.Entries+s.Read+s.Overrun != m.committed || s.Read != m.read || m.b.Ledger(0).Events != m.committed {
				return fmt.Errorf("%d committed, %d read: %+v, %d in the ledger", m.committed, m.read, s, m.b.Ledger(0).Events)
			}
			return nil
		},
		[]string{"TestEveryInterleaving", "TestRecreateCaptures"},
	},
	{
		"events are read in the order of their reservation, and time does not go back",
		func(m *model) error {
			var last uint64
			for _, p := range m.b.Diagram(0).Pages {
				for _, e := range p.Events {
					if e.Time < last {
						return fmt.Errorf("%v on page %d, before it %d", e, p.ID, last)
					}
					last = e.Time
				}
				if p.Commit {
					break
				}
			}
			return nil // the order: model.got
		},
		[]string{"TestEveryInterleaving", "TestInterruptsAtEveryPoint"},
	},
	{
		"an event has the time taken for it, or if others came in between that of the event before",
		func(m *model) error { return m.times() }, // exactly the time before: model.got
		[]string{"TestEveryInterleaving", "TestInterruptsAtEveryPoint"},
	},
	{
		"commit ≤ write ≤ capacity, and only the end of the outermost event moves the commit",
		func(m *model) error {
			for _, p := range m.b.Diagram(0).Pages {
				if p.Committed > p.Write || p.Write > m.b.SubbufSize()-ringbuf.PageHeaderSize {
					return fmt.Errorf("page %d: commit %d, write %d", p.ID, p.Committed, p.Write)
				}
			}
			return m.fault
		},
		[]string{"TestEveryInterleaving", "TestCommitOverrun", "TestWaitForOutermost"},
	},
	{
		"one link is head, the pages are as many as they should be and distinct, the reader page is not in the ring",
		func(m *model) error { return ringbuf.CheckRunning(m.b, 0) },
		[]string{"TestEveryInterleaving", "TestControlBesideWriter"},
	},
	{
		"the tail does not pass the commit, nor the head the tail; without overwriting nothing is lost",
		func(m *model) error {
			if s := m.b.Stats(0); !m.mayLose && s.Overrun != 0 {
				return fmt.Errorf("%d events lost without leave", s.Overrun)
			}
			return headToTail(m.b.Diagram(0))
		},
		[]string{"TestEveryInterleaving", "TestCommitOverrun"},
	},
	{
		"what readers are told as lost sums to overrun",
		func(m *model) error {
			pending := uint64(len(m.queue)) // of which some are lost and not yet told
			if s := m.b.Stats(0); s.Overrun < m.lost || s.Overrun-m.lost != pending-s.Entries {
				return fmt.Errorf("%d told, %d pending: %+v", m.lost, pending, s)
			}
			return nil // at the end: model.drain
		},
		[]string{"TestEveryInterleaving", "TestReadersBesideWriter"},
	},
	{
		"contexts nest; a context that writes is let in once more, and not again",
		func(m *model) error {
			if s := m.b.Diagram(0); len(s.Open) != 0 || slices.Contains(m.held[:], true) {
				return fmt.Errorf("at rest %d events are open, contexts %v", len(s.Open), m.held)
			}
			return nil // while events are open: model.write foretells what Reserve says
		},
		[]string{"TestRecursion", "TestEveryInterleaving"},
	},
	{
		"the bytes counter is the sum over the pages; a reset makes all 0; the ledger knows each byte",
		func(m *model) error {
			if err := ringbuf.Check(m.b, 0); err != nil {
				return err
			}
			sum, kept := ringbuf.UnreadBytes(m.b, 0)
			// Bytes of padding stay in the counter when a page without events is skipped.
			if got := m.b.Stats(0).Bytes; got != sum+kept && !m.padded || got < sum {
				return fmt.Errorf("bytes %d, on the pages %d, given back by no one %d", got, sum, kept)
			}
			return nil
		},
		[]string{"TestLedgerAgrees", "TestRecreateCaptures"},
	},
	{
		"resize, sub-buffer size and swap keep all of this, are refused while mapped, and are done wholly or not at all",
		func(m *model) error {
			if err := ringbuf.Check(m.snap, 0); err != nil {
				return fmt.Errorf("the snapshot: %w", err)
			}
			if s := m.snap.Stats(0); s.Entries+s.Read+s.Overrun != m.other.committed {
				return fmt.Errorf("the snapshot: %d committed, %+v", m.other.committed, s)
			}
			return nil // the refusals: model.mapped, model.swap, model.resize
		},
		[]string{"TestSwapRefused", "TestResizeRefused", "TestControlBesideWriter"},
	},
	{
		"an image is accepted whenever the machine crashes, and refused if a page number or length leads astray",
		func(m *model) error {
			cfg := ringbuf.Config{SubbufSize: m.b.SubbufSize(), Clock: func(int) uint64 { return m.now }}
			got, err := recovered(m.b.Image(0, imageBase), cfg)
			if err != nil {
				return err
			}
			want := readable(m.b)
			if len(got) < len(want) || !slices.Equal(got[len(got)-len(want):], want) {
				return fmt.Errorf("recovered %q, was %q", got, want)
			}
			return nil // bits that are turned over: model.crash
		},
		[]string{"TestCrashAnywhere", "TestCrashedBits"},
	},
	{
		"who waits for a percentage wakes when it is reached, or when told to; no wake-up is lost",
		func(m *model) error { return m.wake() },
		[]string{"TestWait", "TestWaitForOutermost", "TestNoLostWakeup", "TestWatermark"},
	},
}

// check looks at all invariants.
func (m *model) check() {
	m.seen["checked"]++
	for n, i := range invariants {
		if err := i.holds(m); err != nil {
			m.t.Fatalf("after %s: invariant %d (%s): %v\n%s", m.lastChange, n+1, i.what, err, m.b.Diagram(0))
		}
	}
}

// times compares the times of all events that can be read now with those taken for them.
// An event in front of which others came in has an earlier one, of an event before.
func (m *model) times() error {
	at := 0
	it := m.b.Iter(0)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		seq := binary.LittleEndian.Uint64(e.Data)
		for at < len(m.queue) && m.queue[at].seq != seq {
			at++
		}
		if at == len(m.queue) {
			return fmt.Errorf("event %d can be read, and is not expected", seq)
		}
		want := m.queue[at]
		if e.Time > want.time || e.Time < want.time && !want.late && !want.loose {
			return fmt.Errorf("event %d has the time %d, taken was %d: %+v", seq, e.Time, want.time, want)
		}
	}
	return nil
}

// headToTail goes from the head to the tail and finds the commit in between.
func headToTail(s ringbuf.Diagram) error {
	commit := s.Pages[0].Commit
	for _, p := range s.Pages[1:] {
		commit = commit || p.Commit
		if p.Tail && !commit {
			return fmt.Errorf("the tail is before the commit")
		}
		if p.Write > 0 && s.Pages[0].Tail {
			return fmt.Errorf("page %d holds data, the tail is on the reader page", p.ID)
		}
	}
	return nil
}

// wakes is the condition on which a reader that waits is woken.
func (m *model) wakes(percent int) bool {
	s := m.b.Diagram(0)
	if percent == 0 || m.b.Empty(0) {
		return !m.b.Empty(0)
	}
	if s.Pages[0].Commit {
		return false
	}
	dirty := slices.IndexFunc(s.Pages[1:], func(p ringbuf.PageState) bool { return p.Commit })
	return (dirty+1)*100 >= percent*(len(s.Pages)-1)
}

// wake compares with it who has been woken, and lets them sleep again if it was
// for another's sake.
func (m *model) wake() error {
	for i := 0; i < len(m.waiters); i++ {
		w := &m.waiters[i]
		select {
		case <-w.woken:
			woken, kicks, hit := ringbuf.Watch(m.b, 0, w.percent)
			if hit || kicks != w.kicks {
				if hit && !m.wakes(w.percent) && !m.padded {
					return fmt.Errorf("woken without %d%%", w.percent)
				}
				m.seen["woken"]++
				m.waiters = slices.Delete(m.waiters, i, i+1)
				i--
				continue
			}
			w.woken = woken
		default:
		}
		if m.wakes(w.percent) && !m.padded {
			return fmt.Errorf("asleep with %d%%", w.percent)
		}
	}
	return nil
}

// crash turns one bit of an image over. It must be refused if parsing would
// leave a page then; if it is accepted it can be read to the end.
func (m *model) crash() {
	image := m.b.Image(0, imageBase)
	bit := rapid.IntRange(0, 8*len(image)-1).Draw(m.t, "bit")
	image[bit/8] ^= 1 << (bit % 8)
	_, err := recovered(image, ringbuf.Config{SubbufSize: m.b.SubbufSize(), Clock: func(int) uint64 { return m.now }})
	switch astray := leadsAstray(image, m.b.SubbufSize()); {
	case err == nil && astray != "":
		m.t.Fatalf("bit %d of byte %d: accepted with %s", bit%8, bit/8, astray)
	case err == nil:
		m.seen["crash recovered"]++
	default:
		m.seen["crash refused"]++
	}
}

// All 13 are there, and the tests that they name.
func TestInvariantsAreTested(t *testing.T) {
	if len(invariants) != 13 {
		t.Errorf("%d invariants", len(invariants))
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				tests[f.Name.Name] = true
			}
		}
	}
	for n, i := range invariants {
		for _, name := range i.also {
			if !tests[name] {
				t.Errorf("invariant %d names %s, which is no test", n+1, name)
			}
		}
	}
}

// A model that expects something else fails: the checks are no formality.
func TestModelNotices(t *testing.T) {
	for name, spoil := range map[string]func(m *model){
		"an event more":  func(m *model) { m.committed++ },
		"an attempt":     func(m *model) { m.attempts++ },
		"one more read":  func(m *model) { m.read++ },
		"one more lost":  func(m *model) { m.lost++ },
		"a time before":  func(m *model) { m.queue[len(m.queue)-1].time-- },
		"a time after":   func(m *model) { m.queue[len(m.queue)-1].time++ },
		"a moved commit": func(m *model) { m.fault = errors.New("moved") },
	} {
		noticed := false
		rapid.Check(t, func(t *rapid.T) {
			m := newModel(t, map[string]int{})
			for range 5 {
				m.write(ringbuf.Normal, 8, false, nil)
			}
			spoil(m)
			for _, i := range invariants {
				noticed = noticed || i.holds(m) != nil
			}
		})
		if !noticed {
			t.Errorf("%s is not noticed", name)
		}
	}
}
