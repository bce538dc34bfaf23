package model_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"ftracelab/budget"
	"ftracelab/capture"
	"ftracelab/report"
	"ftracelab/report/model"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// small is a model with everything in it, and a law.
const small = `schema: ftracelab/model/2
learned:
  from: a machine
  events: 10000
  lost: 3
  seconds: 1
cpus:
  - cpu: 0
    events: 9000
    gaps: [[10, 4500], [212, 4500]]
    again: 0.8
    tasks: [{pid: 7, comm: web, events: 6000}]
    others: [3, 3000]
  - cpu: 2
    events: 1000
    gaps: [[1000000, 1000]]
    again: 0
    tasks: [{pid: 0, events: 1000}]
    others: [0, 0]
events:
  - name: kmem:kmalloc
    events: 8000
    with-kernel-stack: 8000
    with-user-stack: 0
    sizes: [[40, 4000], [80, 4000]]
  - name: sched:sched_switch
    events: 2000
    with-kernel-stack: 0
    with-user-stack: 1000
    sizes: [[64, 2000]]
kernel-stacks:
  ranked: [[5000, 10, 1], [100, 20, 25], [5, 30, 100]]
  growth: [[1, 1], [4000, 90], [8000, 126]]
  own: [[1, 26], [3, 100]]
  exponent: 0.5
user-stacks:
  ranked: [[10, 4, 100]]
  growth: [[1000, 100]]
  own: [[4, 100]]
  exponent: 0
`

