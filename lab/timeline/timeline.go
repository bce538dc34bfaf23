package timeline

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"ftracelab/budget"
	"ftracelab/capture"
	"ftracelab/tracer/event"
	"ftracelab/tracer/output/tracecmd"
	"ftracelab/tracer/tracedat"
)

// MaxEvents is how many events a Timeline keeps; the later ones of a longer file are left
// out, and a note says so.
const MaxEvents = 4_000_000

// All is the buffer of Begin that stands for all of them together.
const All = -1

// Timeline is a file that was read, or of which a part was read. Its methods may be called
// by one goroutine at a time.
type Timeline struct {
	store
	gaps  map[int]int64 // before which events others were lost on their CPU, and how many; -1: not known
	tally tally

	types   []*event.Type
	known   map[*event.Type]uint16 // index into types
	named   map[string]uint16      // the same by name: each buffer has types of its own
	file    *tracedat.File
	path    string
	memory  *budget.Budget
	buffer  int       // whose events these are, or All
	sources []*source // the buffers
	begun   bool      // the first event of each source was read
	done    bool      // there are no more events
	failed  error     // the first damage
	printer *tracecmd.Printer
	notes   []string
}

// Info is what there is to choose from, as far as the file was read.
type Info struct {
	Events int  `json:"events"`
	Done   bool `json:"done"` // these are all
	// Buffers are those of the file, in its order; Buffer is the one whose events these are, or All.
	Buffers []Buffer `json:"buffers"`
	Buffer  int      `json:"buffer"`
	// Clock is the trace_clock of the buffers that are shown; "" if the file does not say it.
	Clock string `json:"clock"`
	// Begin is the time of the first event with what the file adds to all times, which
	// trace-cmd report prints: as text, since the numbers of a page are not exact enough.
	Begin string `json:"begin"`
	// Counter says that the clock counts something other than ns.
	Counter bool        `json:"counter"`
	First   uint64      `json:"first"` // time of the first event, in ns unless the clock counts something else
	Last    uint64      `json:"last"`
	CPUs    []int       `json:"cpus"`  // those that have events
	Tasks   []Task      `json:"tasks"` // the one with most events first
	Kinds   []EventKind `json:"kinds"` // in the order of the numbers in the columns
	Lost    []int       `json:"lost"`  // the events before which others were lost on their CPU, at most MaxRows of them
	Notes   []string    `json:"notes"` // what a reader has to know
}

// A Buffer is the top buffer or that of an instance.
type Buffer struct {
	Name string `json:"name"` // of the instance; "" is the top buffer
	// Empty means that the file has no pages of it.
	Empty bool `json:"empty"`
	// Shown means that its events are among these.
	Shown  bool `json:"shown"`
	Events int  `json:"events"` // so many of them
}

// A Task is one that events belong to.
type Task struct {
	PID    int32  `json:"pid"`
	Comm   string `json:"comm"`
	Events int    `json:"events"`
}

// An EventKind is a type of event that occurs.
type EventKind struct {
	Name   string `json:"name"` // SYSTEM/NAME
	Events int    `json:"events"`
}

// Open reads the trace.dat at path: all of its buffers together. Its memory is
// taken from the budget; nil is one of the default size.
//
// An error means that nothing can be shown. Damage behind events that can be read is a note.
func Open(path string, memory *budget.Budget) (*Timeline, error) { return whole(path, All, memory) }

// OpenBuffer is Open for one buffer, which is named by its index in Info.Buffers.
func OpenBuffer(path string, buffer int, memory *budget.Budget) (*Timeline, error) {
	if buffer < 0 {
		return nil, fmt.Errorf("%s: there is no buffer %d", path, buffer)
	}
	return whole(path, buffer, memory)
}

