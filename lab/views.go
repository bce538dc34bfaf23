package lab

import (
	"encoding/binary"
	"fmt"
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
			sections = append(sections, Section{Title: fmt.Sprintf("%d more pages", len(m.Ring.Pages)-i)})
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
		sections = append(sections, Section{Title: title, Rows: located(p.ID, pageBytes(p, m.Ring.Open))})
	}
	return sections
}

// located says of each byte where it is, for those who ask who wrote it.
func located(page int, rows [][]Cell) [][]Cell {
	at := 0
	for _, row := range rows {
		for i := range row[1 : len(row)-1] {
			row[i+1].At = fmt.Sprintf("%d:%d", page, at)
			at++
		}
	}
	return rows
}

// bytesAbout says of each byte of a page what it is.
func bytesAbout(p pageState, open []ringbuf.OpenEvent) []Cell {
	about := make([]Cell, len(p.Bytes))
	for i := range about {
		about[i] = Cell{Class: Free, About: "not written"}
	}
	fill := func(from, to int, class Class, ref, what string) {
		for i := max(from, 0); i < min(to, len(about)); i++ {
			about[i].Class, about[i].Ref, about[i].About = class, ref, what
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

// pageBytes are the rows of a page, 16 bytes each, as far as it is written.
func pageBytes(p pageState, open []ringbuf.OpenEvent) [][]Cell {
	about := bytesAbout(p, open)
	const header = ringbuf.PageHeaderSize
	var rows [][]Cell
	end := min(len(p.Bytes), header+max(p.Write, p.Committed))
	for at := 0; at < end; at += 16 {
		row := []Cell{{Text: fmt.Sprintf("0x%03x", at), Class: Label}}
		text := ""
		for i := at; i < min(at+16, len(p.Bytes)); i++ {
			c := about[i]
			b := p.Bytes[i]
			c.Text = fmt.Sprintf("%02x", b)
			row = append(row, c)
			if b >= ' ' && b < 0x7f && i >= header {
				text += string(rune(b))
			} else {
				text += "."
			}
		}
		rows = append(rows, append(row, Cell{Text: text, Class: Label}))
	}
	return rows
}

// bits are the 5 + 27 bits of each header that can be read.
func (m *Moment) bits() []Section {
	var sections []Section
	for i, p := range m.Ring.Pages {
		if i == shownPages {
			break
		}
		if rows := pageBits(p); len(rows) > 0 {
			sections = append(sections, Section{Title: fmt.Sprintf("page %d: offset, time, type_len", p.ID), Rows: rows})
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
	about := bytesAbout(p, nil)
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
	pic.Sections = append(pic.Sections, Section{Title: "bytes", Rows: pageBytes(p, nil)})
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
	stamps := "the two stamps are equal: the time of the last event is known"
	if m.Ring.BeforeStamp != m.Ring.WriteStamp {
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
		{Rows: [][]Cell{sentenceRow(Mark, stamps)}},
	}
	if len(read) > 0 {
		sections = append(sections, Section{Title: "what the reader has got", Rows: read})
	}
	return sections
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
			{Text: fmt.Sprintf("0x%016x", s.Words[i]), Class: Data},
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
		{Title: fmt.Sprintf("%d words, %d frames, %d calls not traced", len(s.Words), s.Depth, s.Overrun), Rows: rows},
		{Title: "calls that have not returned", Rows: [][]Cell{sentenceRow(Mark, calls)}},
	}
}
