package timeline

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ftracelab/budget"
)

// recorded is a trace.dat of the simulated machine.
func recorded(t testing.TB, args ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.dat")
	cmd := exec.Command("go", append([]string{"run", "ftracelab/cmd/ftracelab", "run", "mix", "--out", name}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

func open(t testing.TB, name string) *Timeline {
	t.Helper()
	line, err := Open(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := line.Close(); err != nil {
			t.Error(err)
		}
	})
	return line
}

// unpacked is the content of a file, which may be packed.
func unpacked(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil && strings.HasSuffix(name, ".gz") {
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(text)); err == nil {
			text, err = io.ReadAll(r)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestOracle reads files that trace-cmd wrote on a real kernel. Every row is what
// trace-cmd report printed for it.
func TestOracle(t *testing.T) {
	dir := os.Getenv("FTRACELAB_ORACLE")
	if dir == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("FTRACELAB_ORACLE is not set")
		}
		t.Skip("FTRACELAB_ORACLE is not set: no file of trace-cmd to read")
	}
	for _, c := range [][2]string{{"trace_ev.dat.gz", "trace_ev.report.txt.gz"}, {"trace_fn.dat.gz", "trace_fn.report.txt"}} {
		name := filepath.Join(t.TempDir(), "x.dat")
		if err := os.WriteFile(name, unpacked(t, filepath.Join(dir, "debian", "stacks", c[0])), 0o644); err != nil {
			t.Fatal(err)
		}
		line := open(t, name)
		text := unpacked(t, filepath.Join(dir, "debian", "stacks", c[1]))
		var want []string
		for l := range strings.Lines(string(text)) {
			if _, info, ok := strings.Cut(l, "]"); ok && !strings.Contains(l, "EVENTS DROPPED]") {
				want = append(want, strings.Join(strings.Fields(info)[1:], " "))
			}
		}
		var got []string
		for from := 0; ; from += MaxRows {
			rows, err := line.Rows(from, MaxRows)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				first, _, _ := strings.Cut(r.Info, "\n")
				got = append(got, strings.TrimSpace(r.Event+": "+strings.Join(strings.Fields(first), " ")))
			}
			if len(rows) < MaxRows {
				break
			}
		}
		if c[0] == "trace_ev.dat.gz" && len(got) > len(want) {
			got = got[:len(want)] // the oracle has the first 60,000 lines
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %d rows, and the report has %d", name, len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%s, event %d: %q, and the report says %q", name, i, got[i], want[i])
			}
		}
	}
}

// TestPeriods holds the periods of each task against the text of its switches.
func TestPeriods(t *testing.T) {
	line := open(t, recorded(t, "--set", "set_event=sched", "--duration", "300ms"))
	in := line.Info()
	rows, err := line.Rows(0, MaxRows)
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range in.Tasks {
		if task.PID == 0 {
			continue // it runs on several CPUs at once
		}
		p := line.Periods(task.PID)
		var began []uint64
		for _, r := range rows {
			if r.Event != "sched_switch" {
				continue
			}
			_, next, _ := strings.Cut(r.Info, " ==> ")
			if strings.Contains(next, fmt.Sprintf(":%d [", task.PID)) {
				began = append(began, r.Time)
			}
		}
		for _, at := range began {
			if !slices.ContainsFunc(p.Ran, func(b Period) bool { return b.From == at }) {
				t.Errorf("%s-%d: no period begins at %d", task.Comm, task.PID, at)
			}
		}
		all := slices.Concat(p.Ran, p.Woken, p.Preempted)
		slices.SortFunc(all, func(a, b Period) int { return int(a.From) - int(b.From) })
		for i, b := range all {
			if b.From > b.To {
				t.Errorf("%d: a period from %d to %d", task.PID, b.From, b.To)
			}
			if i > 0 && all[i-1].To > b.From {
				t.Errorf("%d: %v and %v overlap", task.PID, all[i-1], b)
			}
		}
		if len(began) > 0 && len(p.Woken)+len(p.Preempted) == 0 {
			t.Errorf("%s-%d began %d times and never waited", task.Comm, task.PID, len(began))
		}
	}
}

// TestLostEvents: no period spans a place where events were lost.
func TestLostEvents(t *testing.T) {
	line := open(t, recorded(t, "--set", "set_event=sched", "--duration", "300ms"))
	pid := line.Info().Tasks[0].PID
	whole := line.Periods(pid)
	for i := range line.n {
		line.gaps[i] = -1
	}
	for _, b := range line.Periods(pid).Ran {
		if !b.Open || b.From != b.To {
			t.Fatalf("%v spans lost events", b)
		}
	}
	if len(whole.Ran) < 10 {
		t.Fatalf("only %d periods", len(whole.Ran))
	}
	if rows, err := line.Rows(0, 1); err != nil || rows[0].Lost != -1 {
		t.Fatalf("%+v, %v", rows, err)
	}
}