func whole(path string, buffer int, memory *budget.Budget) (*Timeline, error) {
	t, err := Begin(path, buffer, memory)
	for done := false; err == nil && !done; {
		if done, err = t.More(MaxEvents); err != nil {
			err = errors.Join(err, t.Close())
		}
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Begin is Open, or with a buffer other than All OpenBuffer, without reading any event:
// [Timeline.More] does that.
func Begin(path string, buffer int, memory *budget.Budget) (_ *Timeline, err error) {
	memory = budget.OrDefault(memory)
	file, err := tracedat.Open(path, memory)
	if err != nil {
		return nil, err
	}
	t := &Timeline{
		file: file, path: path, memory: memory, buffer: buffer, gaps: map[int]int64{}, tally: newTally(len(file.Buffers)),
		known: map[*event.Type]uint16{}, named: map[string]uint16{},
	}
	buffers, notes := []int{buffer}, []string(nil)
	switch {
	case buffer == All:
		buffers, notes = together(file)
	case buffer < 0 || buffer >= len(file.Buffers):
		return nil, errors.Join(fmt.Errorf("%s: there is no buffer %d", path, buffer), file.Close())
	}
	t.notes = notes
	cache := new(capture.Cache)
	for _, i := range buffers {
		in, err := capture.OpenFS(file.Folder(&file.Buffers[i]), ".", capture.Options{Shown: path, StackIDs: true, Memory: memory, Cache: cache})
		if err != nil {
			t.fault(i, err)
			continue
		}
		t.sources = append(t.sources, &source{buffer: i, in: in, lost: map[int]int64{}})
	}
	t.printer = tracecmd.New(tracecmd.Config{
		Kallsyms: file.Kallsyms, Printk: file.Printk, Cmdlines: file.Cmdlines,
		Counter: file.CounterClock(), Offset: file.TimeOffset(), LongSize: file.LongSize,
	})
	return t, nil
}

// Close closes the file.
func (t *Timeline) Close() error {
	var errs []error
	for _, s := range t.sources {
		if !s.done {
			errs = append(errs, s.in.Close())
		}
	}
	return errors.Join(append(errs, t.file.Close())...)
}

// fault makes an error of a buffer a note.
func (t *Timeline) fault(buffer int, err error) {
	note := err.Error()
	if t.buffer == All && len(t.file.Buffers) > 1 {
		note = called(&t.file.Buffers[buffer]) + ": " + note
	}
	t.notes = append(t.notes, note)
	if t.failed == nil {
		t.failed = err
	}
}

// More reads up to n events more, those of all buffers in the order of time. It reports
// whether there are no others. An error means that there is no event at all.
func (t *Timeline) More(n int) (done bool, err error) {
	if !t.begun {
		t.begun = true
		for _, s := range t.sources {
			t.advance(s)
		}
	}
	for ; n > 0 && !t.done; n-- {
		s := t.earliest()
		if s == nil {
			t.done = true
			break
		}
		t.take(s)
	}
	if !t.done && t.earliest() == nil {
		t.done = true
	}
	switch {
	case t.n > 0 || !t.done:
		return t.done, nil
	case t.failed != nil:
		return true, t.failed
	case t.buffer != All:
		return true, fmt.Errorf("%s: there is no event in the buffer %s", t.path, strconv.Quote(t.file.Buffers[t.buffer].Name))
	}
	return true, fmt.Errorf("%s: there is no event in it", t.path)
}

func (t *Timeline) advance(s *source) {
	if err := s.advance(); err != nil {
		t.fault(s.buffer, err)
	}
}

// earliest is the buffer with the earliest event; of two at the same time, the first one.
func (t *Timeline) earliest() *source {
	var first *source
	for _, s := range t.sources {
		if !s.done && (first == nil || s.next.Time < first.next.Time) {
			first = s
		}
	}
	return first
}

// take keeps the event of a buffer, and goes to its next one. Where there is no room for
// more events, a note says so, and these are all.
func (t *Timeline) take(s *source) {
	r := &s.next
	if t.n == MaxEvents || len(t.chunks) == 1<<(32-chunkShift) {
		t.notes = append(t.notes, fmt.Sprintf("only the first %d events are shown", t.n))
		t.done = true
		return
	}
	if err := t.add(stored{time: r.Time, pid: r.Common.PID, cpu: uint16(r.CPU), kind: t.kind(r.Type), buffer: uint16(s.buffer)}, r.Data, t.memory); err != nil {
		t.fault(s.buffer, err)
		t.done = true
		return
	}
	t.tally.count(t.event(t.n - 1))
	if len(s.lost) > 0 {
		if lost, ok := s.lost[r.CPU]; ok {
			t.gaps[t.n-1] = lost
			delete(s.lost, r.CPU)
		}
	}
	t.advance(s)
}

// kind is the number of a type.
func (t *Timeline) kind(e *event.Type) uint16 {
	kind, ok := t.known[e]
	if !ok {
		name := e.String()
		if kind, ok = t.named[name]; !ok {
			kind = uint16(len(t.types))
			t.named[name], t.types, t.tally.kinds = kind, append(t.types, e), append(t.tally.kinds, 0)
		}
		t.known[e] = kind
	}
	return kind
}

// entry is an event as the printer takes it.
func (t *Timeline) entry(i int) tracecmd.Entry {
	e := t.event(i)
	return tracecmd.Entry{CPU: int(e.cpu), Time: e.time, Type: t.types[e.kind], Data: t.bytes(e)}
}

// Info counts what there is; some event must have been read.
func (t *Timeline) Info() Info {
	first := t.event(0).time
	in := Info{
		Events: t.n, Done: t.done, Counter: t.file.CounterClock(), First: first, Last: t.event(t.n - 1).time, Notes: t.notes,
		Buffer: t.buffer, Begin: strconv.FormatUint(first+uint64(t.file.TimeOffset()), 10), Tasks: t.tally.pids(),
	}
	for i := range t.file.Buffers {
		b := &t.file.Buffers[i]
		in.Buffers = append(in.Buffers, Buffer{Name: b.Name, Empty: len(b.CPUs) == 0, Events: t.tally.buffers[i]})
	}
	for _, s := range t.sources {
		in.Buffers[s.buffer].Shown = true
		in.Clock = cmp.Or(in.Clock, t.file.Buffers[s.buffer].Clock)
	}
	if in.Notes == nil {
		in.Notes = []string{}
	}
	in.Lost = slices.Sorted(maps.Keys(t.gaps))
	in.Lost = append([]int{}, in.Lost[:min(len(in.Lost), MaxRows)]...)
	if n := len(t.gaps); n > 0 {
		in.Notes = append(in.Notes[:len(in.Notes):len(in.Notes)], fmt.Sprintf("events were lost in %d places", n))
	}
	for i, e := range t.types {
		in.Kinds = append(in.Kinds, EventKind{e.String(), t.tally.kinds[i]})
	}
	for _, cpu := range slices.Sorted(maps.Keys(t.tally.cpus)) {
		in.CPUs = append(in.CPUs, int(cpu))
	}
	for i := range in.Tasks {
		in.Tasks[i].Comm = t.printer.Comm(in.Tasks[i].PID)
	}
	return in
}
