package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/memfs"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
	"pgregory.net/rapid"

	"ftracelab/budget"
	"ftracelab/report/summary"
)

// TestDoneTwice: the outcomes of all files reach the sum three times, as if each bundle
// had been done again and its first results had not been thrown away. They count once.
func TestDoneTwice(t *testing.T) {
	dir, want := captures(t, 12)
	o := options{Output: filepath.Join(t.TempDir(), "fleet.ftls"), Memory: budget.Default}
	p, s := beam.NewPipelineWithRoot()
	files := beam.ParDo(s, &matchFn{Output: o.Output}, beam.Create(s, filepath.Join(dir, "*.txt")))
	write(s, beam.Flatten(s, summarize(s, files, o), summarize(s, files, o), summarize(s, files, o)), o)
	if err := beamx.Run(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	same(t, o.Output, want)
}

// TestStore: captures, and the sum, on a store that is no disk.
func TestStore(t *testing.T) {
	dir, want := captures(t, 3)
	var patterns []string
	for n := range 3 {
		content, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("web%d.txt", n)))
		if err != nil {
			t.Fatal(err)
		}
		memfs.Write(fmt.Sprintf("memfs://caps/web%d.txt", n), content)
		patterns = append(patterns, fmt.Sprintf("memfs://caps/web%d*", n))
	}
	memfs.Write("memfs://caps/bad.txt", []byte("hello\n"))
	o := options{Output: "memfs://sums/fleet.ftls", Memory: budget.Default, bufferSizeKB: 1408, logLevel: "error"}
	var out, diag bytes.Buffer
	if got := run(context.Background(), o, append(patterns, "memfs://caps/bad.txt"), &out, &diag); got != exitSkipped {
		t.Errorf("status %d: %s", got, &diag)
	}
	if !bytes.Contains(diag.Bytes(), []byte("fleet: memfs://caps/bad.txt: no known form of capture")) {
		t.Errorf("%s", &diag)
	}
	got, err := readFile(context.Background(), o.Output)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("not the sum of the captures: %v", err)
	}
}

// TestManyFiles: five hundred captures in one run.
func TestManyFiles(t *testing.T) {
	dir, f, m := t.TempDir(), &summarizeFn{Memory: budget.Default}, summary.NewMerger(nil)
	for n := range 500 {
		name := filepath.Join(dir, fmt.Sprintf("web%d.txt", n))
		if err := os.WriteFile(name, fmt.Appendf(nil, "schedule;fn_%d;do_syscall_64 %d\n", n%70, n+1), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := f.read(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Read(bytes.NewReader(s)); err != nil {
			t.Fatal(err)
		}
	}
	var want bytes.Buffer
	if err := summary.Encode(&want, m.Sum()); err != nil {
		t.Fatal(err)
	}
	o := options{Output: filepath.Join(dir, "sum"), Memory: budget.Default}
	p, s := beam.NewPipelineWithRoot()
	build(s, []string{filepath.Join(dir, "*.txt")}, o)
	if err := beamx.Run(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	same(t, o.Output, want.Bytes())
}

// drawn is what became of a file.
func drawn(t *rapid.T) Outcome {
	o := Outcome{Path: rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(t, "path")}
	if rapid.Bool().Draw(t, "bad") {
		o.Problem = o.Path + ": " + rapid.SampledFrom([]string{"is empty", "is torn"}).Draw(t, "problem")
	}
	if o.Problem == "" || rapid.Bool().Draw(t, "kept") {
		n := rapid.Uint64Range(1, 9).Draw(t, "events")
		s := &summary.Summary{
			Machines: []summary.Machine{{Name: o.Path, Events: n, BusiestEvents: n, CPUs: 1, KernelStacks: n, UniqueStacks: 1}},
			CPUs:     []summary.CPU{{Machines: 1, Events: n}}, Sizes: []summary.Size{{Bytes: 4 * n, Events: n}},
			Stacks: []summary.Stack{{Hash: n, Depth: 3, Count: n}},
		}
		var b bytes.Buffer
		if err := summary.Encode(&b, s); err != nil {
			t.Fatal(err)
		}
		o.Summary = b.Bytes()
	}
	return o
}

// TestSumOrderAndGrouping: sums are added in any order and grouping, and travel or do
// not, to the same result.
func TestSumOrderAndGrouping(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &mergeFn{Memory: budget.Default}
		outcomes := rapid.SliceOfN(rapid.Custom(drawn), 1, 8).Draw(t, "outcomes")
		one := f.CreateAccumulator()
		var parts []Sum
		for _, o := range outcomes {
			one = must(f.AddInput(one, o))(t)
			parts = append(parts, must(f.AddInput(f.CreateAccumulator(), o))(t))
		}
		parts = append(parts, f.CreateAccumulator()) // a worker that had nothing
		for len(parts) > 1 {
			parts = rapid.Permutation(parts).Draw(t, "order")
			for n := range 2 {
				if rapid.Bool().Draw(t, "travels") {
					parts[n] = must(decodeSum(must(encodeSum(parts[n]))(t)))(t)
				}
			}
			parts = append(parts[2:], must(f.MergeAccumulators(parts[0], parts[1]))(t))
		}
		want, got := must(one.list())(t), must(parts[0].list())(t)
		if !bytes.Equal(got, want) {
			t.Errorf("%s, and all in one %s", got, want)
		}
		if !bytes.Equal(must(parts[0].file())(t), must(one.file())(t)) {
			t.Error("the bytes of the sum depend on order or grouping")
		}
	})
}

// TestKeep: which Outcome of a file is kept does not depend on order or grouping, and a
// summary wins.
func TestKeep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawn(t), drawn(t), drawn(t)
		a.Path, b.Path, c.Path = "x", "x", "x"
		same := func(x, y Outcome) bool { return bytes.Equal(x.Summary, y.Summary) && x.Problem == y.Problem }
		if !same(keep(a, b), keep(b, a)) || !same(keep(keep(a, b), c), keep(a, keep(b, c))) || !same(keep(a, a), a) {
			t.Error("the choice depends on order, grouping or repetition")
		}
		if k := keep(a, b); k.Summary == nil && (a.Summary != nil || b.Summary != nil) {
			t.Error("a problem was chosen before a summary")
		}
	})
}

