package lab

import (
	"encoding/binary"
	"fmt"
	"slices"

	"ftracelab/tracer/event/hist/tracingmap"
)

// HistState is the table of a histogram of sched_stat_runtime with the key pid.
type HistState struct {
	Slots    []HistSlot // those that are claimed, in the order of their numbers
	Size     int        // slots there are
	Elements int        // keys there may be
	Hits     uint64
	Drops    uint64
	Last     string   // the key of the last event, "" if there was none
	Home     int      // where the search for it began
	Sorted   []string // the lines that a reader has been shown
}

// HistSlot is a slot of the table.
type HistSlot struct {
	Number, Home  int
	Hash          uint32
	Key           string
	Hits, Runtime uint64
}

// Fields of the table: the sums come first.
const (
	histHits = iota
	histRuntime
	histKey
)

// tinyMap makes the smallest table that a histogram can have.
func tinyMap() *tracingmap.Map {
	return tracingmap.New(tracingmap.MinBits, 8, []tracingmap.Field{{}, {}, {Compare: tracingmap.ByNumber(8, false)}}, 0, 0)
}

func pidKey(pid int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(pid)) }

func pidOf(key []byte) uint64 { return binary.LittleEndian.Uint64(key) }

// homeOf is the slot where the search for a key begins.
func homeOf(pid int) int {
	m := tinyMap()
	m.Insert(pidKey(pid))
	for s := range m.Slots() {
		return s.Home
	}
	return 0
}

const insert = "tracing_map_insert"

var (
	sayNewKey = sentence{
		"The key was not in the table. Its hash chose a slot; the first empty one from there on is claimed by a compare-and-swap, and gets an element of the pool. All elements were made when the trigger was written, so that none has to be made in an interrupt.", insert,
	}
	sayNewKeyFar = sentence{
		"The key was not in the table, but the slot that its hash chose belongs to another key. So the next one was tried, and was empty.", insert,
	}
	sayKnownKey = sentence{"The slot has this hash and this key. The sums of its element grow.", insert}
	sayManyKeys = sentence{
		"Each new key has taken an element. There are twice as many slots as elements, so that a search always comes to an end.", insert,
	}
	sayNoElement = sentence{
		"The key is not in the table, and there is no element left. The event is not counted, and the drops grow by one; the file hist shows them at its end. Keys are never removed, not even for newer ones.", insert,
	}
	saySorted = sentence{
		"The table itself is never in order. Whoever reads the file hist gets a copy of its elements that is sorted for this reader, here by hitcount, the largest first. Only ten lines are shown here.", "tracing_map_sort_entries",
	}
	sayCleared = sentence{"Writing the command with :clear empties the table: all keys and sums are gone, and all elements can be used again.", "tracing_map_clear"}
)