// TestFindAndFilter compares both with a look at each row.
func TestFindAndFilter(t *testing.T) {
	line := open(t, recorded(t, "--set", "set_event=sched irq", "--duration", "100ms"))
	n := line.Info().Events
	var rows []Row
	for len(rows) < n {
		more, err := line.Rows(len(rows), MaxRows)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, more...)
	}
	for _, text := range []string{"SOFTIRQ", "swapper/1", "nowhere", "prev_prio"} {
		var want []uint32
		for i, r := range rows {
			if strings.Contains(strings.ToLower(fmt.Sprintf("%s-%d %s %s", r.Task, r.PID, line.types[line.event(i).kind], r.Info)), strings.ToLower(text)) {
				want = append(want, uint32(i))
			}
		}
		got, err := line.Filter(Filter{Text: text}, 0, n)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %d events, want %d, %v", text, len(got), len(want), err)
		}
		first, err := line.Find(text, 0, false, Filter{})
		if len(want) == 0 && first != -1 || len(want) > 0 && first != int(want[0]) || err != nil {
			t.Errorf("%q is found at %d, %v", text, first, err)
		}
		last, err := line.Find(text, n-1, true, Filter{})
		if len(want) > 0 && last != int(want[len(want)-1]) || err != nil {
			t.Errorf("%q is found backwards at %d, %v", text, last, err)
		}
	}
	cpu := int(line.event(0).cpu)
	kept, err := line.Filter(Filter{CPUs: []int{cpu}, PIDs: []int32{0}}, 0, n)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range kept {
		if rows[i].CPU != cpu || rows[i].PID != 0 {
			t.Fatalf("%+v is kept", rows[i])
		}
	}
	if len(kept) == 0 {
		t.Error("nothing is kept")
	}
	if at, err := line.Find("", 0, false, Filter{CPUs: []int{cpu}, PIDs: []int32{0}}); err != nil || at != int(kept[0]) {
		t.Errorf("the first that is kept is found at %d, %v", at, err)
	}
	if got := len(line.Columns(0)); got != 18*n {
		t.Errorf("%d bytes of columns for %d events", got, n)
	}
}

