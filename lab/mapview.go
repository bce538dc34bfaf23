package lab

import (
	"fmt"
	"slices"
	"strings"

	"ftracelab/stackmap"
)

// shownSlots are how many claimed slots are drawn when there are more.
const shownSlots = 24

// slots are the claimed slots of the map, and the empty ones that a look-up has passed.
func (m *Moment) slots() []Section {
	s := m.Map
	labels := func(names ...string) (row []Cell) {
		for _, name := range names {
			row = append(row, Cell{Text: name, Class: Label})
		}
		return row
	}
	rows := [][]Cell{labels("id", "home", "tried", "key", "count", "stack")}
	shown := s.shown()
	duplicate := s.duplicates()
	for _, slot := range shown {
		rows = append(rows, s.row(slot, duplicate))
	}
	if n := len(s.Slots) - claimed(shown); n > 0 {
		rows = append(rows, sentenceRow(Label, fmt.Sprintf("%d more slots are claimed, with other homes", n)))
	}
	sections := []Section{{Title: fmt.Sprintf("%d of %d slots are claimed; %d are tried for a stack", len(s.Slots), s.Size, s.Probes), Rows: rows}}
	if s.Last != nil {
		sections = append(sections, Section{Title: "the stack that was asked for", Rows: [][]Cell{sentenceRow(Mark, s.text(s.Last))}})
	}
	if s.Askers != nil {
		rows := [][]Cell{labels("cpu", "turn", "slot", "will do", "for the stack")}
		for _, a := range s.Askers {
			ref, turn := fmt.Sprintf("slot-%d", a.Slot), ""
			class := Plain
			if a.Turn && a.Stack != nil {
				turn, class = "next", Mark
			}
			slot := fmt.Sprint(a.Slot)
			if a.Stack == nil {
				ref, slot = "", ""
			}
			rows = append(rows, []Cell{
				{Text: fmt.Sprint(a.CPU), Class: Header, Ref: ref, About: "the CPU"},
				{Text: turn, Class: class, Ref: ref, About: "the CPU that makes the next step"},
				{Text: slot, Ref: ref, About: "the slot that it is at"},
				{Text: a.Next, Class: Open, Ref: ref, About: "its next atomic operation"},
				{Text: s.text(a.Stack), Ref: ref, About: "innermost function first"},
			})
		}
		sections = append(sections, Section{Title: "the look-ups", Rows: rows})
	}
	return sections
}

func claimed(slots []stackmap.Slot) (n int) {
	for _, s := range slots {
		if s.Key != 0 {
			n++
		}
	}
	return n
}

// shown are the slots to draw, in the order of their numbers. Those that a look-up has
// passed are among them, empty ones with the key 0; of many others only some.
func (s *MapState) shown() []stackmap.Slot {
	path := slices.Clone(s.Path)
	for _, a := range s.Askers {
		if a.Stack != nil {
			path = append(path, a.Slot)
		}
	}
	var shown []stackmap.Slot
	for _, slot := range s.Slots {
		if i := slices.Index(path, slot.ID); i >= 0 || slot.IPs == nil || len(s.Slots) <= shownSlots {
			shown = append(shown, slot)
		}
	}
	for _, id := range path {
		if !slices.ContainsFunc(shown, func(slot stackmap.Slot) bool { return slot.ID == id }) {
			shown = append(shown, stackmap.Slot{ID: id})
		}
	}
	slices.SortFunc(shown, func(a, b stackmap.Slot) int { return int(a.ID) - int(b.ID) })
	return shown
}

func (s *MapState) row(slot stackmap.Slot, duplicate map[uint32]uint32) []Cell {
	ref := fmt.Sprintf("slot-%d", slot.ID)
	class, stack := Data, s.text(slot.IPs)
	var notes []string
	if i := slices.Index(s.Path, slot.ID); i >= 0 {
		notes = append(notes, fmt.Sprintf("looked at as number %d", i+1))
	}
	for _, a := range s.Askers {
		if a.Stack != nil && a.Slot == slot.ID {
			notes = append(notes, fmt.Sprintf("cpu %d is here", a.CPU))
		}
	}
	number := Cell{Text: fmt.Sprint(slot.ID), Class: Header, Ref: ref, About: "the slot's number, which is the stack's id"}
	if slot.Key == 0 {
		row := []Cell{number, {}, {}, {}, {}, {Text: "empty", Class: Free, Ref: ref, About: "nobody has claimed this slot"}}
		return append(row, Cell{Text: strings.Join(notes, "; "), Class: Mark, Ref: ref, About: "who has been here"})
	}
	if slot.IPs == nil {
		class, stack = Open, "a gravestone: claimed, and without a stack"
		if s.inserting(slot.ID) {
			stack = "claimed; its stack is about to come"
		}
	}
	if of, ok := duplicate[slot.ID]; ok {
		notes = append(notes, fmt.Sprintf("the same stack as in %d", of))
	}
	tried := (int(slot.ID)-int(slot.Home)+s.Size)%s.Size + 1
	row := []Cell{
		number,
		{Text: fmt.Sprint(slot.Home), Ref: ref, About: "the first slot tried for this hash"},
		{Text: fmt.Sprint(tried), Ref: ref, About: "how many slots were tried"},
		{Text: fmt.Sprintf("%08x", slot.Key), Ref: ref, About: "the hash"},
		{Text: fmt.Sprint(slot.Ref), Ref: ref, About: "events of this stack"},
		{Text: stack, Class: class, Ref: ref, About: "innermost function first"},
	}
	if notes != nil {
		row = append(row, Cell{Text: strings.Join(notes, "; "), Class: Mark, Ref: ref, About: "what to look at"})
	}
	return row
}

// inserting reports whether a CPU has claimed the slot and goes on.
func (s *MapState) inserting(id uint32) bool {
	return slices.ContainsFunc(s.Askers, func(a Asker) bool {
		return a.Slot == id && (a.Next == nextOf[stackmap.OpElement] || a.Next == nextOf[stackmap.OpPublish])
	})
}
