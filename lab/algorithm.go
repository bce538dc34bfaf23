package lab

import (
	"fmt"
	"slices"
	"strings"

	"ftracelab/ringbuf"
)

// A line is one of the numbered lines of what a writer or a reader does, in our words.
type line struct {
	stages []Stage // after which of them somebody stands here; none: nobody can be seen here
	text   string
	kernel string
	now    func(*Moment) (string, string) // what it is about at the moment, and the Ref of that; nil: nothing
}

// A procedure is a part of the lines.
type procedure struct {
	title string
	lines []line
}

// Numbers of the lines that others name. TestAlgorithmNumbers holds them.
const (
	lineRead   = 3
	lineClaim  = 5
	lineLink   = 12
	lineEnd    = 17
	lineLoop   = 20
	lineLookUp = 26
)

// procedures are what a writer does to reserve and to commit, and what a reader does.
var procedures = []procedure{
	{"reserve: ring_buffer_lock_reserve, then __rb_reserve_next", []line{
		{[]Stage{Begun}, "ask for room", "ring_buffer_lock_reserve", nil},
		{nil, "take the bit of this context; count as a writer: committing + 1", "trace_recursive_lock, rb_start_commit", nil},
		{at(ringbuf.PointA), "w = the write index; read both stamps; ts = the clock", "__rb_reserve_next", nil},
		{at(ringbuf.PointB), "before_stamp = ts", "__rb_reserve_next", stampsNow},
		{at(ringbuf.PointC), "take the room: write index + size, in one atomic addition", "__rb_reserve_next", writeNow},
		{nil, fmt.Sprintf("if it ends past the page: go to %d", lineLink), "rb_move_tail", nil},
		{at(ringbuf.PointD), "nobody came since w: write_stamp = ts; the time is the difference", "__rb_reserve_next", stampsNow},
	}},
	{fmt.Sprintf("nested reserve, also __rb_reserve_next: somebody wrote between %d and %d", lineRead, lineClaim), []line{
		{at(ringbuf.PointE), "take the clock again; before_stamp = ts", "__rb_reserve_next", stampsNow},
		{at(ringbuf.PointF), "nobody came after it: the time is ts - write_stamp; else it is 0", "__rb_reserve_next", stampsNow},
	}},
	{"write", []line{
		{[]Stage{Reserved}, "write the event's header, and give the room to the caller", "rb_update_event", openNow},
		{[]Stage{Filled}, "the caller writes its data in place", "", nil},
	}},
	{"the page is full: rb_move_tail", []line{
		{append(at(ringbuf.PointLink), Blocked), "read the link to the next page; refuse if the commit is there", "rb_move_tail", linkNow},
		{append(at(ringbuf.PointUpdate), Full), "it says head: refuse without overwriting, else it says update", "rb_handle_head_page", headsNow},
		{at(ringbuf.PointHead), "the page behind that one is the head; its events are lost", "rb_handle_head_page", headsNow},
		{at(ringbuf.PointTail), "the tail goes to the next page, which becomes empty", "rb_tail_page_update", writeNow},
		{nil, fmt.Sprintf("the rest of the old page becomes padding; do %d to %d; go to %d", lineEnd, lineLoop, lineRead), "rb_reset_tail", nil},
	}},
	{"commit: ring_buffer_unlock_commit, rb_end_commit", []line{
		{at(ringbuf.PointCommits), "remember how many came inside of this writer", "rb_end_commit", nil},
		{at(ringbuf.PointCommit), "if this is the outermost writer: commit = write, page by page", "rb_set_commit_to_write", commitNow},
		{at(ringbuf.PointLowered), "count no more as a writer: committing - 1", "rb_end_commit", nil},
		{nil, fmt.Sprintf("if somebody came inside, and nobody is left: go to %d", lineEnd), "rb_end_commit", nil},
		{[]Stage{Committed}, "give the bit of the context back; wake who waits", "trace_recursive_unlock, rb_wakeups", nil},
		{[]Stage{Discarded, Refused}, "discarded: it is padding now, or its room is free again", "ring_buffer_discard_commit", nil},
	}},
	{"a reader takes what is oldest: rb_get_reader_page", []line{
		{[]Stage{reading(ringbuf.ReadEnd)}, "the reader page is read to its end: a new one is needed", "rb_get_reader_page", readNow},
		{[]Stage{reading(ringbuf.ReadCommit)}, "the commit is on another page: this one may be given away", "rb_get_reader_page", commitNow},
		{nil, "the empty page gets the link that leads behind the head", "rb_get_reader_page", nil},
		{[]Stage{reading(ringbuf.ReadHead), reading(ringbuf.ReadSpin)}, "find the page to which a link says head", "rb_set_head_page", headsNow},
		{[]Stage{reading(ringbuf.ReadTaken), reading(ringbuf.ReadFailed)}, fmt.Sprintf("one compare-and-swap: the link leads to the empty page, or go to %d", lineLookUp), "rb_head_page_replace", headsNow},
		{[]Stage{taken}, "read from the page that is out of the ring", "ring_buffer_consume, ring_buffer_read_page", readNow},
	}},
}

