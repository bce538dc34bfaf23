package workload_test

import (
	"slices"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/workload"
)

// activityEvents runs the default scenario while somebody listens to all events of
// activities, and counts them; see gets each event and the kernel functions around it.
func activityEvents(t *testing.T, run machine.Time, see func(c *machine.CPU, s machine.Said)) (names []string, count map[string]int) {
	t.Helper()
	return listenToActivities(t, startScenario(t, "mix"), run, see)
}

func startScenario(t *testing.T, name string) *machine.Machine {
	t.Helper()
	m, err := machine.New(machine.Config{Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	s, err := workload.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(m); err != nil {
		t.Fatal(err)
	}
	return m
}

func listenToActivities(t *testing.T, m *machine.Machine, run machine.Time, see func(c *machine.CPU, s machine.Said)) (names []string, count map[string]int) {
	t.Helper()
	count = map[string]int{}
	m.Hooks.Learned = func(c *machine.CPU, s machine.Said) {
		count[s.Name]++
		if see != nil {
			see(c, s)
		}
	}
	names = m.LearnedTracepoints()
	for _, name := range names {
		if err := m.Enable(name, true); err != nil {
			t.Fatal(err)
		}
	}
	m.Run(run)
	return names, count
}

// TestActivities: every event that an activity of its own accord has happens.
func TestActivities(t *testing.T) {
	names, count := activityEvents(t, machine.Second, nil)
	var never []string
	for _, name := range names {
		if count[name] == 0 {
			never = append(never, name)
		}
	}
	t.Logf("%d events, %d of them happen; never: %v", len(names), len(count), never)
	if len(names)-len(never) < 120 {
		t.Errorf("never: %v", never)
	}
	for _, must := range []string{"ext4:ext4_mark_inode_dirty", "jbd2:jbd2_end_commit", "block:block_rq_complete", "net:netif_receive_skb", "skb:consume_skb"} {
		if !slices.Contains(names, must) || count[must] == 0 {
			t.Errorf("%s never happens", must)
		}
	}
}

// fieldsOf gives the fields of the events, by name.
func fieldsOf(t *testing.T) func(s machine.Said, field string) uint64 {
	t.Helper()
	table, err := event.NewTable(events.All()...)
	if err != nil {
		t.Fatal(err)
	}
	return func(s machine.Said, field string) uint64 {
		system, name, _ := strings.Cut(s.Name, ":")
		n := slices.IndexFunc(table.ByName(system, name).Fields, func(f event.Field) bool { return f.Name == field })
		if n < 0 {
			t.Fatalf("%s has no field %s", s.Name, field)
		}
		return s.Value(n)
	}
}

// TestActivityArguments: the events of an activity agree with each other. A request
// completes after it was issued, a packet is received after it was sent, the transactions
// of the journal follow each other and end, and what is removed from the page cache was
// added.
func TestActivityArguments(t *testing.T) {
	field := fieldsOf(t)
	issued, queued, cached := map[uint64]bool{}, map[uint64]bool{}, map[uint64]bool{}
	const flush = ^uint64(0) // what completes a flush without data has no sector
	var committing, last uint64
	checked := map[string]int{}
	fail := func(c *machine.CPU, s machine.Said, what string, v uint64) {
		t.Errorf("%d: %s in %s: %s %#x", c.Time, s.Name, c.Current.Comm, what, v)
	}
	activityEvents(t, machine.Second, func(c *machine.CPU, s machine.Said) {
		checked[s.Name]++
		switch s.Name {
		case "block:block_rq_issue":
			issued[field(s, "sector")] = true
		case "block:block_rq_complete":
			if v := field(s, "sector"); !issued[v] && v != flush {
				fail(c, s, "was not issued: sector", v)
			}
		case "net:net_dev_start_xmit", "net:netif_rx":
			queued[field(s, "skbaddr")] = true
		case "net:netif_receive_skb":
			if v := field(s, "skbaddr"); !queued[v] {
				fail(c, s, "was not sent: skb", v)
			}
		case "filemap:mm_filemap_add_to_page_cache":
			cached[field(s, "pfn")] = true
		case "jbd2:jbd2_start_commit":
			v := field(s, "transaction")
			if committing != 0 || v <= last {
				fail(c, s, "does not follow the one before: transaction", v)
			}
			committing, last = v, v
		case "jbd2:jbd2_end_commit":
			if v := field(s, "transaction"); v != committing {
				fail(c, s, "was not begun: transaction", v)
			}
			committing = 0
		}
	})
	for _, name := range []string{"block:block_rq_complete", "net:netif_receive_skb", "jbd2:jbd2_end_commit"} {
		if checked[name] < 4 {
			t.Errorf("%s happened %d times", name, checked[name])
		}
	}
	t.Log(checked["block:block_rq_complete"], checked["net:netif_receive_skb"], checked["jbd2:jbd2_end_commit"], len(cached))
}

// lab runs a machine for commands.
type lab struct{ m *machine.Machine }

func (l lab) Do(do func(*machine.Machine) error) error { return do(l.m) }
func (l lab) Run(d machine.Time)                       { l.m.Run(d) }

// TestModprobeDummy: loading and unloading a module have the events and functions of a
// real kernel, in its order.
func TestModprobeDummy(t *testing.T) {
	m, err := machine.New(machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := workload.Find("idle")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(m); err != nil {
		t.Fatal(err)
	}
	var seen []string
	m.Hooks.Learned = func(c *machine.CPU, s machine.Said) { seen = append(seen, c.Current.Comm+" "+s.Name) }
	m.Hooks.Call = func(c *machine.CPU, f *machine.Frame) {
		if sym, _ := m.Kallsyms().At(f.Func); sym.Module == "dummy" {
			seen = append(seen, c.Current.Comm+" "+strings.TrimPrefix(sym.Name, "dummy_"))
		}
	}
	for _, name := range m.LearnedTracepoints() {
		if strings.HasPrefix(name, "module:") || strings.HasPrefix(name, "initcall:") {
			if err := m.Enable(name, true); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := workload.Modprobe(lab{m}, "dummy", nil); err != nil || !m.HasModule("dummy") {
		t.Fatal(err)
	}
	if err := workload.Rmmod(lab{m}, "dummy"); err != nil || m.HasModule("dummy") {
		t.Fatal(err)
	}
	want := []string{
		"insmod module:module_load", "insmod initcall:initcall_start", "insmod init_module",
		"insmod initcall:initcall_finish", "insmod module:module_put", "rmmod get_stats64", "rmmod module:module_free",
	}
	at := 0
	for _, is := range seen {
		if at < len(want) && is == want[at] {
			at++
		}
	}
	if at < len(want) {
		t.Errorf("no %q in %q", want[at], seen)
	}
}

// TestActivitiesBesideTrails: every function that runs has a name, also where trails go
// through modules of the activities. Those of overlay are not among these modules, and have
// no address in an activity.
func TestActivitiesBesideTrails(t *testing.T) {
	for _, scenario := range []string{"mix", "desk"} {
		t.Run(scenario, func(t *testing.T) {
			m := startScenario(t, scenario)
			names, modules := map[uint64]string{}, map[string]int{}
			m.Hooks.Call = func(c *machine.CPU, f *machine.Frame) {
				name, known := names[f.Func]
				if !known {
					sym, ok := m.Kallsyms().At(f.Func)
					if f.Func != 0 && (!ok || sym.Addr != f.Func) {
						t.Errorf("%s calls %#x, which has no name", c.Current.Comm, f.Func)
					}
					name = sym.Module
					names[f.Func] = name
				}
				modules[name]++
			}
			listenToActivities(t, m, machine.Second, nil)
			if modules["ext4"] < 100 || modules["jbd2"] < 10 {
				t.Errorf("calls by module: %v", modules)
			}
		})
	}
}
