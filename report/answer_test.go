package report

import (
	"reflect"
	"strings"
	"testing"

	"ftracelab/stackmap"
	"ftracelab/tracer/record"

	"pgregory.net/rapid"
)

// userHeavy is a trace in which a map for user stacks would save most, which no
// kernel has: n events, each with one of 3000 user stacks, every fourth with one of
// 20 kernel stacks as well.
func userHeavy(n int) *records {
	s := new(records)
	for i := range n {
		s.add(i%2, uint64(1000*(i+1)), 7, 32)
		if i%4 == 0 {
			s.stack(record.KernelStack, frames(i%80, 6)...)
		}
		s.stack(record.UserStack, frames(100_000+i%3000, 8)...)
	}
	return s
}

// kernelHeavy is a trace of n events with one of unique kernel stacks each.
func kernelHeavy(n, unique, depth int) *records {
	s := new(records)
	for i := range n {
		s.add(0, uint64(1000*(i+1)), 7, 32)
		s.stack(record.KernelStack, frames(i%unique, depth)...)
	}
	return s
}

func mustEstimate(t *testing.T, src record.Source, opt Options) *Report {
	t.Helper()
	r, err := Estimate(t.Context(), src, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAnswerNamesWhatExists: whatever a design that no kernel has would save, the
// answer is about one that exists, and each map has a size of its own.
func TestAnswerNamesWhatExists(t *testing.T) {
	r := mustEstimate(t, userHeavy(9000), Options{})
	a := r.Answer
	if a.Design != "stackmap" || a.Bits != 10 || a.SavingPct != designNamed(t, r, "stackmap").SavingPct {
		t.Errorf("the answer is about %s at bits=%d, %.1f %%", a.Design, a.Bits, a.SavingPct)
	}
	d := designNamed(t, r, "stackmap+user")
	if d.Exists || d.Needs == "" || d.SavingPct < 2*a.SavingPct {
		t.Errorf("stackmap+user: exists %v, needs %q, saves %.1f %%", d.Exists, d.Needs, d.SavingPct)
	}
	if got := []int{d.Maps[0].Bits, d.Maps[1].Bits}; got[0] != 10 || got[1] != 13 || d.Drops != 0 {
		t.Errorf("stackmap+user: bits %v and %d drops; 20 kernel and 3000 user stacks want 10 and 13, and none", got, d.Drops)
	}
	if !strings.HasPrefix(a.Sentence, "With stackmap at bits=10 an event takes ") || !strings.Contains(a.WhatIf, d.Needs) {
		t.Errorf("the sentence: %s", a.Sentence)
	}
}

// TestAnswerAtBits: where a size is asked for, the answer is about that size.
func TestAnswerAtBits(t *testing.T) {
	src := kernelHeavy(20_000, 5000, 12)
	auto := mustEstimate(t, src, Options{}).Answer
	if auto.Bits != 14 || auto.Drops != 0 {
		t.Errorf("for 5000 stacks bits=%d is recommended, with %d drops", auto.Bits, auto.Drops)
	}
	src.at = 0
	asked := mustEstimate(t, src, Options{Bits: 10}).Answer
	if asked.Bits != 10 || asked.Drops == 0 || asked.SavingPct >= auto.SavingPct {
		t.Errorf("at bits=10: %+v", asked)
	}
	for _, want := range []string{"at bits=10", Group(asked.Drops) + " of 20,000 stacks the map has no room", "recommended is bits=14"} {
		if !strings.Contains(asked.Sentence, want) {
			t.Errorf("the sentence lacks %q: %s", want, asked.Sentence)
		}
	}
}

// TestVerdict follows the buffer size across the break-even point.
func TestVerdict(t *testing.T) {
	src := kernelHeavy(20_000, 300, 12)
	small := mustEstimate(t, src, Options{BufferSizeKB: 64}).Answer
	if small.Pays || small.MapNetBytes >= 0 || small.PaysFromBufferKB <= 64 || !strings.Contains(small.Verdict, "it does not pay here; it would from "+Group(small.PaysFromBufferKB)+" KB") {
		t.Fatalf("a buffer of 64 KB: %+v", small)
	}
	for kb, pays := range map[int]bool{int(small.PaysFromBufferKB) * 9 / 10: false, int(small.PaysFromBufferKB) * 11 / 10: true} {
		src.at = 0
		a := mustEstimate(t, src, Options{BufferSizeKB: kb}).Answer
		if a.Pays != pays || strings.Contains(a.Verdict, "boot with ftrace_stackmap.bits=10") != pays {
			t.Errorf("a buffer of %d KB, which should pay from %d KB: %s", kb, small.PaysFromBufferKB, a.Verdict)
		}
	}
}

// TestNothingToSave: the answer says why there is none.
func TestNothingToSave(t *testing.T) {
	none := new(records)
	none.add(0, 1000, 7, 32)
	users := new(records)
	users.add(0, 1000, 7, 32)
	users.stack(record.UserStack, 1, 2, 3)
	shallow := new(records)
	shallow.add(0, 1000, 7, 32)
	shallow.stack(record.KernelStack)
	full, _ := record.NamedDesign("full-stacks", 0, 0)
	for _, c := range []struct {
		src  *records
		opt  Options
		want string
	}{
		{new(records), Options{}, "holds no events"},
		{none, Options{}, "holds no stacks"},
		{users, Options{}, "stacks of user space only"},
		{shallow, Options{}, "saves nothing here"},
		{kernelHeavy(10, 2, 9), Options{Designs: []record.Design{full}}, "none that exists saves anything"},
	} {
		a := mustEstimate(t, c.src, c.opt).Answer
		if a.Design != "full-stacks" || a.Bits != 0 || a.Pays || !strings.Contains(a.Sentence, c.want) {
			t.Errorf("want %q: %+v", c.want, a)
		}
	}
}

// TestMapWithoutStacks: a map for stacks of which the trace has none counts with the
// smallest size, unless another was asked for.
func TestMapWithoutStacks(t *testing.T) {
	for _, kind := range []record.Kind{record.KernelStack, record.UserStack} {
		s := new(records)
		for i := range 2000 { // more than the smallest map holds
			s.add(0, uint64(1000*(i+1)), 7, 32)
			s.stack(kind, frames(i, 5)...)
		}
		both, _ := record.NamedDesign("stackmap+user", 0, 0)
		full, _ := record.NamedDesign("full-stacks", 0, 0)
		r := mustEstimate(t, s, Options{Designs: []record.Design{full, both}})
		used, unused := r.Designs[1].Maps[0], r.Designs[1].Maps[1]
		if kind == record.UserStack {
			used, unused = unused, used
		}
		if used.Bits != 12 || used.Entries != 2000 {
			t.Errorf("%v stacks: bits=%d with %d entries, want 12 with 2000", used.Stacks, used.Bits, used.Entries)
		}
		table, pool, _ := stackmap.Config{Bits: stackmap.MinBits}.Memory()
		if unused.Bits != stackmap.MinBits || unused.Entries != 0 || unused.TableBytes != uint64(table) || unused.PoolBytes != uint64(pool) {
			t.Errorf("no %v stacks: %+v", unused.Stacks, unused)
		}
		if sum := used.TableBytes + used.PoolBytes + uint64(table+pool); r.Designs[1].MapBytes != sum {
			t.Errorf("both maps take %d bytes, want %d", r.Designs[1].MapBytes, sum)
		}
	}
}

// TestRecommendedIsReplayed holds a design whose maps have the recommended sizes
// against the same design written through maps of those sizes.
func TestRecommendedIsReplayed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := new(records)
		unique := rapid.SampledFrom([]int{3, 500, 900, 1800}).Draw(t, "unique")
		deep := rapid.SampledFrom([]int{20, 70}).Draw(t, "deepest")
		for i := range unique + rapid.IntRange(0, 500).Draw(t, "more") {
			s.add(i%2, uint64(700*(i+1)), int32(i%3), 40)
			s.stack(record.KernelStack, frames(i*7%unique, 1+i%deep)...)
			s.stack(record.UserStack, frames(i%(unique/2+1), 1+i%9)...)
		}
		name := rapid.SampledFrom(swept(t)).Draw(t, "design")
		full, _ := record.NamedDesign("full-stacks", 0, 3)
		auto, _ := record.NamedDesign(name, 0, 3)
		a, err := Estimate(t.Context(), &records{records: s.records}, Options{Seed: 3, Designs: []record.Design{full, auto}})
		if err != nil {
			t.Fatal(err)
		}
		fixed := auto
		for _, m := range a.Designs[1].Maps {
			if m.Stacks == "kernel" {
				fixed.KernelMap.Bits = m.Bits
			} else {
				fixed.UserMap.Bits = m.Bits
			}
		}
		b, err := Estimate(t.Context(), &records{records: s.records}, Options{Seed: 3, Designs: []record.Design{full, fixed}})
		if err != nil {
			t.Fatal(err)
		}
		a.Capacity.Sizes, b.Capacity.Sizes = nil, nil // they are those that may be chosen
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("%s, %d unique:\n%+v\nat these sizes:\n%+v", name, unique, a.Designs[1], b.Designs[1])
		}
	})
}

