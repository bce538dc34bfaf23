package model_test

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/report/model"
	"ftracelab/report/model/scenarios"
)

// Each model that comes with the program can be drawn from, and says in docs/models.md
// how well it predicts. What it was learned from is not needed for that.
func TestShippedModels(t *testing.T) {
	var rows []string
	for _, name := range scenarios.Names() {
		text, err := scenarios.Text(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := scenarios.Model(name)
		if err != nil {
			t.Fatal(err)
		}
		if records, _ := drawn(t, m, model.RunOptions{Seed: 1, Events: 1000}); len(records) < 1000 {
			t.Errorf("%s: %d records for 1000 events", name, len(records))
		}
		l := &m.Learned
		tried := l.HeldOut
		if l.Slices != nil {
			tried = l.Slices
		}
		if name != "adversary" && (tried == nil || len(tried.Doubts()) > 0) {
			t.Errorf("%s: neither its halves nor slices agree: %+v", name, tried)
		}
		rows = append(rows, fmt.Sprintf("| %s | %d | %.1f | %d | %s | %s | %d |", name, l.Events, l.Seconds,
			m.Kernel.Unique()+m.User.Unique(), three(l.HeldOut), three(l.Slices), len(text)))
	}
	table(t, "| model | events | seconds | different stacks | the halves | 1,000 slices | bytes of the file |", 0, rows)
}

// three are the misses of a prediction in a cell.
func three(m *model.Misses) string {
	if m == nil {
		return "not tried"
	}
	return percent(m.FullStacks, model.MaxBytesMiss) + ", " + percent(m.Stackmap, model.MaxBytesMiss) + ", " + percent(m.Unique, model.MaxUniqueMiss)
}

// What a shipped model says of captures that it was not learned from, is in docs/models.md.
func TestShippedModelsElsewhere(t *testing.T) {
	subsystems := testutil.FromEnv(t, "FTRACELAB_SUBSYSTEMS", "the folder with the captures of subsystems")
	stacks := filepath.Join(testutil.Oracle(t), "debian/stacks")
	captures := testutil.FromEnv(t, "FTRACELAB_CAPTURES", "the folder with the captures of perf script")
	static := filepath.Join(testutil.Oracle(t), "debian/static")
	try := func(name string, c heldOutCapture) string {
		m, err := scenarios.Model(name)
		if err != nil {
			t.Fatal(err)
		}
		src, err := c.open()
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		h, err := m.Try(t.Context(), src, src.Types())
		if err != nil {
			t.Fatalf("%s on %s: %v", name, c.name, err)
		}
		return fmt.Sprintf("| %s | %s |", name, c.name) + cells(h)
	}
	const header = "| model | capture | events | full stacks, B/event | stackmap, B/event | different stacks | frames of the call tree |"
	table(t, header, 1, []string{
		try("slab-from-boot", heldOutCapture{"kmem_stack", filepath.Join(stacks, "kmem_stack"), ""}),
		try("slab-from-boot", heldOutCapture{"growth_kmem", filepath.Join(subsystems, "growth_kmem"), static}),
		try("function-mix", heldOutCapture{"stacks_function", filepath.Join(subsystems, "stacks_function"), static}),
		try("scheduler-storm", heldOutCapture{"sched_stack", filepath.Join(stacks, "sched_stack"), ""}),
		try("scheduler-storm", heldOutCapture{"stacks_sched", filepath.Join(subsystems, "stacks_sched"), static}),
		try("compile-job", heldOutCapture{"perf, tools", filepath.Join(captures, "perf-script-tools.txt.gz"), ""}),
	})

	own := testutil.FromEnv(t, "FTRACELAB_SCENARIOS", "the folder with the captures of the scenarios")
	if own == "unavailable" {
		return
	}
	var rows []string
	for _, name := range []string{"slab-from-boot", "function-mix", "scheduler-storm", "network-server"} {
		rows = append(rows, try(name, heldOutCapture{"other/" + name, filepath.Join(own, "other", name), static}))
	}
	table(t, header, 0, rows)
}

// Drawn stacks share callers as those of the capture do.
func TestSharedCallers(t *testing.T) {
	for _, name := range []string{"scheduler-storm", "compile-job"} {
		m, err := scenarios.Model(name)
		if err != nil {
			t.Fatal(err)
		}
		learned := uint64(0)
		for _, o := range m.Kernel.Own {
			learned += o[0] * o[1]
		}
		records, _ := drawn(t, m, model.RunOptions{Seed: 3})
		tree, all, stacks := map[string]bool{}, 0, map[string]bool{}
		for _, r := range records {
			if id := fmt.Sprint(r.Stack); r.Stack != nil && r.Stack[0]>>63 == 1 && !stacks[id] {
				stacks[id] = true
				all += len(r.Stack)
				for n := range r.Stack {
					tree[fmt.Sprint(r.Stack[n:])] = true
				}
			}
		}
		if miss := float64(len(tree))/float64(learned) - 1; math.Abs(miss) > .15 {
			t.Errorf("%s: %d frames in the tree of the drawn stacks, %d in the capture's", name, len(tree), learned)
		}
		if 3*len(tree) > 2*all {
			t.Errorf("%s: %d frames in the tree of stacks with %d", name, len(tree), all)
		}
		if unique := m.Kernel.Unique(); math.Abs(float64(len(stacks))/float64(unique)-1) > .05 {
			t.Errorf("%s: %d different stacks, want %d", name, len(stacks), unique)
		}
	}
}

// A model of the first version is read and written as it is. Its stacks share nothing.
func TestFirstVersion(t *testing.T) {
	text := strings.NewReplacer("model/2", "model/1", "  own: [[1, 26], [3, 100]]\n", "", "  own: [[4, 100]]\n", "").Replace(small)
	m := parse(t, text)
	var out bytes.Buffer
	if err := m.Write(&out); err != nil || out.String() != text {
		t.Errorf("%v\n%s", err, out.String())
	}
	records, _ := drawn(t, m, model.RunOptions{Seed: 1, Events: 2000})
	callers := map[uint64]map[string]bool{}
	for _, r := range records {
		if len(r.Stack) > 0 {
			root := r.Stack[len(r.Stack)-1]
			if callers[root] == nil {
				callers[root] = map[string]bool{}
			}
			callers[root][fmt.Sprint(r.Stack)] = true
		}
	}
	for root, stacks := range callers {
		if len(stacks) > 1 {
			t.Fatalf("%d stacks have the root %#x", len(stacks), root)
		}
	}
}

func TestAbout(t *testing.T) {
	m := parse(t, strings.Replace(small, "learned:", "about:\n  title: a\n  source: b\n  kernel: c\n  date: d\n  lacks: the moon\nlearned:", 1))
	if _, caveats := drawn(t, m, model.RunOptions{Seed: 1, Events: 10}); !strings.Contains(strings.Join(caveats, "\n"), "not in the model: the moon") {
		t.Errorf("caveats: %q", caveats)
	}
	for text, want := range map[string]string{
		"titel: x": "line 1: no key titel; there are title, source, kernel, date, lacks",
		"title: a\nsource: b\nkernel: |\n  c\n  d\ndate: e\nlacks: f": "line 3: kernel: 4 bytes: want one line of 1 to 1000",
		"title: a": "source: 0 bytes: want one line",
		"a text":   "line 1: cannot unmarshal !!str `a text`; want the keys title, source, kernel, date, lacks",
	} {
		if _, err := model.ParseAbout([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// What a capture is too short for is said.
func TestShort(t *testing.T) {
	m := parse(t, small)
	if short := m.Short(); short != nil {
		t.Errorf("%q", short)
	}
	m.Kernel.Exponent = nil
	if short := m.Short(); len(short) != 1 || !strings.Contains(short[0], "8,000 kernel stacks, too few") {
		t.Errorf("%q", short)
	}
}

// The adversary is what its name says.
func TestAdversary(t *testing.T) {
	m, err := scenarios.Model("adversary")
	if err != nil {
		t.Fatal(err)
	}
	src, err := m.Open(model.RunOptions{Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	learned, err := model.Learn(t.Context(), src, model.LearnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := learned.Kernel.Unique(); n != learned.Events[0].Kernel {
		t.Errorf("%d different stacks among %d", n, learned.Events[0].Kernel)
	}
}
