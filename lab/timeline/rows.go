package timeline

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"ftracelab/tracer/output/tracecmd"
)

// A Row is an event in words.
type Row struct {
	Index  int    `json:"index"`
	Time   uint64 `json:"time"`
	Buffer string `json:"buffer"` // the name of the instance; "" is the top buffer
	CPU    int    `json:"cpu"`
	Task   string `json:"task"`
	PID    int32  `json:"pid"`
	Event  string `json:"event"`
	Info   string `json:"info"`
	Lost   int64  `json:"lost,omitempty"` // events of this CPU that are missing before it; -1: not known how many
}

// MaxRows is how many rows can be had at once.
const MaxRows = 1000

// Rows are the events from an index on, at most n and at most MaxRows of them.
func (t *Timeline) Rows(from, n int) ([]Row, error) {
	rows := []Row{}
	for i := max(from, 0); i < min(from+min(n, MaxRows), t.n); i++ {
		info, err := t.info(i)
		if err != nil {
			return nil, err
		}
		e := t.event(i)
		rows = append(rows, Row{
			Index: i, Time: e.time, Buffer: t.file.Buffers[e.buffer].Name, CPU: int(e.cpu), PID: e.pid, Task: t.printer.Comm(e.pid),
			Event: t.types[e.kind].Name, Info: info, Lost: t.gaps[i],
		})
	}
	return rows, nil
}

// info is what stands behind the name of an event.
func (t *Timeline) info(i int) (string, error) {
	text, err := t.printer.Info(&following{t: t, next: i, of: t.event(i)})
	return strings.TrimSpace(text), err
}

// following gives an event and those that follow on its CPU and in its buffer, as the text
// of a function that calls no other depends on the next one.
type following struct {
	t    *Timeline
	next int
	of   *stored
}

// soon is how far the next event of a CPU is looked for.
const soon = 4096

func (f *following) Next(to *tracecmd.Entry) error {
	for end := min(f.next+soon, f.t.n); f.next < end; f.next++ {
		if e := f.t.event(f.next); e.cpu == f.of.cpu && e.buffer == f.of.buffer {
			*to = f.t.entry(f.next)
			f.next++
			return nil
		}
	}
	return io.EOF
}

// Find looks for the next event that a filter keeps, from an index on or backwards from it,
// whose row holds a text; capitals do not matter. It returns -1 if there is none.
func (t *Timeline) Find(text string, from int, back bool, f Filter) (int, error) {
	text = strings.ToLower(text)
	step := 1
	if back {
		step = -1
	}
	for i := from; i >= 0 && i < t.n; i += step {
		if ok, err := t.keeps(f, i); !ok || err != nil {
			if err != nil {
				return -1, err
			}
			continue
		}
		if ok, err := t.holds(i, text); ok || err != nil {
			return i, err
		}
	}
	return -1, nil
}

// holds reports whether the row of an event holds a text of small letters.
func (t *Timeline) holds(i int, text string) (bool, error) {
	e := t.event(i)
	head := fmt.Sprintf("%s-%d %s", t.printer.Comm(e.pid), e.pid, t.types[e.kind])
	if strings.Contains(strings.ToLower(head), text) {
		return true, nil
	}
	info, err := t.info(i)
	return strings.Contains(strings.ToLower(info), text), err
}

// A Filter says which events are kept. An empty list or text keeps all.
type Filter struct {
	Buffers []int   `json:"buffers"` // as Info numbers them
	CPUs    []int   `json:"cpus"`
	PIDs    []int32 `json:"pids"`
	Kinds   []int   `json:"kinds"` // as Info numbers them
	Text    string  `json:"text"`
}

// Filter gives the indices of the events that are kept, in their order, among those with an
// index from one on and below another.
func (t *Timeline) Filter(f Filter, from, to int) ([]uint32, error) {
	kept := []uint32{}
	for i := max(from, 0); i < min(to, t.n); i++ {
		switch ok, err := t.keeps(f, i); {
		case err != nil:
			return nil, err
		case ok:
			kept = append(kept, uint32(i))
		}
	}
	return kept, nil
}

// keeps reports whether a filter keeps an event.
func (t *Timeline) keeps(f Filter, i int) (bool, error) {
	e := t.event(i)
	if len(f.CPUs) > 0 && !slices.Contains(f.CPUs, int(e.cpu)) || len(f.PIDs) > 0 && !slices.Contains(f.PIDs, e.pid) ||
		len(f.Kinds) > 0 && !slices.Contains(f.Kinds, int(e.kind)) || len(f.Buffers) > 0 && !slices.Contains(f.Buffers, int(e.buffer)) {
		return false, nil
	}
	if f.Text == "" {
		return true, nil
	}
	return t.holds(i, strings.ToLower(f.Text))
}
