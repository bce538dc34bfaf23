package lab

import (
	"fmt"
	"slices"
	"strings"

	"ftracelab/ringbuf"
)

// A verdict says whether an invariant holds.
type verdict int

const (
	holds  verdict = iota
	notYet         // somebody is in the middle of something, and will make it hold
	broken         // it does not hold, and nobody is there who would see to it
)

// A finding is what came out of an invariant at a moment.
type finding struct {
	verdict verdict
	because string
	ref     string // what is meant
}

func yes(format string, args ...any) finding {
	return finding{verdict: holds, because: fmt.Sprintf(format, args...)}
}

// unless is a finding of what does not hold: it is excused if somebody is about to see to it.
func unless(busy bool, because, format string, args ...any) finding {
	if busy {
		return finding{verdict: notYet, because: because + fmt.Sprintf(format, args...)}
	}
	return finding{verdict: broken, because: fmt.Sprintf(format, args...)}
}

func (f finding) about(ref string) finding {
	f.ref = ref
	return f
}

// An invariant is what must be true of a ring.
type invariant struct {
	text   string
	kernel string // the function that sees to it
	find   func(*Moment) finding
}

// invariants are looked up in the snapshot of a moment, and nowhere else.
var invariants = []invariant{
	{"Exactly one link in the ring says head.", "rb_set_head_page", (*Moment).oneHead},
	{"The links lead through all pages and back; the reader page is outside.", "rb_check_pages", (*Moment).closed},
	{"On each page, commit ≤ write ≤ size of the page.", "rb_reset_tail", (*Moment).inOrder},
	{"The reader has not read past the commit.", "rb_get_reader_page", (*Moment).readerBehind},
	{"From the head on, the commit comes not later than the tail.", "rb_move_tail", (*Moment).commitBehind},
	{"Whatever is written can be read: commit and write are equal.", "rb_set_commit_to_write", (*Moment).allReadable},
	{"No event that is being written lies in front of the commit.", "rb_end_commit", (*Moment).openHidden},
	{"Writers nest: an inner one has a higher context and a later place.", "trace_recursive_lock", (*Moment).nested},
	{"entries + overrun + read = the events that were committed.", "ring_buffer_entries_cpu", (*Moment).counted},
	{"entries = what the pages hold and nobody has read.", "rb_num_of_entries", (*Moment).held},
	{"The two stamps are equal: the time of the last event is known.", "__rb_reserve_next", (*Moment).stamped},
	{"Time does not go back from one event to the next.", "rb_update_event", (*Moment).forward},
}

// invariants says of each whether it holds.
func (m *Moment) invariants() []Section {
	var rows [][]Cell
	for n, i := range invariants {
		f := i.find(m)
		ref := f.ref
		if ref == "" {
			ref = fmt.Sprintf("invariant-%d", n+1)
		}
		word, class := "holds", Data
		switch f.verdict {
		case notYet:
			word, class = "not yet", Open
		case broken:
			word, class = "BROKEN", Mark
		}
		rows = append(rows, []Cell{
			{Text: word, Class: class, Ref: ref, About: "kernel: " + i.kernel},
			{Text: i.text, Ref: ref, About: i.text},
			{Text: f.because, Class: Label, Ref: ref, About: f.because},
		})
	}
	return []Section{{Title: "what must be true, as this step's snapshot shows it", Rows: rows}}
}

// inRing are the pages of the ring, from the head on.
func (m *Moment) inRing() []pageState { return m.Ring.Pages[1:] }

// moving is the page to which a link says update: the writer is giving it up. Its ID is -1
// if there is none.
func (m *Moment) moving() pageState {
	for _, p := range m.inRing() {
		if p.Link == "update" {
			return p
		}
	}
	return pageState{ID: -1}
}

// busy says who is writing, for a sentence; "" if nobody is.
func (m *Moment) busy() string {
	var who []string
	for _, w := range m.Writers {
		who = append(who, w.Who)
	}
	return strings.Join(who, " and ")
}

