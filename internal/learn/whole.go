package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ftracelab/machine"
)

// wholeness says how much happens in the stays of a kernel's tasks: how many functions run,
// and which events happen.
type wholeness struct {
	stays   map[string]*stayCount // by the reason: "sys NR" or "fault"
	entries int                   // system calls and page faults, where events were recorded
	events  map[string]int
}

type stayCount struct{ stays, functions int }

func (c *stayCount) mean() float64 { return float64(c.functions) / float64(max(c.stays, 1)) }

func newWholeness() *wholeness {
	return &wholeness{stays: map[string]*stayCount{}, events: map[string]int{}}
}

// addGraph counts the functions of a trace of the graph tracer. What runs in interrupts is not
// part of a stay. Stays that were cut off by the end of the trace are left out, and so are
// those that begin before the time from.
func (w *wholeness) addGraph(records []record, ids map[string]int, ks *machine.Kallsyms, from uint64) {
	l := &learner{cs: &callers{ks: ks}, ev: newEventTypes(ids)}
	streams := map[int]*stream{}
	var order []int
	switched := map[int]*record{}
	comms := commsOf(records, l.ev)
	for i := range records {
		r := &records[i]
		if r.pid == 0 {
			continue
		}
		s := streams[r.pid]
		if s == nil {
			s = &stream{ev: l.ev, cs: l.cs, comm: comms[r.pid], kthread: isKthread(comms[r.pid]) || isServant(comms[r.pid])}
			streams[r.pid], order = s, append(order, r.pid)
		}
		if !s.kthread {
			s.add(r, switched[r.cpu])
		}
		if l.ev.byID[r.typ] == machine.EvSchedSwitch {
			switched[r.cpu] = r
		}
	}
	for _, pid := range order {
		for _, g := range streams[pid].done {
			if g.start < from || g.key != "fault" && !strings.HasPrefix(g.key, "sys ") {
				continue
			}
			c := w.stays[g.key]
			if c == nil {
				c = new(stayCount)
				w.stays[g.key] = c
			}
			c.stays++
			for _, it := range g.items {
				if it.kind == enter {
					c.functions++
				}
			}
		}
	}
}

// addEvents counts events.
func (w *wholeness) addEvents(records []record, ids map[string]int, from uint64) {
	names := map[int]string{}
	for name, id := range ids {
		names[id] = name
	}
	for i := range records {
		if r := &records[i]; r.time >= from {
			name := names[r.typ]
			w.events[name]++
			if name == "raw_syscalls/sys_enter" || name == "exceptions/page_fault_user" {
				w.entries++
			}
		}
	}
}

// per1000 is how often an event happens in as many stays.
func (w *wholeness) per1000(event string) float64 {
	return 1000 * float64(w.events[event]) / float64(max(w.entries, 1))
}

// The systems whose events are compared: those that the machine models, and that happen in
// system calls and page faults of all kinds.
var wholeSystems = []string{"kmem", "exceptions", "sched", "task", "signal", "timer", "irq", "workqueue", "raw_syscalls"}

// wholeFrom and wholeUntil are the part of the run of mix in which stays are counted.
const (
	wholeFrom  = 2 * machine.Second
	wholeUntil = 6 * machine.Second
)

// realWholeness counts in captures: functions in those from which the model was learned, and
// events in those of all events.
func realWholeness(oracleDir string) (*wholeness, error) {
	w := newWholeness()
	ks, err := machine.LoadKallsyms()
	if err != nil {
		return nil, err
	}
	o := oracle(filepath.Join(oracleDir, "debian"))
	ids, err := eventIDs(o)
	if err != nil {
		return nil, err
	}
	for _, dir := range callgraphs {
		records, err := readCapture(o, dir)
		if err != nil {
			return nil, err
		}
		w.addGraph(records, ids, ks, 0)
	}
	for _, kernel := range []string{"debian", "full"} {
		o := oracle(filepath.Join(oracleDir, kernel))
		if ids, err = eventIDs(o); err != nil {
			return nil, err
		}
		records, err := readCapture(o, "events/ev_all")
		if err != nil {
			return nil, err
		}
		w.addEvents(records, ids, 0)
	}
	return w, nil
}