// TestDamage: a file that ends early is shown up to there, and one that is no trace.dat is
// refused.
func TestDamage(t *testing.T) {
	name := recorded(t, "--set", "set_event=sched", "--duration", "300ms", "--compression", "none")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(t.TempDir(), "torn.dat")
	for _, cut := range []int{0, 1, 10, len(text) / 2, len(text) - 5000} {
		if err := os.WriteFile(torn, text[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		line, err := Open(torn, nil)
		switch {
		case err != nil && !strings.Contains(err.Error(), "torn.dat"):
			t.Errorf("%d bytes: the error does not name the file: %v", cut, err)
		case err == nil:
			if len(line.Info().Notes) == 0 {
				t.Errorf("%d bytes: no note", cut)
			}
			_ = line.Close()
		}
	}
	if _, err := Open(name, budget.New(1<<16)); err == nil {
		t.Error("64 KiB of memory are enough")
	}
}

// TestTogether reads a file with two instances: all events are there in the order of time,
// each with its buffer, and those of a buffer are those that it has alone. Read in pieces,
// it is the same.
func TestTogether(t *testing.T) {
	name := recorded(t, "--instance", "irqs", "--instance", "calls", "--set", "set_event=sched", "--set", "instances/irqs/set_event=irq",
		"--set", "instances/calls/set_event=syscalls", "--duration", "100ms")
	line := open(t, name)
	in := line.Info()
	if in.Buffer != All || len(in.Buffers) != 3 || !in.Done || len(in.Notes) > 0 {
		t.Fatalf("%+v", in)
	}
	rows := every(t, line)
	if !slices.IsSortedFunc(rows, func(a, b Row) int { return cmp.Compare(a.Time, b.Time) }) {
		t.Error("the events are not in the order of time")
	}
	sum := 0
	for i, b := range in.Buffers {
		alone, err := OpenBuffer(name, i, nil)
		if err != nil {
			t.Fatal(err)
		}
		var of []Row
		for _, r := range rows {
			if r.Buffer == b.Name {
				r.Index = len(of)
				of = append(of, r)
			}
		}
		if want := every(t, alone); !b.Shown || len(of) == 0 || b.Events != len(of) || !slices.Equal(of, want) {
			t.Errorf("buffer %q: %d of its events are among all, and it has %d; Info says %+v", b.Name, len(of), len(want), b)
		}
		kept, err := line.Filter(Filter{Buffers: []int{i}}, 0, in.Events)
		if err != nil || len(kept) != b.Events {
			t.Errorf("buffer %q: %d are kept, %v", b.Name, len(kept), err)
		}
		sum += b.Events
		_ = alone.Close()
	}
	if sum != in.Events {
		t.Errorf("the buffers have %d events, all of them %d", sum, in.Events)
	}

	pieces, err := Begin(name, All, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pieces.Close() })
	var columns []byte
	for n := 1; ; n = 3*n + 1 {
		done, err := pieces.More(n)
		if err != nil {
			t.Fatal(err)
		}
		if got := pieces.Info().Events; !done && got <= len(columns)/8 {
			t.Fatalf("%d events, and it goes on", got)
		}
		for i := len(columns) / 8; i < pieces.Info().Events; i++ {
			columns = append(columns, pieces.Columns(i)[:8]...) // its time is the first of the rest
		}
		if done {
			break
		}
	}
	if whole := line.Columns(0); !bytes.Equal(columns, whole[:8*in.Events]) || !slices.Equal(every(t, pieces), rows) {
		t.Error("read in pieces, it is something else")
	}
}

// every is all rows of a time line.
func every(t *testing.T, line *Timeline) []Row {
	t.Helper()
	var rows []Row
	for {
		more, err := line.Rows(len(rows), MaxRows)
		if err != nil {
			t.Fatal(err)
		}
		if rows = append(rows, more...); len(more) < MaxRows {
			return rows
		}
	}
}

// TestOtherClock: a buffer with another clock is not among the others, which a note says,
// and can be opened alone.
func TestOtherClock(t *testing.T) {
	name := recorded(t, "--instance", "other", "--set", "set_event=sched", "--set", "instances/other/set_event=irq",
		"--set", "instances/other/trace_clock=global", "--duration", "50ms")
	in := open(t, name).Info()
	if want := `the instance "other" has the clock "global", and the top buffer has "local"`; len(in.Notes) != 1 || !strings.HasPrefix(in.Notes[0], want) || in.Buffers[1].Shown || in.Buffers[1].Events > 0 {
		t.Errorf("%+v", in)
	}
	for _, k := range in.Kinds {
		if !strings.HasPrefix(k.Name, "sched/") {
			t.Errorf("%s is of the other buffer", k.Name)
		}
	}
	other, err := OpenBuffer(name, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if in := other.Info(); in.Clock != "global" || in.Events == 0 || len(in.Notes) > 0 {
		t.Errorf("%+v", in)
	}
}

// FuzzOpen changes bytes of a trace.dat. Whatever can be opened can be looked at.
func FuzzOpen(f *testing.F) {
	text, err := os.ReadFile(recorded(f, "--set", "set_event=sched:sched_switch", "--duration", "5ms", "--compression", "none"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), byte(0), uint32(0))
	f.Add(uint32(4000), byte(0xff), uint32(1))
	f.Add(uint32(len(text)-4000), byte(0x80), uint32(100))
	f.Fuzz(func(t *testing.T, at uint32, to byte, cut uint32) {
		changed := slices.Clone(text[:len(text)-int(cut)%len(text)])
		if len(changed) > 0 {
			changed[int(at)%len(changed)] = to
		}
		name := filepath.Join(t.TempDir(), "x.dat")
		if err := os.WriteFile(name, changed, 0o644); err != nil {
			t.Fatal(err)
		}
		line, err := Open(name, budget.New(64<<20))
		if err != nil {
			return
		}
		defer line.Close()
		in := line.Info()
		if len(line.Columns(0)) != 18*in.Events {
			t.Fatal("the columns are not as long as there are events")
		}
		if _, err := line.Rows(0, 50); err != nil {
			t.Fatal(err)
		}
		for _, task := range in.Tasks[:min(3, len(in.Tasks))] {
			line.Periods(task.PID)
		}
	})
}

// BenchmarkOpen reads a file of some 100,000 events.
func BenchmarkOpen(b *testing.B) {
	name := recorded(b, "--set", "set_event=sched irq timer syscalls", "--duration", "10s")
	n := open(b, name).Info().Events
	for b.Loop() {
		line, err := Open(name, budget.New(1<<30))
		if err != nil {
			b.Fatal(err)
		}
		_ = line.Close()
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
