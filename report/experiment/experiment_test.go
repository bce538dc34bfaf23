package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"ftracelab/tracer/record"
)

// stacks is a workload of n events with one of a few stacks, which the seed decides.
type stacks struct{ n, at, unique int }

func (s *stacks) Next(r *record.Record) error {
	if s.at == 2*s.n {
		return io.EOF
	}
	i := s.at / 2
	*r = record.Record{Time: uint64(i) * 1000, Data: make([]byte, 24)}
	if s.at%2 == 1 {
		r.Data, r.Kind = nil, record.KernelStack
		r.Stack = []uint64{1, 2, 3, uint64(i % s.unique)}
	}
	s.at++
	return nil
}

// open opens a workload whose unique stacks are ten times the seed.
func open(_ context.Context, w Workload, seed uint32) (*Source, error) {
	if w.Name == "broken" {
		return nil, errors.New("it is broken")
	}
	return &Source{Source: &stacks{n: 1000, unique: int(seed) * 10}, Close: func() error { return nil }}, nil
}

func spec() Spec {
	return Spec{
		Title:     "test",
		Workloads: []Workload{{Capture: "a"}, {Scenario: "b"}},
		Designs:   []string{"full-stacks", "stackmap:bits=10"},
		Seeds:     []uint32{1, 2, 3, 4, 5, 6},
		Metrics:   []string{"entries", "bytes_per_event", "retained_seconds"},
	}
}

func TestRun(t *testing.T) {
	text := func(jobs int) string {
		t.Helper()
		r := Runner{Open: open, Jobs: jobs}
		table, err := r.Run(context.Background(), spec())
		if err != nil {
			t.Fatal(err)
		}
		if len(table.Rows) != 4 {
			t.Fatalf("%d rows", len(table.Rows))
		}
		// 10, 20 … 60 stacks: mean 35, SD 18.708, t(5) 2.5706, half 19.634.
		if f := table.Rows[1].Figures["entries"]; f.N != 6 || f.Mean != 35 || math.Abs(f.Half-19.6331) > 0.001 {
			t.Errorf("entries %+v", f)
		}
		if f, ok := table.Rows[0].Figures["pays_after_events"]; ok {
			t.Errorf("full stacks pay after %+v", f)
		}
		var b strings.Builder
		for _, write := range []func(io.Writer) error{table.WriteText, table.WriteCSV, table.WriteJSON} {
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
		}
		return b.String()
	}
	if one, four := text(1), text(4); one != four {
		t.Error("trials that run at once give another table")
	}
}

// TestResume: what was finished is not run again, and the table is the same. A file that
// was damaged does not count.
func TestResume(t *testing.T) {
	store, err := OpenStore(filepath.Join(t.TempDir(), "kept"))
	if err != nil {
		t.Fatal(err)
	}
	var opened atomic.Int64
	enough := int64(5) // then the experiment is interrupted
	r := Runner{Store: store, Open: func(ctx context.Context, w Workload, seed uint32) (*Source, error) {
		if opened.Add(1) > enough {
			return nil, errors.New("interrupted")
		}
		return open(ctx, w, seed)
	}}
	if _, err := r.Run(context.Background(), spec()); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Fatalf("%v", err)
	}
	files, err := os.ReadDir(store.dir)
	if err != nil || len(files) != 5 {
		t.Fatalf("%d outcomes are kept, %v", len(files), err)
	}
	if err := os.WriteFile(filepath.Join(store.dir, files[0].Name()), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	opened.Store(0)
	enough = 1000
	before := 0
	r.Progress = func(_, _ int, was bool) {
		if was {
			before++
		}
	}
	table, err := r.Run(context.Background(), spec())
	if err != nil {
		t.Fatal(err)
	}
	if opened.Load() != 8 || before != 4 {
		t.Errorf("%d trials ran and %d had been finished, want 8 and 4", opened.Load(), before)
	}
	fresh, err := (&Runner{Open: open}).Run(context.Background(), spec())
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(table)
	b, _ := json.Marshal(fresh)
	if string(a) != string(b) {
		t.Error("an experiment that was resumed gives another table")
	}
}

