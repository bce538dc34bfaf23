package lab

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"ftracelab/ringbuf"
)

type pageState = ringbuf.PageState

func (m *Moment) title(view string) string {
	who := m.Step.Who
	if who != "" {
		who += " "
	}
	return fmt.Sprintf("%s, step %d of %d, %s: %s%s", m.Place.Scenario, m.Place.Step, m.Total, view, who, m.Step.What)
}

// sentenceRow is a row that is read, not compared.
func sentenceRow(class Class, s string) []Cell { return []Cell{{Text: s, Class: class}} }

func (m *Moment) step() []Section {
	rows := [][]Cell{sentenceRow(Plain, m.Why)}
	if m.Kernel != "" {
		rows = append(rows, sentenceRow(Label, "Kernel: "+m.Kernel))
	}
	if len(m.Can) > 0 {
		var can []string
		for _, a := range m.Can {
			can = append(can, fmt.Sprintf("%d%c (%v)", m.Place.Step, byte(a), a))
		}
		rows = append(rows, sentenceRow(Label, "What may come here: "+strings.Join(can, ", ")))
	}
	return []Section{{Rows: append(rows, sentenceRow(Label, "Place: "+m.Place.String()))}}
}

func pageRef(p pageState) string { return fmt.Sprintf("page-%d", p.ID) }

// ring is a row for each page, the reader's first, then from the head on.
func (m *Moment) ring() []Section {
	head := []Cell{{Text: "page", Class: Label}, {Text: "who", Class: Label}, {Text: "next", Class: Label}, {Text: "events", Class: Label}, {Text: "finished", Class: Label}, {Text: "written", Class: Label}}
	rows := [][]Cell{head}
	for _, p := range m.Ring.Pages {
		class := Free
		switch {
		case p.Write > p.Committed:
			class = Open
		case p.Committed > 0:
			class = Data
		}
		next := fmt.Sprintf("-> %d", p.Next)
		if p.Link != "" {
			next += " " + p.Link
		}
		ref, who := pageRef(p), Mark
		if p.Letters() == "" {
			who = Plain
		}
		rows = append(rows, []Cell{
			{Text: fmt.Sprint(p.ID), Class: Header, Ref: ref, About: "the number of the sub-buffer"},
			{Text: p.Letters(), Class: who, Ref: ref, About: "R reader page, H head, C commit page, T tail page"},
			{Text: next, Ref: fmt.Sprintf("page-%d", p.Next), About: "the link to the next page, and what its two lowest bits say"},
			{Text: fmt.Sprint(p.Entries), Ref: ref, About: "finished events"},
			{Text: fmt.Sprint(p.Committed), Class: class, Ref: ref, About: "bytes that a reader may look at"},
			{Text: fmt.Sprint(p.Write), Class: class, Ref: ref, About: "bytes that are taken"},
		})
	}
	return []Section{{Rows: rows}}
}

// shownPages are how many pages are drawn byte by byte.
const shownPages = 8

func (m *Moment) pages() []Section {
	var sections []Section
	for i, p := range m.Ring.Pages {
		if i == shownPages {
			sections = append(sections, Section{Title: "and " + counted(len(m.Ring.Pages)-i, "more page")})
			break
		}
		title := fmt.Sprintf("page %d", p.ID)
		if l := p.Letters(); l != "" {
			title += " " + l
		}
		if p.Bytes == nil {
			sections = append(sections, Section{Title: title + ": never written"})
			continue
		}
		sections = append(sections, Section{Title: title, Rows: located(p, m.Ring.Open)})
	}
	return sections
}

// A page that is written further than largePage is not drawn byte by byte as a whole: its
// header and first events are, and what was written last.
const (
	largePage  = 1024
	shownFirst = 64
	shownLast  = 20 * rowBytes
)

// located are the rows of a page of a moment. Each byte says where it is, for those who ask
// who wrote it.
func located(p pageState, open []ringbuf.OpenEvent) [][]Cell {
	end := pageEnd(p)
	if end <= largePage {
		return locatedRows(p, open, 0, end)
	}
	rows := locatedRows(p, open, 0, shownFirst)
	if p.Letters() == "" {
		return append(rows, sentenceRow(Free, fmt.Sprintf("… and %d more bytes", end-shownFirst)))
	}
	from := (end - shownLast) / rowBytes * rowBytes
	rows = append(rows, sentenceRow(Free, fmt.Sprintf("… %d bytes, up to 0x%03x …", from-shownFirst, from-1)))
	return append(rows, locatedRows(p, open, from, end)...)
}