func (m *Moment) oneHead() finding {
	var says []string
	for _, p := range m.inRing() {
		if p.Link == "head" {
			says = append(says, fmt.Sprintf("%d -> %d", p.ID, p.Next))
		}
	}
	if u := m.moving(); u.ID >= 0 {
		return unless(m.busy() != "" && len(says) <= 1, "the writer is moving the head: ", "the link %d -> %d says update", u.ID, u.Next).about(pageRef(pageState{ID: u.Next}))
	}
	if len(says) != 1 {
		return unless(false, "", "%d links say head: %s", len(says), strings.Join(says, ", "))
	}
	return yes("%s", says[0])
}

func (m *Moment) closed() finding {
	ring := m.inRing()
	seen := map[int]bool{m.Ring.Pages[0].ID: true}
	for _, p := range ring {
		if seen[p.ID] {
			return unless(false, "", "page %d is there twice", p.ID).about(pageRef(p))
		}
		seen[p.ID] = true
	}
	for i, p := range ring {
		if next := ring[(i+1)%len(ring)].ID; p.Next != next {
			return unless(false, "", "page %d leads to %d, not to %d", p.ID, p.Next, next).about(pageRef(p))
		}
	}
	return yes("%d pages, and page %d outside", len(ring), m.Ring.Pages[0].ID)
}

func (m *Moment) inOrder() finding {
	for _, p := range m.Ring.Pages {
		size := len(p.Bytes) - ringbuf.PageHeaderSize
		switch {
		case p.Committed > p.Write && p.Bytes != nil && !p.Reader:
			return unless(false, "", "page %d: commit %d, write %d", p.ID, p.Committed, p.Write).about(pageRef(p))
		case p.Write > size && p.Bytes != nil:
			return unless(m.busy() != "", "there was no room, and it will be taken back: ", "page %d is written up to %d of %d", p.ID, p.Write, size).about(pageRef(p))
		}
	}
	return yes("on all pages")
}

func (m *Moment) readerBehind() finding {
	p := m.on(func(p pageState) bool { return p.Reader })
	if p.Read > p.Committed {
		return unless(false, "", "page %d: read %d, commit %d", p.ID, p.Read, p.Committed).about(pageRef(p))
	}
	return yes("page %d: read %d, commit %d", p.ID, p.Read, p.Committed).about(pageRef(p))
}

func (m *Moment) commitBehind() finding {
	commit := slices.IndexFunc(m.Ring.Pages, func(p pageState) bool { return p.Commit })
	tail := slices.IndexFunc(m.Ring.Pages, func(p pageState) bool { return p.Tail })
	if commit < 0 || tail < 0 || commit > tail {
		busy := m.moving().ID >= 0 && m.busy() != ""
		return unless(busy, "the tail has entered the page that is being given up: ", "the tail is in front of the commit").about(pageRef(m.tail()))
	}
	return yes("commit on page %d, tail on page %d", m.Ring.Pages[commit].ID, m.Ring.Pages[tail].ID)
}

// unfinished are the pages from the commit to the tail that hold bytes behind the commit.
func (m *Moment) unfinished() (bytes int, pages []pageState) {
	in := false
	for _, p := range m.Ring.Pages {
		in = in || p.Commit
		if in && p.Write > p.Committed {
			bytes += p.Write - p.Committed
			pages = append(pages, p)
		}
		if in && p.Tail {
			break
		}
	}
	return bytes, pages
}

func (m *Moment) allReadable() finding {
	if n, pages := m.unfinished(); n > 0 {
		return unless(m.busy() != "", "writing: "+m.busy()+"; ", "%d bytes wait for a commit", n).about(pageRef(pages[0]))
	}
	return yes("nothing waits")
}