func TestStoreOfNoUse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStore(file); err == nil {
		t.Error("a file was taken for a folder")
	}
	r := Runner{Open: open, Store: Store{dir: filepath.Join(file, "none")}}
	if _, err := r.Run(context.Background(), spec()); err == nil {
		t.Error("an outcome was not kept, and nobody heard of it")
	}
}

func TestBadSpecs(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "workloads: there is none",
		"titel: x":                 "line 1: no key titel; there are title, question",
		"workload: []":             "line 1: no key workload; there are title, question, workloads",
		"workloads: [{captur: a}]": "line 1: no key captur; there are name, capture, model, scenario",
		"workloads: [{}]\ndesigns: [full-stacks]":                                         "workloads[0]: want one of capture, model and scenario",
		"workloads: [{capture: a, instance: b}]\ndesigns: [full-stacks]":                  "set, cpus, instances, instance and stackmap are for a scenario",
		"workloads: [{scenario: a, instances: [b], instance: c}]\ndesigns: [full-stacks]": `instance "c" is none of the instances ["b"]`,
		"workloads: [{scenario: a, stackmap: v3}]\ndesigns: [full-stacks]":                `stackmap: no map "v3"; there are documented, v2, v4`,
		"workloads: [{capture: a, scenario: b}]\ndesigns: [full-stacks]":                  "want one of capture, model and scenario",
		"workloads: [{capture: a, cpus: 3}]\ndesigns: [full-stacks]":                      "are for a scenario",
		"workloads: [{scenario: a, duration: 3}]\ndesigns: [full-stacks]":                 "want a duration such as 500ms or 2s",
		"workloads: [{scenario: a, duration: -3s}]\ndesigns: [full-stacks]":               "duration -3s is negative",
		"workloads: [{capture: a}]":                                                       "designs: there is none",
		"workloads: [{capture: a}]\ndesigns: [half-stacks]":                               "there are full-stacks, stackmap",
		"workloads: [{capture: a}]\ndesigns: [\"stackmap:bits=9\"]":                       "bits=9: want 10 to 18",
		"workloads: [{capture: a}, {capture: a}]\ndesigns: [full-stacks]":                 "two have the name \"a\"",
		"workloads: [{capture: a}]\ndesigns: [full-stacks, full-stacks]":                  "full-stacks is there twice",
		"workloads: [{capture: a}]\ndesigns: [full-stacks]\nmetrics: [speed]":             "no metric \"speed\"; there are bytes_per_event",
		"workloads: [{capture: a}]\ndesigns: [full-stacks]\nbuffer-size-kb: [0]":          "neither may be 0",
		"workloads: [{capture: a}]\ndesigns: [full-stacks]\nsubbuf-size: [5000]":          "sub-buffers of 5000 bytes",
		"workloads: [{capture: a}]\ndesigns: [full-stacks]\nseeds: [-1]":                  "line 3: cannot unmarshal !!int",
		"workloads: [{capture: a}]\ndesigns: [full-stacks]\nanswer: \"{{get 1}}\"":        "",
	} {
		s, err := Parse([]byte(text))
		if err == nil {
			err = s.complete()
		}
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want …%s…", text, err, want)
		}
	}
	many := spec()
	many.Seeds = make([]uint32, maxSeeds+1)
	if err := many.complete(); err == nil {
		t.Error("there may be any number of seeds")
	}
	many.Seeds, many.BufferSizeKB = make([]uint32, maxSeeds), make([]int, 20)
	for i := range many.BufferSizeKB {
		many.BufferSizeKB[i] = 64
	}
	if err := many.complete(); err == nil {
		t.Error("there may be any number of trials")
	}
}

