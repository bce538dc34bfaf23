package lab

import (
	"fmt"
	"strings"
)

// shownHappenings are how many rows of a time line are drawn, the newest.
const shownHappenings = 64

// timeline is a row for all that has happened, with a column for each CPU.
func (m *Moment) timeline() []Section {
	rows := [][]Cell{{
		{Text: "time", Class: Label},
		{Text: "cpu 0", Class: Label},
		{Text: "cpu 1", Class: Label},
		{Text: "cookie", Class: Label},
		{Text: "user stack", Class: Label},
	}}
	happened := m.Stay.Happened
	for i := max(0, len(happened)-shownHappenings); i < len(happened); i++ {
		rows = append(rows, happened[i].row())
	}
	sections := []Section{
		{Title: "what has happened, and what is in the trace", Rows: rows},
		{Title: "what the kernel keeps with the task", Rows: [][]Cell{sentenceRow(Plain, strings.TrimSpace(m.Stay.Task))}},
	}
	if m.Stay.Lost > 0 {
		sections = append(sections, Section{Rows: [][]Cell{sentenceRow(Mark, fmt.Sprintf("records of stacks that were lost: %d", m.Stay.Lost))}})
	}
	return sections
}

// lanes are how a happening looks in the column of its CPU.
var lanes = map[HappeningKind]struct {
	class         Class
	before, about string
}{
	InUser:   {Free, "user: ", "the task is in user space"},
	InKernel: {Header, "kernel: ", "the task is in the kernel"},
	AnEvent:  {Data, "  event ", "a record of the trace, with a cookie"},
	InNMI:    {Mark, "  NMI: ", "a record that an NMI has written, with the cookie of the task's stay"},
	AStack:   {Open, "  ", "a record of the trace: the user stack of the stay with this cookie"},
}

func (h Happening) row() []Cell {
	ref := fmt.Sprintf("cookie-%x", uint64(h.Cookie))
	if h.Cookie == 0 {
		ref = ""
	}
	lane := lanes[h.Kind]
	cell := Cell{Text: lane.before + h.What, Class: lane.class, Ref: ref, About: lane.about}
	row := []Cell{{Text: fmt.Sprint(h.Time), Class: Label}, {}, {}}
	row[1+h.CPU] = cell
	if h.Kind == InUser || h.Kind == InKernel {
		return row
	}
	row = append(row, Cell{Text: cookieText(h.Cookie), Ref: ref, About: "the count, and the CPU that made the cookie"})
	switch h.Joined {
	case Waits:
		return append(row, Cell{Text: "waits", Class: Open, Ref: ref, About: "the stack has not come yet"})
	case NoStack:
		return append(row, Cell{Text: "none", Class: Mark, Ref: ref, About: "this event will have no stack"})
	}
	var names []string
	for _, addr := range h.Stack {
		names = append(names, userNames[addr])
	}
	return append(row, Cell{Text: strings.Join(names, " < "), Class: Data, Ref: ref, About: "innermost function first"})
}