func locatedRows(p pageState, open []ringbuf.OpenEvent, from, to int) [][]Cell {
	rows := pageBytes(p, open, from, to)
	page := strconv.Itoa(p.ID) + ":"
	at := from
	for _, row := range rows {
		for i := range row[1 : len(row)-1] {
			row[i+1].At = page + strconv.Itoa(at)
			at++
		}
	}
	return rows
}

// pageEnd is how far a page is drawn: as far as it is written.
func pageEnd(p pageState) int {
	return min(len(p.Bytes), ringbuf.PageHeaderSize+max(p.Write, p.Committed))
}

// bytesAbout says of the bytes of a page from first up to last what they are.
func bytesAbout(p pageState, open []ringbuf.OpenEvent, first, last int) []Cell {
	about := make([]Cell, last-first)
	for i := range about {
		about[i] = Cell{Class: Free, About: "not written"}
	}
	fill := func(from, to int, class Class, ref, what string) {
		for i := max(from, first); i < min(to, last); i++ {
			about[i-first].Class, about[i-first].Ref, about[i-first].About = class, ref, what
		}
	}
	const header = ringbuf.PageHeaderSize
	fill(0, 8, Header, "", fmt.Sprintf("time stamp of the page: %d", p.Time))
	fill(8, header, Header, "", fmt.Sprintf("commit: %d bytes can be read", p.Committed))
	fill(header+p.Committed, header+p.Write, Open, "", "reserved, not readable yet")
	for i, o := range open {
		if o.Page == p.ID {
			ref := openRef(o)
			end := header + p.Write
			if i+1 < len(open) && open[i+1].Page == p.ID {
				end = header + open[i+1].Offset
			}
			fill(header+o.Offset, end, Open, ref, fmt.Sprintf("reserved, not readable yet, by event %d of those that are being written", i+1))
		}
	}
	for _, e := range p.Events {
		if e.Offset >= last || e.Offset+e.Size <= first {
			continue
		}
		ref := fmt.Sprintf("page-%d-%d", p.ID, e.Offset)
		fill(e.Offset, e.Offset+4, Header, ref, "header of an event: "+e.String())
		fill(e.Offset+4, e.Offset+e.Size, Data, ref, e.String())
	}
	return about
}

// ranges is a row for each run of bytes that are the same thing.
func ranges(about []Cell) [][]Cell {
	var rows [][]Cell
	for from := 0; from < len(about); {
		to := from + 1
		for to < len(about) && about[to] == about[from] {
			to++
		}
		c := about[from]
		rows = append(rows, []Cell{
			{Text: fmt.Sprintf("0x%03x-0x%03x", from, to-1), Class: Label, Ref: c.Ref},
			{Text: fmt.Sprint(to - from), Ref: c.Ref, About: "how many bytes"},
			{Text: c.About, Class: c.Class, Ref: c.Ref},
		})
		from = to
	}
	return rows
}

// rowBytes are how many bytes stand in a row.
const rowBytes = 16

// pageBytes are the rows of a page from first up to last, 16 bytes each; first begins a row.
func pageBytes(p pageState, open []ringbuf.OpenEvent, first, last int) [][]Cell {
	last = min((last+rowBytes-1)/rowBytes*rowBytes, len(p.Bytes))
	about := bytesAbout(p, open, first, last)
	const digits = "0123456789abcdef"
	var rows [][]Cell
	for at := first; at < last; at += rowBytes {
		row := make([]Cell, 0, rowBytes+2)
		row = append(row, Cell{Text: fmt.Sprintf("0x%03x", at), Class: Label})
		var text strings.Builder
		for i := at; i < min(at+rowBytes, last); i++ {
			c, b := about[i-first], p.Bytes[i]
			c.Text = string([]byte{digits[b>>4], digits[b&15]})
			row = append(row, c)
			if b < ' ' || b >= 0x7f || i < ringbuf.PageHeaderSize {
				b = '.'
			}
			text.WriteByte(b)
		}
		rows = append(rows, append(row, Cell{Text: text.String(), Class: Label}))
	}
	return rows
}