// TestBrokenWorkload: the error names the trial.
func TestBrokenWorkload(t *testing.T) {
	s := spec()
	s.Workloads[1].Name = "broken"
	_, err := (&Runner{Open: open, Jobs: 2}).Run(context.Background(), s)
	if err == nil || !strings.Contains(err.Error(), "broken, seed ") || !strings.Contains(err.Error(), "it is broken") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (&Runner{Open: open}).Run(ctx, spec()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestExplain(t *testing.T) {
	table, err := (&Runner{Open: open}).Run(context.Background(), spec())
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]string{
		`{{get "a" "stackmap:bits=10" "entries"}}  stacks`: "35.00 ± 19.63 stacks",
		`{{at "" "full-stacks" 1408 4096 "entries"}}`:      "0",
		`{{get "c" "full-stacks" "entries"}}`:              "error: no row of workload \"c\"",
		`{{get "a" "full-stacks" "speed"}}`:                "error: no metric \"speed\"",
		`{{get "a" "full-stacks" "pays_after_events"}}`:    "error: full-stacks on a has no pays_after_events",
		`{{get "a"`: "error: answer: template",
		`{{at "a" "full-stacks" 1 4096 "bytes_per_event"}}`: "error: no row of workload \"a\", design \"full-stacks\", 1 KB",
	} {
		table.Spec.Answer, table.Answer = answer, ""
		err := table.Explain()
		got := table.Answer
		if err != nil {
			got = err.Error()
		}
		if want, bad := strings.CutPrefix(want, "error: "); bad != (err != nil) || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", answer, got, want)
		}
	}
}

// TestBuiltin: each spec that comes with the program is one, and its answer asks for
// figures that the table can have.
func TestBuiltin(t *testing.T) {
	for _, name := range BuiltinNames() {
		s, err := Builtin(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := s.complete(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s.Question == "" || s.Answer == "" {
			t.Errorf("%s has no question or no answer", name)
		}
	}
	if _, err := Builtin("../specs/bits"); err == nil {
		t.Error("a path is a name")
	}
}

// TestVerdict: without an answer of the spec, the verdict names the design with the fewest
// bytes that keeps stacks, and says so if it is another one elsewhere.
func TestVerdict(t *testing.T) {
	block := func(best string) []Row {
		var rows []Row
		for _, design := range []string{"full-stacks", "a", "b", "no-stacks"} {
			r := Row{Workload: "w", Design: design, Figures: map[string]Figure{
				"bytes_per_event": {Mean: 100}, "saving_pct": {Mean: 0}, "whole_pct": {Mean: 100},
			}}
			switch design {
			case best:
				r.Figures["bytes_per_event"], r.Figures["saving_pct"] = Figure{Mean: 60}, Figure{Mean: 40}
			case "no-stacks":
				r.Figures["bytes_per_event"], r.Figures["saving_pct"], r.Figures["whole_pct"] = Figure{Mean: 20}, Figure{Mean: 80}, Figure{}
			}
			rows = append(rows, r)
		}
		return rows
	}
	for _, c := range []struct {
		answer string
		best   []string
		want   string
	}{
		{"Both.", []string{"a"}, "Both."},
		{"", []string{"b"}, "Of the designs that keep stacks, b takes the fewest bytes for an event: 40.0 % fewer than full-stacks."},
		{"", []string{"b", "b"}, "Of the designs that keep stacks, b takes the fewest bytes for an event: 40.0 % fewer than full-stacks, on each workload and with each size."},
		{"", []string{"a", "b"}, "Which design takes the fewest bytes for an event depends on the workload."},
		{"", []string{"none"}, "On w no design takes fewer bytes for an event than full-stacks."},
	} {
		table := &Table{Answer: c.answer, Spec: Spec{Designs: []string{"full-stacks", "a", "b", "no-stacks"}}}
		for _, best := range c.best {
			table.Rows = append(table.Rows, block(best)...)
		}
		if got := table.Verdict(); got != c.want {
			t.Errorf("%v: %q, want %q", c.best, got, c.want)
		}
	}
}

// FuzzParse: no text makes the parser panic, and a spec that is complete has trials.
func FuzzParse(f *testing.F) {
	for _, name := range BuiltinNames() {
		text, err := specs.ReadFile("specs/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("workloads: &a [{capture: *a}]\ndesigns: *a"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse(text)
		if err != nil || s.complete() != nil {
			return
		}
		if len(s.trials()) == 0 {
			t.Error("a complete spec has no trials")
		}
	})
}