// ourWholeness counts in two runs of mix.
func ourWholeness(seed uint64) (*wholeness, error) {
	w := newWholeness()
	graph := [][2]string{
		{"current_tracer", "function_graph"}, {"events/sched/enable", "1"}, {"events/irq/enable", "1"}, {"events/raw_syscalls/enable", "1"},
	}
	var records []record
	var numbers map[string]int
	take := func(ids map[string]int, more []record) bool {
		numbers, records = ids, append(records, more...)
		return true
	}
	err := runScenario("mix", seed, wholeUntil, graph, take, func(m *machine.Machine, _ []byte) {
		sortRecords(records)
		w.addGraph(records, numbers, m.Kallsyms(), records[0].time-records[0].time%machine.Second+wholeFrom)
	})
	if err != nil {
		return nil, err
	}
	var events [][2]string
	for _, system := range wholeSystems {
		events = append(events, [2]string{"events/" + system + "/enable", "1"})
	}
	records = nil
	err = runScenario("mix", seed, wholeUntil, events, take, func(*machine.Machine, []byte) {
		sortRecords(records)
		w.addEvents(records, numbers, records[0].time-records[0].time%machine.Second+wholeFrom)
	})
	return w, err
}

// share is how many functions the stays of ours have, as a part of those that as many stays
// with the same reasons have in captures.
func (w *wholeness) share(real *wholeness) float64 {
	ours, theirs := 0.0, 0.0
	for key, c := range w.stays {
		if r := real.stays[key]; r != nil {
			ours, theirs = ours+float64(c.functions), theirs+float64(c.stays)*r.mean()
		}
	}
	return ours / max(theirs, 1)
}

// fewStays is how often an entry into the kernel has to happen to have a row.
const fewStays = 20

// wholeTables makes the tables: how many functions a stay has, and how often events happen.
func wholeTables(ours, real *wholeness) (string, error) {
	numbers, err := syscallNumbers()
	if err != nil {
		return "", err
	}
	names := map[string]string{"fault": "a page fault"}
	for name, nr := range numbers {
		names["sys "+strconv.Itoa(int(nr))] = name
	}
	var b strings.Builder
	b.WriteString("| entry | stays: ours, captures | functions in a stay: ours, captures | |\n|---|---|---|---|\n")
	keys := slices.SortedFunc(maps.Keys(ours.stays), func(x, y string) int {
		return cmp.Or(cmp.Compare(ours.stays[y].stays, ours.stays[x].stays), cmp.Compare(x, y))
	})
	var unknown []string
	for _, key := range keys {
		o, r := ours.stays[key], real.stays[key]
		switch {
		case o.stays < fewStays:
		case r == nil:
			unknown = append(unknown, fmt.Sprintf("%s (%d, %.0f)", names[key], o.stays, o.mean()))
		default:
			fmt.Fprintf(&b, "| %s | %d, %d | %.0f, %.0f | %.0f %% |\n", names[key], o.stays, r.stays, o.mean(), r.mean(), 100*o.mean()/r.mean())
		}
	}
	fmt.Fprintf(&b, "| all of these, and the rarer ones | | | %.0f %% |\n", 100*ours.share(real))
	fmt.Fprintf(&b, "\nNo capture of all functions has %s: stays and functions in each are ours.\n", strings.Join(unknown, ", "))
	b.WriteString("\n| event | in 1,000 stays: ours, captures |\n|---|---|\n")
	var never []string
	for _, event := range slices.Sorted(maps.Keys(real.events)) {
		system, name, _ := strings.Cut(event, "/")
		if !slices.Contains(wholeSystems, system) || system == "raw_syscalls" {
			continue
		}
		if ours.events[event] == 0 {
			never = append(never, name)
			continue
		}
		fmt.Fprintf(&b, "| %s:%s | %.0f, %.0f |\n", system, name, math.Round(ours.per1000(event)), math.Round(real.per1000(event)))
	}
	fmt.Fprintf(&b, "\nIn ours there is never: %s.\n", strings.Join(never, ", "))
	return b.String(), nil
}

// The marks around these tables in the document.
const (
	wholeBegin = "<!-- stays: written by internal/learn -stays -->\n"
	wholeEnd   = "<!-- end of stays -->\n"
)

// wholeText measures, and makes the text between the marks.
func wholeText(oracleDir string) (string, *wholeness, *wholeness, error) {
	real, err := realWholeness(oracleDir)
	if err != nil {
		return "", nil, nil, err
	}
	ours, err := ourWholeness(1)
	if err != nil {
		return "", nil, nil, err
	}
	text, err := wholeTables(ours, real)
	return wholeBegin + "\n" + text + "\n" + wholeEnd, ours, real, err
}

// updateWhole writes the tables into a document.
func updateWhole(file, oracleDir string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), wholeBegin)
	_, after, ended := strings.Cut(rest, wholeEnd)
	if !ok || !ended {
		return fmt.Errorf("%s: no marks around the tables of stays", file)
	}
	made, _, _, err := wholeText(oracleDir)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(before+made+after), 0o644)
}
