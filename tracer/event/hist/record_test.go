package hist

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/event/filter"
)

// keyKinds are keys of sched_switch and how they are shown.
var keyKinds = []struct {
	key  string
	text func(r *events.SchedSwitchRecord, m *Moment) string
}{
	{"prev_comm", func(r *events.SchedSwitchRecord, _ *Moment) string {
		return fmt.Sprintf("prev_comm: %-50s", untilNUL(r.PrevComm[:]))
	}},
	{"next_pid", func(r *events.SchedSwitchRecord, _ *Moment) string {
		return fmt.Sprintf("next_pid: %10d", uint64(int64(r.NextPID)))
	}},
	{"prev_pid.hex", func(r *events.SchedSwitchRecord, _ *Moment) string {
		return fmt.Sprintf("prev_pid: %x", uint64(int64(r.PrevPID)))
	}},
	{"next_prio.buckets=20", func(r *events.SchedSwitchRecord, _ *Moment) string {
		low := uint64(int64(r.NextPrio)) / 20 * 20
		return fmt.Sprintf("next_prio: ~ %d-%d", low, low+19)
	}},
	{"common_cpu", func(_ *events.SchedSwitchRecord, m *Moment) string { return fmt.Sprintf("common_cpu: %10d", m.CPU) }},
}

// Records that are counted under composite keys show as they would if a Go map had
// counted them; what the filter or a full table keeps out does not.
func TestRecordsAgainstModel(t *testing.T) {
	typ := events.SchedSwitch.Type
	rapid.Check(t, func(t *rapid.T) {
		env := &fakeEnv{types: []*event.Type{typ}}
		i := NewInstance(env, new(Registry))
		kinds := rapid.SliceOfNDistinct(rapid.IntRange(0, len(keyKinds)-1), 1, 3, rapid.ID[int]).Draw(t, "keys")
		names := make([]string, len(kinds))
		for n, k := range kinds {
			names[n] = keyKinds[k].key
		}
		command := "keys=" + strings.Join(names, ",") + ":vals=prev_prio:size=128:sort=hitcount.descending if next_pid != 3"
		if err := i.Command(typ, command, false); err != nil {
			t.Fatal(err)
		}
		type sums struct{ hits, prio uint64 }
		model := map[string]sums{}
		drops, hits := 0, 0
		f := i.File(typ)
		for range rapid.IntRange(0, 400).Draw(t, "events") {
			r := events.SchedSwitchRecord{
				PrevPID: rapid.Int32Range(-3, 40).Draw(t, "prev_pid"), NextPID: rapid.Int32Range(-3, 40).Draw(t, "next_pid"),
				PrevPrio: rapid.Int32Range(-1, 120).Draw(t, "prev_prio"), NextPrio: rapid.Int32Range(0, 120).Draw(t, "next_prio"),
			}
			copy(r.PrevComm[:], rapid.SampledFrom([]string{"", "sh", "kworker/0:1", "fifteen letters"}).Draw(t, "comm"))
			m := &Moment{CPU: rapid.IntRange(0, 3).Draw(t, "cpu"), Comm: "sh", PID: 7}
			m.Rec = events.SchedSwitch.Append(nil, event.Common{PID: 7}, &r)
			f.Happen(m, filter.Context{CPU: m.CPU, Comm: m.Comm})
			if r.NextPID == 3 {
				continue
			}
			var key []string
			for _, k := range kinds {
				key = append(key, keyKinds[k].text(&r, m))
			}
			text := "{ " + strings.Join(key, ", ") + " }"
			old, there := model[text]
			if !there && len(model) == 128 {
				drops++
				continue
			}
			hits++
			model[text] = sums{old.hits + 1, old.prio + uint64(int64(r.PrevPrio))}
		}
		var want []string
		for _, text := range slices.Sorted(maps.Keys(model)) {
			want = append(want, fmt.Sprintf("%s hitcount: %10d  prev_prio: %10d", text, model[text].hits, model[text].prio))
		}
		shown := string(f.Show())
		body, totals, _ := strings.Cut(shown, "\n\nTotals:\n")
		_, body, _ = strings.Cut(body+"\n", "#\n\n")
		var got []string
		last := ^uint64(0)
		for line := range strings.Lines(body) {
			if line = strings.TrimSuffix(line, "\n"); line == "" {
				continue
			}
			got = append(got, line)
			var n uint64
			fmt.Sscan(line[strings.Index(line, "hitcount:")+len("hitcount:"):], &n)
			if n > last {
				t.Fatalf("not in order:\n%s", shown)
			}
			last = n
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("shown\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if wantTotals := fmt.Sprintf("    Hits: %d\n    Entries: %d\n    Dropped: %d\n", hits, len(model), drops); totals != wantTotals {
			t.Fatalf("totals\n%swant\n%s", totals, wantTotals)
		}
	})
}

// A stack of more than 16 entries is cut, and one of fewer ends where it ends.
func TestStackKey(t *testing.T) {
	l := newLab(t)
	typ := events.SchedSwitch.Type
	l.must(typ, "hist:keys=common_stacktrace,next_pid")
	for _, depth := range []int{0, 2, 16, 20} {
		m := &Moment{Stack: func(dst []uint64) []uint64 {
			for n := range depth {
				dst = append(dst, 0xffffffff81000000+uint64(n))
			}
			return dst
		}}
		m.Rec = events.SchedSwitch.Append(nil, event.Common{}, &events.SchedSwitchRecord{NextPID: 5})
		l.i.File(typ).Happen(m, filter.Context{})
	}
	var depths []int
	for _, entry := range strings.Split(string(l.i.File(typ).Show()), "{ common_stacktrace:\n")[1:] {
		depths = append(depths, strings.Count(entry, "         0xffffffff810000"))
		if !strings.Contains(entry, ", next_pid:          5} hitcount:") {
			t.Errorf("an entry ends so:\n%s", entry)
		}
	}
	slices.Sort(depths)
	if !slices.Equal(depths, []int{0, 2, 16}) { // 16 and 20 are one
		t.Errorf("stacks of %v entries", depths)
	}
}

// An event that happens within an action counts up to four deep.
func TestNestedTooDeep(t *testing.T) {
	l := newLab(t)
	typ := events.SchedSwitch.Type
	l.must(typ, "hist:keys=common_stacktrace")
	f := l.i.File(typ)
	data := events.SchedSwitch.Append(nil, event.Common{}, &events.SchedSwitchRecord{})
	depth := 0
	m := &Moment{Rec: data}
	m.Stack = func(dst []uint64) []uint64 { // asked while the event is counted
		if depth++; depth < 10 {
			f.Happen(m, filter.Context{})
		}
		return append(dst, uint64(depth))
	}
	f.Happen(m, filter.Context{})
	if depth != padsMax {
		t.Errorf("%d nested events were counted, want %d", depth, padsMax)
	}
	if got := f.triggers[0].hist.m.Hits(); got != padsMax {
		t.Errorf("%d hits, want %d", got, padsMax)
	}
}