// shownHeaders are how many headers of a page of a moment are drawn.
const shownHeaders = 40

// bits are the 5 + 27 bits of each header that can be read.
func (m *Moment) bits() []Section {
	var sections []Section
	for i, p := range m.Ring.Pages {
		if i == shownPages {
			break
		}
		title := fmt.Sprintf("page %d: offset, time, type_len", p.ID)
		if n := len(p.Events) - shownHeaders; n > 0 {
			p.Events = p.Events[n:]
			title += fmt.Sprintf("; the last %d of %d", shownHeaders, n+shownHeaders)
		}
		if rows := pageBits(p); len(rows) > 0 {
			sections = append(sections, Section{Title: title, Rows: rows})
		}
	}
	if sections == nil {
		sections = []Section{{Rows: [][]Cell{sentenceRow(Plain, "No event can be read yet.")}}}
	}
	return sections
}

// pageBits is a row for each header on a page.
func pageBits(p pageState) [][]Cell {
	var rows [][]Cell
	for _, e := range p.Events {
		word := binary.LittleEndian.Uint32(p.Bytes[e.Offset:])
		ref := fmt.Sprintf("page-%d-%d", p.ID, e.Offset)
		rows = append(rows, []Cell{
			{Text: fmt.Sprintf("0x%03x", e.Offset), Class: Label, Ref: ref, About: "offset on the page"},
			{Text: fmt.Sprintf("%027b", word>>5), Class: Data, Ref: ref, About: fmt.Sprintf("27 bits of time since the event before: %d", word>>5)},
			{Text: fmt.Sprintf("%05b", word&31), Class: Header, Ref: ref, About: "5 bits of type_len: " + typeLen(word&31)},
			{Text: fmt.Sprint(word >> 5), Ref: ref, About: "the time as a number"},
			{Text: typeLen(word & 31), Ref: ref, About: "what type_len means"},
			{Text: e.String(), Ref: ref, About: "the event"},
		})
	}
	return rows
}

// BeginsPage reports whether the 16 bytes of head could be the header of a page of that size
// that holds something. The two highest bits of the commit tell of lost events. No text and no
// compressed file has zeros where a commit has them.
func BeginsPage(head []byte, size int) bool {
	const lost = 3 << 30
	time, commit := binary.LittleEndian.Uint64(head), binary.LittleEndian.Uint64(head[8:])
	return time > 0 && time < 1<<63 && commit&^lost > 0 && commit&^lost <= uint64(size-ringbuf.PageHeaderSize)
}

// PagePicture draws the image of a page that somebody has read: its bytes, and what the
// header of each event says. A damaged page is drawn up to the damage, which the picture
// then names.
func PagePicture(title string, image []byte) Picture {
	p := pageState{Bytes: image}
	r, err := ringbuf.ReadPageImage(image)
	if err != nil {
		p.Committed = max(0, len(image)-ringbuf.PageHeaderSize)
	} else {
		p.Time, p.Committed = r.Time(), r.Commit()
		for e, ok := r.Next(); ok; e, ok = r.Next() {
			p.Events = append(p.Events, e)
		}
		err = r.Err()
	}
	p.Write = p.Committed
	about := bytesAbout(p, nil, 0, len(p.Bytes))
	if r == nil && len(image) >= ringbuf.PageHeaderSize {
		for i := range 8 {
			about[i].About = fmt.Sprintf("time stamp of the page: %d", binary.LittleEndian.Uint64(image))
			about[8+i].About = fmt.Sprintf("commit, which cannot be right: %#x", binary.LittleEndian.Uint64(image[8:]))
		}
	}
	if r != nil {
		if missed, n, known := r.Missed(); missed {
			told := "events were lost before this page"
			if known {
				told = fmt.Sprintf("%d %s", n, told)
				for i := ringbuf.PageHeaderSize + p.Committed; i < min(ringbuf.PageHeaderSize+p.Committed+8, len(about)); i++ {
					about[i].About, about[i].Class = "the number of lost events", Mark
				}
			}
			for i := 8; i < min(ringbuf.PageHeaderSize, len(about)); i++ {
				about[i].About += "; the highest bits say that " + told
			}
		}
	}
	pic := Picture{Title: title}
	if err != nil {
		pic.Sections = append(pic.Sections, Section{Rows: [][]Cell{sentenceRow(Mark, err.Error())}})
	}
	pic.Sections = append(pic.Sections, Section{Title: "bytes", Rows: pageBytes(p, nil, 0, pageEnd(p))})
	pic.Sections = append(pic.Sections, Section{Title: "what each byte is", Rows: ranges(about)})
	if rows := pageBits(p); len(rows) > 0 {
		pic.Sections = append(pic.Sections, Section{Title: "offset, time, type_len", Rows: rows})
	}
	return pic
}