func at(p ringbuf.Point) []Stage { return []Stage{Stage(p.String())} }

// algorithm lists the lines. Who stands where comes from the moment, and so does what is
// behind the lines.
func (m *Moment) algorithm() []Section {
	var sections []Section
	n, wide := 0, 1
	for _, p := range procedures {
		for _, l := range p.lines {
			who, _ := m.standsAt(l)
			wide = max(wide, len(strings.Join(who, " "))+2)
		}
	}
	for _, p := range procedures {
		var rows [][]Cell
		for _, l := range p.lines {
			n++
			who, class := m.standsAt(l)
			ref := fmt.Sprintf("line-%d", n)
			about := l.text
			if l.kernel != "" {
				about += "; kernel: " + l.kernel
			}
			mark := Cell{Text: strings.Repeat(" ", wide), Ref: ref}
			if len(who) > 0 {
				mark.Text = fmt.Sprintf("%*s", wide, strings.Join(who, " ")+" >")
				mark.Class, mark.About = Mark, "who has just done this line"
			}
			row := []Cell{
				mark,
				{Text: fmt.Sprintf("%2d", n), Class: Label, Ref: ref},
				{Text: l.text, Class: class, Ref: ref, About: about},
			}
			if !strings.Contains(p.title, l.kernel) {
				row = append(row, Cell{Text: l.kernel, Class: Label, Ref: ref, About: "the kernel's functions, in kernel/trace/ring_buffer.c"})
			}
			if l.now != nil && len(who) > 0 {
				text, ref := l.now(m)
				row = append(row, Cell{Text: text, Class: Data, Ref: ref, About: "at this step"})
			}
			rows = append(rows, row)
		}
		sections = append(sections, Section{Title: p.title, Rows: rows})
	}
	return sections
}

// standsAt says who has come to a line, and how the line is drawn.
func (m *Moment) standsAt(l line) (who []string, class Class) {
	for i, w := range m.Writers {
		if slices.Contains(l.stages, w.Stage) {
			who = append(who, w.Who)
			if class = Open; i == len(m.Writers)-1 {
				class = Mark
			}
		}
	}
	if m.Left.Who != "" && slices.Contains(l.stages, m.Left.Stage) {
		who, class = append(who, m.Left.Who), Mark
	}
	if slices.Contains(l.stages, m.Reading) {
		who = append(who, "reader")
		if class = Open; m.Step.Who == "reader" {
			class = Mark
		}
	}
	return who, class
}

// on gives the first page of which a property holds; the zero page if there is none.
func (m *Moment) on(is func(pageState) bool) pageState {
	if i := slices.IndexFunc(m.Ring.Pages, is); i >= 0 {
		return m.Ring.Pages[i]
	}
	return pageState{}
}

func (m *Moment) tail() pageState { return m.on(func(p pageState) bool { return p.Tail }) }

func stampsNow(m *Moment) (string, string) {
	return fmt.Sprintf("before %d, write %d", m.Ring.BeforeStamp, m.Ring.WriteStamp), ""
}

func writeNow(m *Moment) (string, string) {
	p := m.tail()
	return fmt.Sprintf("page %d is written up to %d", p.ID, p.Write), pageRef(p)
}

func openNow(m *Moment) (string, string) {
	if len(m.Ring.Open) == 0 {
		return "no event is open", ""
	}
	var places []string
	for _, o := range m.Ring.Open {
		places = append(places, fmt.Sprintf("page %d from %d on", o.Page, o.Offset))
	}
	return strings.Join(places, ", "), openRef(m.Ring.Open[len(m.Ring.Open)-1])
}

func linkNow(m *Moment) (string, string) {
	p := m.tail()
	says := "nothing more"
	if p.Link != "" {
		says = p.Link
	}
	return fmt.Sprintf("it leads to page %d and says %s", p.Next, says), fmt.Sprintf("page-%d", p.Next)
}

func headsNow(m *Moment) (string, string) {
	var says []string
	ref := ""
	for _, p := range m.Ring.Pages {
		if p.Link != "" {
			says = append(says, fmt.Sprintf("%d -%s-> %d", p.ID, p.Link, p.Next))
			ref = fmt.Sprintf("page-%d", p.Next)
		}
	}
	return strings.Join(says, ", "), ref
}

func commitNow(m *Moment) (string, string) {
	p := m.on(func(p pageState) bool { return p.Commit })
	return fmt.Sprintf("page %d: commit %d, write %d", p.ID, p.Committed, p.Write), pageRef(p)
}

func readNow(m *Moment) (string, string) {
	p := m.on(func(p pageState) bool { return p.Reader })
	return fmt.Sprintf("page %d: read %d of %d", p.ID, p.Read, p.Committed), pageRef(p)
}

// openRef names an open event, as bytesAbout does.
func openRef(o ringbuf.OpenEvent) string {
	return fmt.Sprintf("page-%d-%d", o.Page, o.Offset+ringbuf.PageHeaderSize)
}