func parse(t testing.TB, text string) *model.Model {
	t.Helper()
	m, err := model.Parse([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// drawn is what a source gave, record by record.
func drawn(t testing.TB, m *model.Model, opt model.RunOptions) (records []record.Record, caveats []string) {
	t.Helper()
	src, err := m.Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	for {
		var r record.Record
		err := src.Next(&r)
		if errors.Is(err, io.EOF) {
			return records, src.Caveats()
		}
		if err != nil {
			t.Fatal(err)
		}
		r.Data, r.Stack = bytes.Clone(r.Data), append([]uint64(nil), r.Stack...)
		records = append(records, r)
	}
}

func TestWriteAndParse(t *testing.T) {
	m := parse(t, small)
	var out bytes.Buffer
	if err := m.Write(&out); err != nil {
		t.Fatal(err)
	}
	if out.String() != small {
		t.Errorf("written again:\n%s", out.String())
	}
}

func TestSameSeedSameRecords(t *testing.T) {
	m := parse(t, small)
	run := func(seed uint64) []record.Record {
		records, _ := drawn(t, m, model.RunOptions{Seed: seed, Events: 500})
		for n := range records {
			records[n].Type = nil // each run has types of its own
		}
		return records
	}
	if !reflect.DeepEqual(run(1), run(1)) {
		t.Error("two runs with the same seed differ")
	}
	if reflect.DeepEqual(run(1), run(2)) {
		t.Error("two seeds give the same records")
	}
}

// What is drawn has the proportions of the model.
func TestProportions(t *testing.T) {
	records, caveats := drawn(t, parse(t, small), model.RunOptions{Seed: 1})
	var events, ofCPU2, web, again, switches, bytes float64
	var last record.Record
	pid := map[int]int32{}
	stacks := map[record.Kind]map[string]int{record.KernelStack: {}, record.UserStack: {}}
	count := map[record.Kind]float64{}
	for _, r := range records {
		if r.Kind != record.Event {
			stacks[r.Kind][fmt.Sprint(r.Stack)]++
			count[r.Kind]++
			if r.CPU != last.CPU || r.Time != last.Time || r.Common != last.Common {
				t.Fatal("a stack is not of the event before it")
			}
			continue
		}
		events++
		if r.CPU == 2 {
			ofCPU2++
		} else {
			if r.Common.PID == 7 {
				web++
			}
			if pid[0] == r.Common.PID {
				again++
			}
			pid[0] = r.Common.PID
		}
		if r.Type.String() == "sched/sched_switch" {
			switches++
		}
		if event.ParseCommon(r.Data) != r.Common {
			t.Fatal("a record's header is not that of the event")
		}
		bytes += float64(len(r.Data))
		last = r
	}
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if math.Abs(got-want) > tolerance*want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	near("events", events, 10000, 0)
	near("events of CPU 2", ofCPU2/events, 1/(1+1e6/111.), 0.9)
	near("events of the task web", web/(events-ofCPU2), 2./3, 0.05)
	// Most of them because the task goes on, of the others as many as chance has it.
	near("events of the same task", again/(events-ofCPU2), .8+.2*(4./9+3./81), 0.05)
	near("switches", switches/events, .2, 0.1)
	near("bytes", bytes/events, .8*60+.2*64, 0.02)
	near("kernel stacks", count[record.KernelStack], 8000, 0.05)
	near("user stacks", count[record.UserStack], 1000, 0.1)
	near("different kernel stacks", float64(len(stacks[record.KernelStack])), 126, 0.02)
	near("different user stacks", float64(len(stacks[record.UserStack])), 100, 0.1)
	most := 0
	for _, n := range stacks[record.KernelStack] {
		most = max(most, n)
	}
	near("the most common stack", float64(most)/8000, 5./8, 0.1)
	if text := strings.Join(caveats, "\n"); !strings.Contains(text, "had lost 3 events") {
		t.Errorf("caveats: %s", text)
	}
}

func TestBeyondWhatWasLearned(t *testing.T) {
	m := parse(t, small)
	records, caveats := drawn(t, m, model.RunOptions{Seed: 1, Events: 40000})
	different := map[string]bool{}
	for _, r := range records {
		if r.Kind == record.KernelStack {
			different[fmt.Sprint(r.Stack)] = true
		}
	}
	if n := len(different); n < 248 || n > 256 { // 126 * 4^0.5
		t.Errorf("%d different stacks among four times as many", n)
	}
	if text := strings.Join(caveats, "\n"); !strings.Contains(text, "Heaps' law with exponent 0.5") {
		t.Errorf("caveats: %s", text)
	}

	m.Kernel.Exponent = nil
	src, err := m.Open(model.RunOptions{Events: 40000})
	for err == nil {
		err = src.Next(new(record.Record))
	}
	if !strings.Contains(err.Error(), "learned from 8,000 stacks, too few for a law") {
		t.Error(err)
	}
}

func TestDuration(t *testing.T) {
	records, _ := drawn(t, parse(t, small), model.RunOptions{Seed: 1, Duration: 1e6})
	last := records[len(records)-1]
	if n := len(records); last.Time > 1e6 || n < 12000 || n > 20000 { // a millisecond with gaps of 111 ns on average has some 9,000 events
		t.Errorf("%d records until %d", n, last.Time)
	}
	m := parse(t, small)
	m.Learned.Seconds = 0
	for n := range m.CPUs {
		m.CPUs[n].Gaps = nil
	}
	if _, err := m.Open(model.RunOptions{Duration: 1}); err == nil || !strings.Contains(err.Error(), "no times") {
		t.Error(err)
	}
	if records, _ := drawn(t, m, model.RunOptions{}); records[len(records)-1].Time != 0 {
		t.Error("a model without times gives times")
	}
}

// made is a trace of records that are made here.
type made []record.Record

func (m *made) Next(r *record.Record) error {
	if len(*m) == 0 {
		return io.EOF
	}
	*r, *m = (*m)[0], (*m)[1:]
	return nil
}

func TestLearn(t *testing.T) {
	typ, err := event.NewType(1000, "kmem", "kmalloc", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	var trace made
	for n := range 100 {
		e := record.Record{Time: 1000 + uint64(n)*100, Type: typ, Common: event.Common{PID: int32(n % 40)}, Data: make([]byte, 8+4*n)}
		if n == 30 || n == 31 {
			e.CPU = 1
		}
		trace = append(trace, e)
		if n >= 50 {
			e.Kind, e.Stack = record.KernelStack, []uint64{uint64(n % 7), 1}
			trace = append(trace, e)
		}
	}
	trace = append(trace, record.Record{Kind: record.Lost, Count: 5}, record.Record{Kind: record.Lost, Count: record.LostUnknown})
	m, err := model.Learn(t.Context(), &trace, model.LearnOptions{Comm: func(pid int32) string { return fmt.Sprint("task ", pid) }})
	if err != nil {
		t.Fatal(err)
	}
	if l := m.Learned; l.Events != 100 || l.Lost != 5 || l.Seconds != 9.9e-6 {
		t.Errorf("learned: %+v", l)
	}
	for _, c := range m.CPUs {
		span, gaps := uint64(0), uint64(0)
		for _, g := range c.Gaps {
			span, gaps = span+g[0]*g[1], gaps+g[1]
		}
		if span != 9900 || gaps != c.Events {
			t.Errorf("CPU %d: %d gaps of %d ns in all, want %d of 9900", c.CPU, gaps, span, c.Events)
		}
	}
	if c := m.CPUs[0]; len(c.Tasks) != 32 || c.Others != (model.Pair{8, 14}) || c.Tasks[0] != (model.Task{PID: 0, Comm: "task 0", Events: 3}) {
		t.Errorf("tasks %+v and %v others", c.Tasks, c.Others)
	}
	sum, count := uint64(0), uint64(0)
	for _, s := range m.Events[0].Sizes {
		sum, count = sum+s[0]*s[1], count+s[1]
	}
	if e := m.Events[0]; len(e.Sizes) != 32 || count != 100 || sum < 20600-100 || sum > 20600+100 || e.Kernel != 50 || e.User != 0 {
		t.Errorf("%+v: %d bytes", e, sum)
	}
	if want := (&model.Stacks{
		Own:    []model.Pair{{1, 6}, {2, 1}},
		Ranked: []model.Triple{{8, 2, 1}, {7, 2, 6}},
		Growth: m.Kernel.Growth,
	}); !reflect.DeepEqual(m.Kernel, want) || m.Kernel.Unique() != 7 {
		t.Errorf("stacks %+v", m.Kernel)
	}
}

// A model of a whole capture predicts that capture.
func TestModelPredictsItsOwnCapture(t *testing.T) {
	learn := func() (*model.Model, report.Input, []report.Result) {
		c, err := capture.OpenExample(capture.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		m, err := model.Learn(t.Context(), c, model.LearnOptions{From: "example", Comm: c.Comm})
		if err != nil {
			t.Fatal(err)
		}
		c2, err := capture.OpenExample(capture.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c2.Close()
		r, err := report.Estimate(t.Context(), c2, report.Options{Types: c2.Types()})
		if err != nil {
			t.Fatal(err)
		}
		return m, r.Input, r.Designs
	}
	m, in, designs := learn()
	again, _, _ := learn()
	if !reflect.DeepEqual(m, again) {
		t.Error("the same capture gives two models")
	}
	for seed := range uint64(5) {
		src, err := m.Open(model.RunOptions{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		r, err := report.Estimate(t.Context(), src, report.Options{})
		if err != nil {
			t.Fatal(err)
		}
		check := func(what string, got, want, percent float64) {
			if math.Abs(got/want-1) > percent/100 {
				t.Errorf("seed %d: %s: %v, want %v", seed, what, got, want)
			}
		}
		check("events", float64(r.Input.Events), float64(in.Events), 0)
		check("unique stacks", float64(r.Input.UniqueStacks), float64(in.UniqueStacks), 1)
		check("seconds", float64(r.Input.Seconds), float64(in.Seconds), 35) // one gap is a third of it
		for n := range designs {
			check(designs[n].Name, r.Designs[n].BytesPerEvent, designs[n].BytesPerEvent, 1)
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"schema: ftracelab/model/2", "schema: ftracelab/model/3", `line 1: schema: "ftracelab/model/3": want ftracelab/model/2 or ftracelab/model/1`},
		{"schema: ftracelab/model/2", "schema: ftracelab/model/1", "line 34: kernel-stacks.own: ftracelab/model/1 has none"},
		{"  own: [[4, 100]]\n", "", "user-stacks.own: none"},
		{"[3, 100]]", "[3, 0]]", "line 34: kernel-stacks.own[1]: [3 0]: want [addresses, stacks]"},
		{"  lost: 3", "  lots: 3", "line 5: no key lots; there are from, events, lost, seconds, held-out, held-out-slices"},
		{"  events: 10000", "  events: 0", "line 4: learned.events: 0: want 1 to "},
		{"  seconds: 1", "  seconds: .nan", "line 6: learned.seconds: NaN: want 0 to 1e9"},
		{"  - cpu: 2", "  - cpu: 0", "line 14: cpus[1].cpu: CPU 0 is there twice"},
		{"[212, 4500]", "[212, 0]", "line 10: cpus[0].gaps[1]: [212 0]: want [nanoseconds, how often]"},
		{"[212, 4500]", "[212]", "line 10: a row of 1 numbers: want 2"},
		{"again: 0.8", "again: 1", "line 11: cpus[0].again: 1: want 0 to less than 1"},
		{"[212, 4500]", "[212, x]", "line 10: cannot unmarshal"},
		{"others: [3, 3000]", "others: [0, 3000]", "line 13: cpus[0].others: [0 3000]: want [tasks, events]"},
		{"    gaps: [[1000000, 1000]]\n", "", "line 14: cpus[1].gaps: none"},
		{"kmem:kmalloc", "kmalloc", `line 21: events[0].name: "kmalloc": want SYSTEM:NAME`},
		{"with-kernel-stack: 8000", "with-kernel-stack: 8001", "line 23: events[0].with-kernel-stack: 8001 of 8000 events"},
		{"[64, 2000]", "[7, 2000]", "line 30: events[1].sizes[0]: [7 2000]: want [bytes, how often], 8 to 65536 bytes"},
		{"[100, 20, 25]", "[100, 20, 900000]", "line 32: kernel-stacks.ranked[1]: "},
		{"[4000, 90]", "[4000, 5000]", "line 33: kernel-stacks.growth[1]: [4000 5000] after [1 1]"},
		{"[8000, 126]", "[8000, 127]", "line 33: kernel-stacks.growth: ends with 127 different stacks: want 1 to the 126 of ranked"},
		{"exponent: 0.5", "exponent: 2", "line 35: kernel-stacks.exponent: 2: want 0 to 1"},
		{small[strings.Index(small, "user-stacks:\n"):], "", "user-stacks: none, but events have them"},
		{small, "", "schema: \"\": want ftracelab/model/2"},
	} {
		text := strings.Replace(small, c.old, c.new, 1)
		if text == small {
			t.Fatalf("%q is not there", c.old)
		}
		if _, err := model.Parse([]byte(text), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v\nwant %q", c.new, err, c.want)
		}
	}
}

func TestSizeIsBounded(t *testing.T) {
	long := append([]byte(small), bytes.Repeat([]byte("#"), model.MaxBytes)...)
	if _, err := model.Parse(long, nil); err == nil || !strings.Contains(err.Error(), "bytes at most") {
		t.Error(err)
	}
	spent := budget.New(1)
	for spent.Take(1<<10, "all there is") == nil {
		continue
	}
	if _, err := model.Parse([]byte(small), spent); !errors.As(err, new(*budget.Error)) {
		t.Error(err)
	}
	m := parse(t, small)
	m.Learned.From = strings.Repeat("x", model.MaxBytes)
	var out bytes.Buffer
	if err := m.Write(&out); err == nil || out.Len() > 0 {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
}

func TestNothingToLearnFrom(t *testing.T) {
	c, err := capture.OpenReader(strings.NewReader("# tracer: nop\n#\n"), "empty", capture.Options{Format: capture.FormatFtrace})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := model.Learn(t.Context(), c, model.LearnOptions{}); err == nil || !strings.Contains(err.Error(), "no event") {
		t.Error(err)
	}
}

// FuzzParse draws from whatever is taken for a model.
func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("schema: ftracelab/model/1"))
	f.Add([]byte(strings.NewReplacer("model/2", "model/1", "  own: [[1, 26], [3, 100]]\n", "", "  own: [[4, 100]]\n", "").Replace(small)))
	f.Add([]byte(strings.Replace(small, "[[1, 1], ", "[[7, 1], ", 1)))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := model.Parse(text, nil)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := m.Write(&out); err != nil {
			t.Fatal(err)
		}
		again, err := model.Parse(out.Bytes(), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, out.Bytes())
		}
		if !reflect.DeepEqual(m, again) {
			t.Fatalf("written and read again, it is another model\n%s", out.Bytes())
		}
		src, err := m.Open(model.RunOptions{Events: 200})
		if err != nil {
			return
		}
		for range 600 {
			if src.Next(new(record.Record)) != nil {
				break
			}
		}
	})
}