func (m *Moment) openHidden() finding {
	// The places of a snapshot belong to those who have reserved, in their order.
	var with []Writer
	for _, w := range m.Writers {
		if w.Stage == Reserved || w.Stage == Filled || w.Ends && w.Stage != Stage(ringbuf.PointLowered.String()) {
			with = append(with, w)
		}
	}
	commit := slices.IndexFunc(m.Ring.Pages, func(p pageState) bool { return p.Commit })
	n := 0
	for i, o := range m.Ring.Open {
		if len(with) != len(m.Ring.Open) || with[i].Ends {
			continue
		}
		n++
		at := slices.IndexFunc(m.Ring.Pages, func(p pageState) bool { return p.ID == o.Page })
		if at < commit || at == commit && o.Offset < m.Ring.Pages[at].Committed {
			return unless(false, "", "%s is writing at %d of page %d, where a reader may look", with[i].Who, o.Offset, o.Page).about(openRef(o))
		}
	}
	if n == 0 {
		return yes("no reservation is open")
	}
	return yes("%d open, behind the commit", n).about(openRef(m.Ring.Open[0]))
}

func (m *Moment) nested() finding {
	order := []string{"task", "softirq", "irq", "nmi"}
	for i := 1; i < len(m.Writers); i++ {
		if slices.Index(order, m.Writers[i].Who) <= slices.Index(order, m.Writers[i-1].Who) {
			return unless(false, "", "%s has interrupted %s", m.Writers[i].Who, m.Writers[i-1].Who)
		}
	}
	place := func(o ringbuf.OpenEvent) int {
		return slices.IndexFunc(m.Ring.Pages, func(p pageState) bool { return p.ID == o.Page })<<20 + o.Offset
	}
	if !slices.IsSortedFunc(m.Ring.Open, func(a, b ringbuf.OpenEvent) int { return place(a) - place(b) }) {
		return unless(false, "", "an inner event lies in front of an outer one").about(openRef(m.Ring.Open[0]))
	}
	if len(m.Writers) == 0 {
		return yes("nobody is writing")
	}
	return yes("%s", m.busy())
}

func (m *Moment) counted() finding {
	s := m.Ring.Stats
	sum := fmt.Sprintf("%d + %d + %d, and %d were committed", s.Entries, s.Overrun, s.Read, m.Written)
	switch got := s.Entries + s.Overrun + s.Read; {
	case got == m.Written:
		return yes("%s", sum)
	case got < m.Written:
		return unless(m.busy() != "", fmt.Sprintf("%d of them wait for the commit: ", m.Written-got), "%s", sum)
	}
	return unless(false, "", "%s", sum)
}

func (m *Moment) held() finding {
	n := 0
	for i, p := range m.Ring.Pages {
		n += p.Entries
		for _, e := range p.Events {
			if i == 0 && e.IsData() && e.Offset < ringbuf.PageHeaderSize+p.Read {
				n--
			}
		}
		if p.Commit {
			break
		}
	}
	s := m.Ring.Stats.Entries
	if u := m.moving(); uint64(n) != s {
		return unless(u.ID >= 0 && m.busy() != "", "the writer is moving the head: ", "entries is %d, the pages hold %d", s, n)
	}
	return yes("%d", n)
}

func (m *Moment) stamped() finding {
	b, w := m.Ring.BeforeStamp, m.Ring.WriteStamp
	switch {
	case b == w:
		return yes("%d", b)
	case b == 0:
		return finding{verdict: notYet, because: "the last event was discarded, so the next one stores its whole time"}
	}
	refused := m.Ring.Stats.Dropped+m.Ring.Stats.CommitOverrun > 0
	because := "somebody is about to write, so an interrupt would store its whole time: "
	if m.busy() == "" {
		because = "the last one was refused, so the next event stores its whole time: "
	}
	return unless(m.busy() != "" || refused, because, "before_stamp %d, write_stamp %d", b, w)
}

func (m *Moment) forward() finding {
	last, n := uint64(0), 0
	for _, p := range m.Ring.Pages {
		for _, e := range p.Events {
			if e.Time < last {
				return unless(false, "", "an event of %d on page %d comes behind one of %d", e.Time, p.ID, last).about(fmt.Sprintf("page-%d-%d", p.ID, e.Offset))
			}
			last = e.Time
			n++
		}
		if p.Commit {
			break
		}
	}
	return yes("%s", counted(n, "event"))
}