// hist counts events in a small histogram until it has no room.
func (p *player) hist() {
	m := tinyMap()
	state := HistState{Size: 2 << m.Bits(), Elements: 1 << m.Bits()}
	p.copy = func(mo *Moment) {
		s := state
		s.Hits, s.Drops, s.Sorted = m.Hits(), m.Drops(), slices.Clone(state.Sorted)
		for slot := range m.Slots() {
			e := slot.Element
			s.Slots = append(s.Slots, HistSlot{
				Number: slot.Number, Home: slot.Home, Hash: slot.Hash, Key: fmt.Sprintf("pid %d", pidOf(e.Key)),
				Hits: e.Sums[histHits], Runtime: e.Sums[histRuntime],
			})
		}
		mo.Hist = &s
	}
	p.values = map[string]func() uint64{
		"hits": m.Hits, "drops": m.Drops,
		"keys": func() uint64 { return uint64(m.Len()) },
	}
	p.begin(fmt.Sprintf("The trigger hist:keys=pid:vals=runtime:sort=hitcount.descending:size=128 was written to the event sched_stat_runtime. Its table is empty: %d elements, and twice as many slots.", state.Elements))
	event := func(pid, runtime int) (made, ok bool) {
		e, made := m.Insert(pidKey(pid))
		state.Last, state.Home = fmt.Sprintf("pid %d", pid), homeOf(pid)
		if e != nil {
			e.AddSum(histHits, 1)
			e.AddSum(histRuntime, uint64(runtime))
		}
		return made, e != nil
	}
	rival := 101
	for homeOf(rival) != homeOf(100) {
		rival++
	}
	for i, pid := range []int{100, 7, 100, rival, 100, rival} {
		made, _ := event(pid, 10*(i+1))
		what := fmt.Sprintf("has run the task %d", pid)
		switch {
		case made && pid == rival:
			p.step("cpu 0", what, Miss, sayNewKeyFar)
		case made:
			p.step("cpu 0", what, Miss, sayNewKey)
		default:
			p.step("cpu 0", what, Hit, sayKnownKey)
		}
	}
	for pid := 1000; m.Len() < state.Elements; pid++ {
		event(pid, 1)
	}
	p.step("cpu 0", "has run many other tasks", Miss, sayManyKeys)
	event(5000, 10)
	p.step("cpu 0", "has run the task 5000", Drop, sayNoElement)
	event(100, 70)
	p.step("cpu 0", "has run the task 100", Hit, sayKnownKey)
	for _, e := range m.Sorted([]tracingmap.SortKey{{Field: histHits, Descending: true}, {Field: histKey}})[:10] {
		state.Sorted = append(state.Sorted, fmt.Sprintf("pid %d: hitcount %d, runtime %d", pidOf(e.Key), e.Sums[histHits], e.Sums[histRuntime]))
	}
	p.step("user", "reads the file hist", 0, saySorted)
	m.Clear()
	state.Last, state.Sorted = "", nil
	p.step("user", "writes the command with :clear", Reset, sayCleared)
}

// table is a row for each claimed slot, or for those near the last key if there are many.
func (m *Moment) table() []Section {
	s := m.Hist
	rows := [][]Cell{{
		{Text: "slot", Class: Label},
		{Text: "home", Class: Label},
		{Text: "hash", Class: Label},
		{Text: "key", Class: Label},
		{Text: "hitcount", Class: Label},
		{Text: "runtime", Class: Label},
	}}
	left := 0
	for _, slot := range s.Slots {
		if len(s.Slots) > shownSlots && slot.Home != s.Home && slot.Key != s.Last && slot.Hits < 2 {
			left++
			continue
		}
		ref, class := fmt.Sprintf("slot-%d", slot.Number), Data
		if slot.Key == s.Last {
			class = Mark
		}
		rows = append(rows, []Cell{
			{Text: fmt.Sprint(slot.Number), Class: Header, Ref: ref, About: "the slot's number"},
			{Text: fmt.Sprint(slot.Home), Ref: ref, About: "the first slot tried for this hash"},
			{Text: fmt.Sprintf("%08x", slot.Hash), Ref: ref, About: "the hash of the key, jhash"},
			{Text: slot.Key, Class: class, Ref: ref, About: "the key"},
			{Text: fmt.Sprint(slot.Hits), Ref: ref, About: "events with this key"},
			{Text: fmt.Sprint(slot.Runtime), Ref: ref, About: "the sum of a field"},
		})
	}
	if left > 0 {
		rows = append(rows, sentenceRow(Label, fmt.Sprintf("%d more slots are claimed, each counted once", left)))
	}
	sections := []Section{{Title: fmt.Sprintf("%d of %d slots are claimed, for at most %d keys; hits %d, drops %d", len(s.Slots), s.Size, s.Elements, s.Hits, s.Drops), Rows: rows}}
	if s.Last != "" {
		sections = append(sections, Section{Title: "the last event", Rows: [][]Cell{sentenceRow(Mark, fmt.Sprintf("%s, home %d", s.Last, s.Home))}})
	}
	if s.Sorted != nil {
		var lines [][]Cell
		for _, line := range s.Sorted {
			lines = append(lines, sentenceRow(Data, line))
		}
		sections = append(sections, Section{Title: "what the reader is shown", Rows: lines})
	}
	return sections
}
