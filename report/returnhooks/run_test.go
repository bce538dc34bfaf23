package returnhooks

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"ftracelab/machine"
)

func run(t *testing.T, functions ...string) map[string]Row {
	t.Helper()
	table, err := Run(Options{CPUs: 4, Seed: 1, Duration: 300 * machine.Millisecond, Functions: functions})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]Row{}
	for _, r := range table.Designs {
		rows[r.Name] = r
	}
	return rows
}

// All designs get the same calls. What is neither seen nor missed is in flight, so much
// as there are tasks at most. More slots and more nodes miss less, a stack misses
// nothing.
func TestRun(t *testing.T) {
	rows := run(t)
	for _, kind := range []string{"slot", "kretprobe", "rethook", "fprobe", "fgraph"} {
		found := false
		for name := range rows {
			found = found || strings.Contains(name, kind)
		}
		if !found {
			t.Errorf("no design is called %s", kind)
		}
	}
	calls := rows["fgraph-1"].Calls
	if calls < 200 {
		t.Fatalf("%d calls", calls)
	}
	for name, r := range rows {
		if r.Calls != calls || r.Seen+r.Missed+r.InFlight != calls || r.InFlight > 40 {
			t.Errorf("%s: %d calls, %d seen, %d missed, %d in flight; fgraph has %d calls", name, r.Calls, r.Seen, r.Missed, r.InFlight, calls)
		}
		if strings.HasSuffix(name, "-entry") != r.EntryOnly || r.EntryOnly && r.Seen != calls {
			t.Errorf("%s sees %d entries", name, r.Seen)
		}
		if (r.Why != "") != (r.Missed > 0) {
			t.Errorf("%s: %d missed, because %q", name, r.Missed, r.Why)
		}
	}
	for _, pair := range [][2]string{{"slots-1", "slots-8"}, {"slots-8", "slots-32"}, {"kretprobe-1", "kretprobe-10"}, {"kretprobe-10", "kretprobe-100"}} {
		if a, b := rows[pair[0]], rows[pair[1]]; a.Missed <= b.Missed {
			t.Errorf("%s misses %d, %s %d", pair[0], a.Missed, pair[1], b.Missed)
		}
	}
	for _, pair := range [][2]string{{"slots-1", "kretprobe-1"}, {"fgraph-1", "fgraph-16"}, {"fgraph-1", "fprobe-fgraph"}, {"fgraph-1", "kretprobe-100"}} {
		if a, b := rows[pair[0]], rows[pair[1]]; a.Seen != b.Seen {
			t.Errorf("%s sees %d, %s %d", pair[0], a.Seen, pair[1], b.Seen)
		}
	}
	// The default pool has as many nodes as eight slots.
	if a, b := rows["slots-8"], rows["fprobe-rethook"]; a.Missed != b.Missed {
		t.Errorf("8 slots miss %d, 8 nodes %d", a.Missed, b.Missed)
	}
}

// Where nothing is missed, the counts of a call and its return can be told in advance.
func TestPerHit(t *testing.T) {
	rows := run(t, "rw_verify_area") // it calls nothing and does not sleep
	for name, want := range map[string]PerHit{
		"slots-1":              {Atomic: 2, Words: 9, Lookups: 0},
		"fprobe-rethook-entry": {},
		"fprobe-rethook":       {Atomic: 2, Words: 9},
		"kretprobe-100":        {Atomic: 2, Words: 9, Lookups: 1},
		"fprobe-fgraph":        {Words: 14, Lookups: 2},
		"fprobe-fgraph-entry":  {Words: 10, Lookups: 1},
		"fprobe-2025-entry":    {Lookups: 1},
		"fgraph-1":             {Words: 11},
		"fgraph-16":            {Words: 11, Lookups: 16},
		"fgraph-untimed":       {Words: 10},
		"fgraph-own-time":      {Words: 13},
	} {
		r := rows[name]
		got := r.PerHit
		got.Lines = 0 // they depend on where the stack begins
		if r.Missed > 0 && name != "slots-1" || r.InFlight > 0 {
			t.Errorf("%s: %d missed, %d in flight", name, r.Missed, r.InFlight)
		} else if r.Missed == 0 && got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, opt := range []Options{
		{CPUs: 2, Functions: []string{"no_such_function"}},
		{CPUs: 2, Scenario: "no-such-scenario"},
		{CPUs: -1},
	} {
		if _, err := Run(opt); err == nil {
			t.Errorf("%+v: no error", opt)
		}
	}
}

// The JSON holds what the table holds, and the published figures with their counts.
func TestWrite(t *testing.T) {
	table, err := Run(Options{CPUs: 2, Seed: 1, Duration: 20 * machine.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var text, data bytes.Buffer
	if err := table.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := table.WriteJSON(&data); err != nil {
		t.Fatal(err)
	}
	var back Table
	if err := json.Unmarshal(data.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(&back, table) {
		t.Errorf("read back %+v", back)
	}
	for n, want := range []string{"-5 %", "+35 %", "+27 %"} {
		c := table.Published[n]
		if !strings.Contains(text.String(), c.From+" → "+c.To) || !strings.Contains(text.String(), want) {
			t.Errorf("%s is not in the text", want)
		}
		if c.CountsFrom == c.CountsTo {
			t.Errorf("%s and %s count the same: one is not there", c.From, c.To)
		}
	}
}
