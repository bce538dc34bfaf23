package timeline

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"ftracelab/budget"
	"ftracelab/capture"
	"ftracelab/tracer/event"
	"ftracelab/tracer/output/tracecmd"
	"ftracelab/tracer/record"
	"ftracelab/tracer/tracedat"
)

// MaxEvents is how many events a Timeline keeps; the later ones of a longer file are left
// out, and a note says so.
const MaxEvents = 4_000_000

// Timeline is a file that was read. Its methods may be called by one goroutine at a time.
type Timeline struct {
	times  []uint64
	cpus   []uint16
	pids   []int32
	kinds  []uint16 // index into types
	starts []uint32 // where the record begins in data; one more than there are events
	data   []byte
	gaps   map[int]int64 // before which events others were lost on their CPU, and how many; -1: not known

	types   []*event.Type
	file    *tracedat.File
	buffer  int // whose events these are
	printer *tracecmd.Printer
	notes   []string
}

// Info is what there is to choose from.
type Info struct {
	Events int `json:"events"`
	// Buffers are those of the file, in its order; Buffer is the one whose events these are.
	Buffers []Buffer `json:"buffers"`
	Buffer  int      `json:"buffer"`
	// Clock is the trace_clock of the buffer; "" if the file does not say it.
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

// Open reads the trace.dat at path: the first of its buffers that has events. Its memory is
// taken from the budget; nil is one of the default size.
//
// An error means that nothing can be shown. Damage behind events that can be read is a note.
func Open(path string, memory *budget.Budget) (*Timeline, error) { return load(path, -1, memory) }

// OpenBuffer is Open for one buffer, which is named by its index in Info.Buffers.
func OpenBuffer(path string, buffer int, memory *budget.Budget) (*Timeline, error) {
	if buffer < 0 {
		return nil, fmt.Errorf("%s: there is no buffer %d", path, buffer)
	}
	return load(path, buffer, memory)
}

// load reads a buffer; -1 is the first one that has events.
func load(path string, buffer int, memory *budget.Budget) (*Timeline, error) {
	memory = budget.OrDefault(memory)
	file, err := tracedat.Open(path, memory)
	if err != nil {
		return nil, err
	}
	t := &Timeline{file: file, gaps: map[int]int64{}}
	if buffer < 0 {
		err = t.readFirst(path, memory)
	} else {
		err = t.readOnly(path, buffer, memory)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	t.printer = tracecmd.New(tracecmd.Config{
		Kallsyms: file.Kallsyms, Printk: file.Printk, Cmdlines: file.Cmdlines,
		Counter: file.CounterClock(), Offset: file.TimeOffset(), LongSize: file.LongSize,
	})
	return t, nil
}

// Close closes the file.
func (t *Timeline) Close() error { return t.file.Close() }

// readFirst reads the first buffer that has events.
func (t *Timeline) readFirst(path string, memory *budget.Budget) error {
	for i := range t.file.Buffers {
		if len(t.file.Buffers[i].CPUs) == 0 {
			continue
		}
		if err := t.read(path, i, memory); err != nil {
			return err
		}
		if len(t.times) > 0 {
			return nil
		}
	}
	return fmt.Errorf("%s: there is no event in it", path)
}

// readOnly reads a buffer that somebody has chosen.
func (t *Timeline) readOnly(path string, buffer int, memory *budget.Budget) error {
	if buffer >= len(t.file.Buffers) {
		return fmt.Errorf("%s: there is no buffer %d", path, buffer)
	}
	if err := t.read(path, buffer, memory); err != nil {
		return err
	}
	if len(t.times) == 0 {
		return fmt.Errorf("%s: there is no event in the buffer %s", path, strconv.Quote(t.file.Buffers[buffer].Name))
	}
	return nil
}

// read reads a buffer. An error behind events becomes a note.
func (t *Timeline) read(path string, buffer int, memory *budget.Budget) error {
	t.buffer = buffer
	c, err := capture.OpenFS(t.file.Folder(&t.file.Buffers[buffer]), ".", capture.Options{Shown: path, StackIDs: true, Memory: memory})
	if err != nil {
		return err
	}
	err = errors.Join(t.records(c, memory), c.Close())
	if err != nil && len(t.times) == 0 {
		return err
	}
	if err != nil {
		t.notes = append(t.notes, err.Error())
	}
	return nil
}

// The memory that an event takes besides its record, with what a growing slice holds more.
const eventCost = 2 * (8 + 2 + 4 + 2 + 4)

// records takes the records of a capture, which come in the order of time.
func (t *Timeline) records(c *capture.Capture, memory *budget.Budget) error {
	types := map[*event.Type]uint16{}
	lost := map[int]int64{} // by CPU: events that were lost since its last one
	var r record.Record
	for {
		switch err := c.Next(&r); {
		case errors.Is(err, io.EOF):
			t.starts = append(t.starts, uint32(len(t.data)))
			return nil
		case err != nil:
			t.starts = append(t.starts, uint32(len(t.data)))
			return err
		}
		if r.Kind == record.Lost {
			const most = 1 << 60 // what a damaged file claims beyond that is no count
			if n := r.Count; n == 0 || n > most || lost[r.CPU] < 0 || lost[r.CPU] > most {
				lost[r.CPU] = -1
			} else {
				lost[r.CPU] += int64(n)
			}
			continue
		}
		if r.Type == nil {
			continue
		}
		if len(t.times) == MaxEvents || len(t.data)+len(r.Data) > 1<<31 {
			t.notes = append(t.notes, fmt.Sprintf("only the first %d events are shown", len(t.times)))
			t.starts = append(t.starts, uint32(len(t.data)))
			return nil
		}
		if err := memory.Take(eventCost+2*int64(len(r.Data)), "the events of the time line"); err != nil {
			t.starts = append(t.starts, uint32(len(t.data)))
			return err
		}
		kind, ok := types[r.Type]
		if !ok {
			kind = uint16(len(t.types))
			types[r.Type], t.types = kind, append(t.types, r.Type)
		}
		if n := lost[r.CPU]; n != 0 {
			t.gaps[len(t.times)] = n
			lost[r.CPU] = 0
		}
		t.times, t.cpus, t.kinds = append(t.times, r.Time), append(t.cpus, uint16(r.CPU)), append(t.kinds, kind)
		t.pids = append(t.pids, event.ParseCommon(r.Data).PID)
		t.starts, t.data = append(t.starts, uint32(len(t.data))), append(t.data, r.Data...)
	}
}

// entry is an event as the printer takes it.
func (t *Timeline) entry(i int) tracecmd.Entry {
	return tracecmd.Entry{CPU: int(t.cpus[i]), Time: t.times[i], Type: t.types[t.kinds[i]], Data: t.data[t.starts[i]:t.starts[i+1]]}
}

// Info counts what there is.
func (t *Timeline) Info() Info {
	in := Info{
		Events: len(t.times), Counter: t.file.CounterClock(), First: t.times[0], Last: t.times[len(t.times)-1], Notes: t.notes,
		Buffer: t.buffer, Begin: strconv.FormatUint(t.times[0]+uint64(t.file.TimeOffset()), 10),
	}
	for i := range t.file.Buffers {
		b := &t.file.Buffers[i]
		in.Buffers = append(in.Buffers, Buffer{b.Name, len(b.CPUs) == 0})
	}
	in.Clock = t.file.Buffers[t.buffer].Clock
	if in.Notes == nil {
		in.Notes = []string{}
	}
	in.Lost = slices.Sorted(maps.Keys(t.gaps))
	in.Lost = append([]int{}, in.Lost[:min(len(in.Lost), MaxRows)]...)
	if n := len(t.gaps); n > 0 {
		in.Notes = append(in.Notes[:len(in.Notes):len(in.Notes)], fmt.Sprintf("events were lost in %d places", n))
	}
	for _, e := range t.types {
		in.Kinds = append(in.Kinds, EventKind{Name: e.String()})
	}
	cpus, tasks := map[uint16]bool{}, map[int32]int{}
	for i := range t.times {
		cpus[t.cpus[i]] = true
		tasks[t.pids[i]]++
		in.Kinds[t.kinds[i]].Events++
	}
	for cpu := range cpus {
		in.CPUs = append(in.CPUs, int(cpu))
	}
	slices.Sort(in.CPUs)
	for pid, n := range tasks {
		in.Tasks = append(in.Tasks, Task{pid, t.printer.Comm(pid), n})
	}
	slices.SortFunc(in.Tasks, func(a, b Task) int { return cmp.Or(b.Events-a.Events, int(a.PID)-int(b.PID)) })
	return in
}