// swept are the names of the designs with a map whose size can be recommended.
func swept(t *rapid.T) (names []string) {
	for _, name := range record.DesignNames() {
		d, err := record.NamedDesign(name, 0, 3)
		if err != nil {
			t.Fatal(err)
		}
		if d.Kernel == record.StackID && d.KernelMap.NoSweep == "" {
			names = append(names, name)
		}
	}
	return names
}

// TestFaults: what a map does to stacks beside refusing them is in the result.
func TestFaults(t *testing.T) {
	s := new(records)
	for i := range 6000 { // each stack on both CPUs, and all of them once more
		s.add(i%2, uint64(700*(i+1)), 1, 40)
		s.stack(record.KernelStack, frames(i/2%1500, 9)...)
	}
	designs, err := record.ParseDesigns("full-stacks,stackmap,per-cpu,aging:bits=10,bpf-reuse:bits=10", 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	r := mustEstimate(t, s, Options{Designs: designs})
	if m := designNamed(t, r, "stackmap").Maps[0]; m.Entries != 1500 || m.Duplicates != 0 || m.Replaced != 0 {
		t.Errorf("stackmap: %+v", m)
	}
	m := designNamed(t, r, "per-cpu").Maps[0]
	if m.Bits != stackmap.DefaultBits || m.Entries != 3000 || m.Duplicates != 1500 || m.Recommended.Bits != 0 || m.Recommended.Why == "" {
		t.Errorf("per-cpu: %+v", m)
	}
	for _, name := range []string{"aging:bits=10", "bpf-reuse:bits=10"} {
		d := designNamed(t, r, name)
		if m := d.Maps[0]; m.Replaced == 0 || d.Fidelity.Lost == 0 || m.Entries > 1024 {
			t.Errorf("%s: %+v, %+v", name, m, d.Fidelity)
		}
		if want := pct(6000-d.Fidelity.Lost, 6000); d.Fidelity.WholePct != want {
			t.Errorf("%s: %v %% of the stacks are whole, want %v", name, d.Fidelity.WholePct, want)
		}
		if inserted := d.Maps[0].Entries + d.Maps[0].Replaced; d.HitRate != ratio(d.Maps[0].Successes-inserted, 6000) {
			t.Errorf("%s: %v hits, %+v", name, d.HitRate, d.Maps[0])
		}
	}
}

// TestFidelity counts what each design loses.
func TestFidelity(t *testing.T) {
	s := new(records)
	deep := frames(1, 80)
	other := append(append([]uint64{}, deep[:64]...), 1, 2, 3)
	for i, ips := range [][]uint64{deep, other, frames(2, 10), deep} {
		s.add(0, uint64(1000*(i+1)), 7, 32)
		s.stack(record.KernelStack, ips...)
		s.stack(record.UserStack, frames(3, 5+i*2)...)
	}
	var designs []record.Design
	for _, name := range record.DesignNames() {
		d, _ := record.NamedDesign(name, 0, 0)
		designs = append(designs, d)
	}
	r := mustEstimate(t, s, Options{Designs: designs})
	for name, want := range map[string]Fidelity{
		"full-stacks":   {WholePct: 75, Cut: 2}, // user stacks of 9 and 11
		"stackmap":      {WholePct: 75, Cut: 2},
		"stackmap-v2":   {WholePct: 37.5, Cut: 5, Merged: 2, Within: 1},
		"stackmap-v4":   {WholePct: 75, Cut: 2},
		"stackmap+user": {WholePct: 100},
		"deferred":      {WholePct: 100},
		"no-stacks":     {WholePct: 0, Missing: 8},
	} {
		if got := designNamed(t, r, name).Fidelity; got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestStanding: what exists is told by what a design does.
func TestStanding(t *testing.T) {
	hashed, _ := record.NamedDesign("stackmap", 0, 0)
	hashed.KernelMap.Hash = stackmap.XXHash64
	if exists, needs := standing(hashed); exists || !strings.Contains(needs, "hash xxhash64") {
		t.Errorf("a map with another hash: exists %v, needs %q", exists, needs)
	}
	exist := map[string]bool{"full-stacks": true, "stackmap": true, "stackmap-v2": true, "stackmap-v4": true, "no-stacks": true}
	for _, name := range record.DesignNames() {
		d, _ := record.NamedDesign(name, 0, 0)
		d.Name = "renamed"
		if exists, _ := standing(d); exists != exist[name] {
			t.Errorf("%s: exists %v", name, exists)
		}
	}
}

// TestWhyMore: a design that takes more says what makes it so.
func TestWhyMore(t *testing.T) {
	s := new(records)
	for i := range 100 {
		s.add(0, uint64(1000*(i+1)), 7, 32)
		s.stack(record.UserStack, frames(i, 30)...)
	}
	r := mustEstimate(t, s, Options{})
	for i := range r.Designs {
		d := &r.Designs[i]
		if (d.SavingPct < 0) != (d.Why != "") {
			t.Errorf("%s: saving %.1f %%, why %q", d.Name, d.SavingPct, d.Why)
		}
	}
	if why := designNamed(t, r, "deferred").Why; !strings.Contains(why, "100 of 100 user stacks are the first of their stay") || !strings.Contains(why, "30.0 on average") {
		t.Errorf("deferred: %s", why)
	}
}

// TestUnknownTimes: a capture without times has none in any form of output.
func TestUnknownTimes(t *testing.T) {
	s := kernelHeavy(50, 3, 9)
	for i := range s.records {
		s.records[i].Time = 0
	}
	r := mustEstimate(t, s, Options{})
	if r.Input.Seconds.Known() || r.Designs[0].RetainedSeconds.Known() || r.Designs[0].RetainedCPUs[0].Seconds.Known() {
		t.Errorf("%+v", r.Designs[0])
	}
	var text, js strings.Builder
	if err := WriteText(&text, TextOptions{}, r); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(&js, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "50 events in – s") || strings.Contains(text.String(), "0.000") {
		t.Errorf("a time in the text:\n%s", text.String())
	}
	if !strings.Contains(js.String(), `"seconds": null`) || !strings.Contains(js.String(), `"retained_seconds": null`) {
		t.Error("no null in the JSON")
	}
	if back, err := ReadJSON(strings.NewReader(js.String())); err != nil || !reflect.DeepEqual(back, []*Report{r}) {
		t.Errorf("JSON does not read back: %v", err)
	}
}

// conditional is a source that assumes something.
type conditional struct{ *records }

func (conditional) Condition() string { return "all frames are the kernel's" }

func TestCondition(t *testing.T) {
	a := mustEstimate(t, conditional{kernelHeavy(50, 3, 9)}, Options{}).Answer
	if !strings.HasPrefix(a.Sentence, "If all frames are the kernel's: with stackmap at ") || a.If == "" {
		t.Errorf("%+v", a)
	}
}

// cpuless is a source that knows no CPUs.
type cpuless struct{ *records }

func (cpuless) NamesCPUs() bool { return false }

func TestNoCPUs(t *testing.T) {
	r := mustEstimate(t, cpuless{kernelHeavy(50, 3, 9)}, Options{})
	if !r.Input.CPUless || !strings.Contains(r.Answer.Verdict, "on 1 CPU (the capture names none)") {
		t.Errorf("%s", r.Answer.Verdict)
	}
}

func designNamed(t *testing.T, r *Report, name string) *Result {
	t.Helper()
	for i := range r.Designs {
		if r.Designs[i].Name == name {
			return &r.Designs[i]
		}
	}
	t.Fatalf("no design %s", name)
	return nil
}