// typeLen says what the lowest 5 bits of an event's header mean.
func typeLen(n uint32) string {
	switch {
	case n == 0:
		return "0: the next word is the length"
	case n <= 28:
		return fmt.Sprintf("%d: %d bytes of data", n, 4*n)
	case n == 29:
		return "29: padding"
	case n == 30:
		return "30: time extend"
	}
	return "31: time stamp"
}

func (m *Moment) counters() []Section {
	row := func(name string, v uint64, about string) []Cell {
		return []Cell{{Text: name, Class: Label, About: about}, {Text: fmt.Sprint(v), About: about}}
	}
	stamps, class := "the two stamps are equal: the time of the last event is known", Data
	if m.Ring.BeforeStamp != m.Ring.WriteStamp {
		class = Open
		stamps = "the two stamps differ: somebody is between B and D"
	}
	read := [][]Cell{}
	for _, s := range m.Read {
		read = append(read, sentenceRow(Data, s))
	}
	sections := []Section{
		{Title: "per_cpu/cpu0/stats", Rows: [][]Cell{
			row("entries", m.Ring.Stats.Entries, "events that can still be read"),
			row("overrun", m.Ring.Stats.Overrun, "events that were overwritten"),
			row("commit overrun", m.Ring.Stats.CommitOverrun, "events refused because unfinished ones filled the ring"),
			row("dropped events", m.Ring.Stats.Dropped, "events refused because overwriting is off"),
			row("read events", m.Ring.Stats.Read, "events that the reader took"),
		}},
		{Title: "the writer", Rows: [][]Cell{
			row("before_stamp", m.Ring.BeforeStamp, "the time of the last attempt to write"),
			row("write_stamp", m.Ring.WriteStamp, "the time of the last event"),
			row("open events", uint64(len(m.Ring.Open)), "reserved, and not finished"),
		}},
		{Rows: [][]Cell{sentenceRow(class, stamps)}},
	}
	if len(read) > 0 {
		sections = append(sections, Section{Title: "what the reader has got", Rows: read})
	}
	return sections
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// wordClass is how a word of the shadow stack is drawn: where a return goes, what leads to
// the frame below, or anything else.
func wordClass(about string) Class {
	switch {
	case strings.HasPrefix(about, "return address"):
		return Data
	case strings.HasPrefix(about, "bitmap"), strings.HasPrefix(about, "data word"):
		return Header
	}
	return Free
}

// shownWords are how many words of a shadow stack are drawn.
const shownWords = 48

// words are those of the shadow stack, the newest first.
func (m *Moment) words() []Section {
	s := m.Shadow
	var rows [][]Cell
	for i := len(s.Words) - 1; i >= max(0, len(s.Words)-shownWords); i-- {
		rows = append(rows, []Cell{
			{Text: fmt.Sprint(i), Class: Label},
			{Text: fmt.Sprintf("0x%016x", s.Words[i]), Class: wordClass(s.About[i]), About: s.About[i]},
			{Text: s.About[i], About: s.About[i]},
		})
	}
	if n := len(s.Words) - shownWords; n > 0 {
		rows = append(rows, sentenceRow(Label, fmt.Sprintf("%d more words below", n)))
	}
	if len(rows) == 0 {
		rows = append(rows, sentenceRow(Free, "empty"))
	}
	calls := strings.Join(s.Calls, " > ")
	if n := len(s.Calls); n > 6 {
		calls = strings.Join(s.Calls[:3], " > ") + fmt.Sprintf(" > … %d more … > ", n-4) + s.Calls[n-1]
	}
	return []Section{
		{Title: fmt.Sprintf("%s, %s, %s not traced", counted(len(s.Words), "word"), counted(s.Depth, "frame"), counted(int(s.Overrun), "call")), Rows: rows},
		{Title: "calls that have not returned", Rows: [][]Cell{sentenceRow(Mark, calls)}},
	}
}
