package workload_test

import (
	"slices"
	"testing"

	"ftracelab/machine"
	"ftracelab/workload"
)

// activityEvents runs the default scenario while somebody listens to all events of
// activities, and counts them; see gets each event and the kernel functions around it.
func activityEvents(t *testing.T, run machine.Time, see func(c *machine.CPU, s machine.Said)) (names []string, count map[string]int) {
	t.Helper()
	m, err := machine.New(machine.Config{Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	s, err := workload.Find("mix")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(m); err != nil {
		t.Fatal(err)
	}
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