func must[T any](v T, err error) func(t interface{ Fatal(...any) }) T {
	return func(t interface{ Fatal(...any) }) T {
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestManyMachines adds the summaries of many machines, 1000 in a file. FLEET_MACHINES
// says how many.
func TestManyMachines(t *testing.T) {
	machines := 20_000
	if env := os.Getenv("FLEET_MACHINES"); env != "" {
		var err error
		if machines, err = strconv.Atoi(env); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	whole := summary.NewMerger(budget.New(16 << 30))
	for n := range machines / 1000 {
		s := new(summary.Summary)
		for m := range uint64(1000) {
			id := uint64(n)*1000 + m
			row := summary.Machine{Name: fmt.Sprintf("web%d", id), Events: 1 + id%100, BusiestEvents: 1, CPUs: 1, EventBytes: id * 77}
			for k := range row.Maps {
				row.Maps[k].Bytes = id * 12345
			}
			s.Machines = append(s.Machines, row)
			size := summary.Size{Bytes: 4 + 4*m, Events: row.Events}
			s.Sizes = append(s.Sizes, size)
			if s.CPUs == nil {
				s.CPUs = []summary.CPU{{}}
			}
			s.CPUs[0].Machines++
			s.CPUs[0].Events += row.Events
		}
		s.Sort()
		var b bytes.Buffer
		if err := summary.Encode(&b, s); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.ftls", n)), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := whole.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	var want bytes.Buffer
	if err := summary.Encode(&want, whole.Sum()); err != nil {
		t.Fatal(err)
	}
	o := options{Output: filepath.Join(dir, "sum"), Memory: 2 << 30}
	p, s := beam.NewPipelineWithRoot()
	build(s, []string{filepath.Join(dir, "*.ftls")}, o)
	if err := beamx.Run(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	same(t, o.Output, want.Bytes())

	// If the memory is too little for them, the error says how much is needed.
	o.Memory, o.bufferSizeKB, o.logLevel = budget.Least, 1408, "error"
	var out, diag bytes.Buffer
	got := run(context.Background(), o, []string{filepath.Join(dir, "*.ftls")}, &out, &diag)
	if want := []byte("more than --memory 64M allows: at least --memory "); got != exitFailed || !bytes.Contains(diag.Bytes(), want) {
		t.Errorf("status %d: %s", got, &diag)
	}
}
