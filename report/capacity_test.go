package report

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"ftracelab/tracer/record"
)

// even is a trace of n events on two CPUs, one each 10 µs, with one of unique stacks each.
func even(n, unique int) *records {
	s := new(records)
	for i := range n {
		s.add(i%2, uint64(10_000*(i+1)), 7, 32)
		s.stack(record.KernelStack, frames(i%unique, 4+i%unique%9)...)
	}
	return s
}

func designs(t *testing.T, names string) []record.Design {
	t.Helper()
	ds, err := record.ParseDesigns(names, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// TestLookBackIsReplayed gives the buffers that a target was said to take to the replay:
// they look back as far as asked, and not much further.
func TestLookBackIsReplayed(t *testing.T) {
	const target = 0.1
	r := mustEstimate(t, even(30_000, 50), Options{Plan: Plan{TargetSeconds: target}})
	for _, reach := range r.Capacity.LookBack {
		again := mustEstimate(t, even(30_000, 50), Options{BufferSizeKB: int(reach.BufferKB)})
		d := designNamed(t, again, reach.Design)
		if got := float64(d.RetainedSeconds); d.RetainedBasis != Replayed || got < 0.97*target || got > 1.05*target {
			t.Errorf("%s with %d KB: %v s, want %g", reach.Design, reach.BufferKB, d.RetainedSeconds, target)
		}
	}
	twice := mustEstimate(t, even(30_000, 50), Options{Plan: Plan{TargetSeconds: target, Rate: 200_000}})
	for i, reach := range twice.Capacity.LookBack {
		if once := r.Capacity.LookBack[i].BufferKB; reach.BufferKB < 2*once-8 || reach.BufferKB > 2*once {
			t.Errorf("%s: %d KB, at twice the rate %d", reach.Design, once, reach.BufferKB)
		}
	}
	if c := &r.Capacity; len(c.LookBack) != 3 || !c.Asked || c.Rate < 99_000 || c.Rate > 101_000 {
		t.Errorf("%+v", c)
	}
}

// TestTicks: of times that are not in nanoseconds nothing is said in seconds, but they still
// order the records.
func TestTicks(t *testing.T) {
	r := mustEstimate(t, even(30_000, 50), Options{Ticks: true})
	timed := mustEstimate(t, even(30_000, 50), Options{})
	if r.Input.Seconds != Unknown || r.Capacity.Growth.Why != timed.Capacity.Growth.Why {
		t.Errorf("%v s, growth %q, want %q", r.Input.Seconds, r.Capacity.Growth.Why, timed.Capacity.Growth.Why)
	}
	for i := range r.Designs {
		if d := &r.Designs[i]; d.RetainedSeconds != Unknown || d.RetainedEvents != timed.Designs[i].RetainedEvents {
			t.Errorf("%s: %v s, %d events, want %d", d.Name, d.RetainedSeconds, d.RetainedEvents, timed.Designs[i].RetainedEvents)
		}
	}
}

// TestPartOfAPage: a trace that fills no page tells how many events would fill one, so that
// designs differ in what they hold as they do in bytes.
func TestPartOfAPage(t *testing.T) {
	short, long := mustEstimate(t, even(20, 5), Options{}), mustEstimate(t, even(100_000, 5), Options{})
	for i := range short.Designs {
		got, want := &short.Designs[i], &long.Designs[i]
		if b := got.Bytes; b != 2*4096 || want.RetainedBasis != Replayed {
			t.Fatalf("%s: %d bytes, the long trace %s", got.Name, got.Bytes, want.RetainedBasis)
		}
		if ratio := float64(got.RetainedEvents) / float64(want.RetainedEvents); ratio < 0.9 || ratio > 1.1 {
			t.Errorf("%s: %d events retained, of the long trace %d", got.Name, got.RetainedEvents, want.RetainedEvents)
		}
	}
	const rests = " This is told from 20 events, and the buffer would hold "
	if s := short.Answer.Sentence; !strings.Contains(s, rests) {
		t.Errorf("the answer does not say that it rests on few events: %s", s)
	}
	if s := long.Answer.Sentence; strings.Contains(s, "This is told from") {
		t.Errorf("the answer of a long trace: %s", s)
	}
}

// TestUniqueFactorIsReplayed compares the drops of a trace with twice the unique stacks
// with what the factor says of the trace with as many as there are.
func TestUniqueFactorIsReplayed(t *testing.T) {
	double := new(records)
	for i := range 12_000 {
		double.add(0, uint64(1000*(i+1)), 7, 32)
		double.stack(record.KernelStack, frames(i%3000, 5)...)
	}
	single := new(records)
	for i := range 12_000 {
		single.add(0, uint64(1000*(i+1)), 7, 32)
		single.stack(record.KernelStack, frames(i%3000/2, 5)...)
	}
	want := mustEstimate(t, double, Options{}).Capacity
	got := mustEstimate(t, single, Options{Plan: Plan{UniqueFactor: 2}}).Capacity
	for i, m := range got.Maps {
		if math.Abs(m.DropsPct-want.Maps[i].DropsPct) > 0.5 {
			t.Errorf("bits=%d: %.2f %% dropped, replayed %.2f %%", m.Bits, m.DropsPct, want.Maps[i].DropsPct)
		}
	}
	if want.Maps[0].DropsPct < 30 || got.EnoughBits != 12 {
		t.Errorf("%+v, enough: %d", want.Maps[0], got.EnoughBits)
	}
	// Drops that are allowed make a smaller map enough.
	most := 40.0
	if c := mustEstimate(t, &records{records: double.records}, Options{Plan: Plan{MaxDropPct: &most}}).Capacity; c.EnoughBits != 11 {
		t.Errorf("%d bits drop at most 40 %%: %+v", c.EnoughBits, c.Maps)
	}
}

// TestBudget: buffers and map take no more than the budget, and one page more for each
// buffer would.
func TestBudget(t *testing.T) {
	for _, instances := range []int{1, 3} {
		const kb = 20_000
		c := mustEstimate(t, even(30_000, 50), Options{
			Designs: designs(t, "full-stacks,stackmap-v2,stackmap-v4,no-stacks"),
			Plan:    Plan{BudgetKB: kb, Instances: instances},
		}).Capacity
		if len(c.Budget) != 4 || c.Best != "stackmap-v2" {
			t.Fatalf("%d instances: %s of %+v", instances, c.Best, c.Budget)
		}
		for _, r := range c.Budget {
			if more := r.Memory + uint64(instances)*2*4096; r.Memory > kb*1024 || more <= kb*1024 {
				t.Errorf("%s takes %d bytes of %d", r.Design, r.Memory, kb*1024)
			}
			if r.OthersSeconds.Known() != (r.Design == "stackmap-v4" && instances > 1) || r.OthersSeconds >= r.Seconds {
				t.Errorf("%s: %v s, other instances %v s", r.Design, r.Seconds, r.OthersSeconds)
			}
		}
	}
	c := mustEstimate(t, even(3000, 50), Options{Plan: Plan{BudgetKB: 20}}).Capacity
	if len(c.Budget) != 0 || !strings.Contains(strings.Join(c.Lines(), "\n"), "20 KB are too little") {
		t.Errorf("20 KB: %+v", c.Budget)
	}
}

// TestInstancesShareTheMap: its memory counts once, and in v4 only one instance has ids.
func TestInstancesShareTheMap(t *testing.T) {
	plan := Plan{TargetSeconds: 1, Instances: 4}
	opt := Options{Designs: designs(t, "full-stacks,stackmap-v2,stackmap-v4"), Plan: plan}
	c := mustEstimate(t, even(30_000, 50), opt).Capacity
	full, v2, v4 := c.LookBack[0], c.LookBack[1], c.LookBack[2]
	one := func(kb uint64) uint64 { return 2 * 4096 * ((kb*1024+4079)/4080 + 1) }
	for _, x := range []struct {
		got Reach
		mem uint64
	}{
		{full, 4 * one(full.BufferKB)},
		{v2, v2.MapBytes + 4*one(v2.BufferKB)},
		{v4, v4.MapBytes + one(v4.BufferKB) + 3*one(full.BufferKB)},
	} {
		if x.got.Memory != x.mem {
			t.Errorf("%s: %d bytes, want %d", x.got.Design, x.got.Memory, x.mem)
		}
	}
	opt.Designs = designs(t, "full-stacks,stackmap-v2:per-instance=yes,stackmap-v4:per-instance=yes")
	each := mustEstimate(t, even(30_000, 50), opt).Capacity
	for _, x := range each.LookBack[1:] {
		if x.MapBytes != 4*v2.MapBytes || x.OthersKB != 0 || x.Memory != x.MapBytes+4*one(x.BufferKB) {
			t.Errorf("a map for each instance: %+v, one map has %d bytes", x, v2.MapBytes)
		}
	}
	if text := strings.Join(each.Lines(), "\n"); !strings.Contains(text, "stackmap-v4:per-instance=yes: 4 instances have a map each") {
		t.Error(text)
	}
	if v4.OthersKB != full.BufferKB || v2.OthersKB != 0 {
		t.Errorf("other instances: v2 %d KB, v4 %d KB", v2.OthersKB, v4.OthersKB)
	}
	text := strings.Join(c.Lines(), "\n")
	for _, want := range []string{"stackmap-v2: one map for the whole kernel; 4 instances share it", "stackmap-v4: one map for the whole kernel, which only the top instance can use; the other 3"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	// Four instances fill a buffer of each, so the map has paid after a quarter of the time.
	opt.Plan = Plan{}
	alone := mustEstimate(t, even(30_000, 50), opt).Capacity
	if a, b := alone.Pays.After.Events, c.Pays.After.Events; a < 4*b-4 || a > 4*b {
		t.Errorf("the map pays after %d events, with four instances after %d", a, b)
	}
}

// TestTooShortForALaw: what is too short, or has no order, says so and gives no number.
func TestTooShortForALaw(t *testing.T) {
	timeless := kernelHeavy(5000, 50, 6)
	for i := range timeless.records {
		timeless.records[i].Time = 0
	}
	for name, c := range map[string]struct {
		src *records
		why string
	}{
		"short":    {even(900, 50), "too short for a law of growth: that takes 1,000 stacks"},
		"timeless": {timeless, "no times"},
		"empty":    {new(records), "no kernel stacks"},
	} {
		r := mustEstimate(t, c.src, Options{})
		g := r.Capacity.Growth
		if g.Law != "" || g.Doubled+g.DoubledAtWorst != 0 || !strings.Contains(g.Why, c.why) || r.Capacity.Shown() {
			t.Errorf("%s: %+v", name, g)
		}
		for _, m := range r.Capacity.Maps {
			if m.Full.Known || m.FullAtWorst.Known {
				t.Errorf("%s: %+v", name, m)
			}
		}
		asked := mustEstimate(t, &records{records: c.src.records}, Options{Plan: Plan{TargetSeconds: 1}})
		var b bytes.Buffer
		if err := WriteText(&b, TextOptions{}, asked); err != nil || !strings.Contains(b.String(), "Growth of unique kernel stacks: ") {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
	}
}

func TestImpossiblePlans(t *testing.T) {
	much := 101.0
	for _, p := range []Plan{
		{TargetSeconds: -1},
		{TargetSeconds: 1e12},
		{TargetSeconds: math.NaN()},
		{MaxDropPct: &much},
		{BudgetKB: 1 << 50},
		{Instances: -1},
		{Instances: 1 << 20},
		{UniqueFactor: -2},
		{UniqueFactor: math.Inf(1)},
		{Rate: -5},
		{Rate: 1e15},
	} {
		if err := (Options{Plan: p}).Validate(); !errors.Is(err, errRange) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	extreme := Plan{TargetSeconds: maxTargetSeconds, Instances: maxInstances, UniqueFactor: maxUniqueFactor, Rate: maxRate, BudgetKB: maxBudgetKB}
	r := mustEstimate(t, even(3000, 50), Options{Plan: extreme})
	if l := r.Capacity.LookBack[0]; l.BufferKB != 0 || l.Seconds.Known() {
		t.Errorf("%+v", l)
	}
	if err := WriteJSON(new(bytes.Buffer), r); err != nil {
		t.Error(err)
	}
}
