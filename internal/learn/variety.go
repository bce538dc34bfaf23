package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"ftracelab/machine"
)

// comparison is a capture with stacks, and the scenario that is compared with it.
type comparison struct {
	name     string // the capture, as the table names it
	folder   string // below the folder of the oracle or of the subsystems
	learned  bool   // our model has learned from this capture
	what     string // what was traced
	settings [][2]string
	scenario string
	rounds   bool   // only the stacks of the rounds from which nothing was learned: see learnFrom
	comm     string // only those of tasks that have executed this program
	seeds    uint64 // the seeds 1 to seeds have a row each; 0: only 1
	from     int    // how many stacks are left out first
	other    string // it is compared with another capture instead of a scenario
}

// The settings with which the stacks were recorded.
var (
	allocStacks    = [][2]string{{"trace_options", "stacktrace"}, {"events/kmem/kmem_cache_alloc/enable", "1"}}
	switchStacks   = [][2]string{{"trace_options", "stacktrace"}, {"events/sched/sched_switch/enable", "1"}}
	functionStacks = [][2]string{
		{"set_ftrace_filter", "vfs_* kmem_cache_alloc*"}, {"current_tracer", "function"}, {"trace_options", "func_stack_trace"},
	}
	userStacks   = [][2]string{{"trace_options", "userstacktrace"}, {"events/raw_syscalls/sys_enter/enable", "1"}}
	framesStacks = [][2]string{
		{"trace_options", "userstacktrace"}, {"events/raw_syscalls/sys_enter/filter", `comm == "us-fp"`}, {"events/raw_syscalls/sys_enter/enable", "1"},
	}
	vfsStacks = [][2]string{
		{"set_ftrace_filter", "vfs_*"}, {"current_tracer", "function"}, {"trace_options", "func_stack_trace"},
	}
)

// comparisons are the captures with stacks. Those of the stackmap's kernel were
// made with the stackmap off.
var comparisons = []comparison{
	{name: "stacks/kmem_stack", folder: "debian/stacks/kmem_stack", learned: true, what: "kmem_cache_alloc", settings: allocStacks, scenario: "tools"},
	{name: "stacks/sched_stack", folder: "debian/stacks/sched_stack", learned: true, what: "sched_switch", settings: switchStacks, scenario: "talk"},
	{name: "subsystems/stacks_kmem", folder: "stacks_kmem", learned: true, what: "kmem_cache_alloc", settings: allocStacks, scenario: "mix", seeds: 3},
	{name: "subsystems/stacks_sched", folder: "stacks_sched", learned: true, what: "sched_switch", settings: switchStacks, scenario: "mix", seeds: 3},
	{name: "subsystems/stacks_function", folder: "stacks_function", learned: true, what: "functions", settings: vfsStacks, scenario: "mix", seeds: 3},
	{name: "subsystems/growth_kmem", folder: "growth_kmem", what: "kmem_cache_alloc", settings: allocStacks, scenario: "mix"},
	{name: "stacks/user_stack", folder: "debian/stacks/user_stack", what: "sys_enter, user stacks", settings: userStacks, scenario: "mix"},
	{name: "stacks/user_stack", folder: "debian/stacks/user_stack", learned: true, what: "sys_enter, user stacks", settings: userStacks, scenario: "users", seeds: 4},
	{name: "stacks/user_stack, rounds 3 to 5", folder: "debian/stacks/user_stack", what: "sys_enter, user stacks", settings: userStacks, scenario: "users", rounds: true, seeds: 4},
	{name: "subsystems/ustack_dead", folder: "ustack_dead", learned: true, what: "sys_enter of us-fp, user stacks", settings: framesStacks, scenario: "frames", comm: "us-fp", seeds: 4},
	{name: "subsystems/ustack_fp", folder: "ustack_fp", what: "sys_enter of us-fp, user stacks", settings: framesStacks, scenario: "frames", comm: "us-fp", seeds: 4},
	{name: "subsystems/ustack_fp", folder: "ustack_fp", what: "sys_enter of us-fp, user stacks", settings: framesStacks, scenario: "none: ustack_dead", comm: "us-fp", other: "ustack_dead"},
	{name: "savings/b_off/func_stack", folder: "stackmap/v2/savings/b_off/func_stack", learned: true, what: "functions", settings: functionStacks, scenario: "vfs"},
	{name: "savings/a_off/kmem_stack", folder: "stackmap/v2/savings/a_off/kmem_stack", what: "kmem_cache_alloc", settings: allocStacks, scenario: "tools"},
	{name: "savings/a_off/sched_stack", folder: "stackmap/v2/savings/a_off/sched_stack", what: "sched_switch", settings: switchStacks, scenario: "talk"},
	{name: "savings/a_off/func_stack", folder: "stackmap/v2/savings/a_off/func_stack", what: "functions", settings: functionStacks, scenario: "vfs"},
	{name: "subsystems/stacks_kmem", folder: "stacks_kmem", learned: true, what: "kmem_cache_alloc", settings: allocStacks, scenario: "desk"},
	{name: "subsystems/growth_kmem", folder: "growth_kmem", what: "kmem_cache_alloc", settings: allocStacks, scenario: "desk"},
	{name: "subsystems/stacks_sched", folder: "stacks_sched", learned: true, what: "sched_switch", settings: switchStacks, scenario: "switches"},
	{name: "subsystems/stacks_function", folder: "stacks_function", learned: true, what: "functions", settings: vfsStacks, scenario: "calls"},
}

// variety says how much the stacks of a trace differ.
type variety struct {
	skip              int // so many stacks are left out first
	stacks, addresses int
	bytes             int // of the records with a stack, without the stacks
	seen              map[string]bool
	first, until      uint64          // when the first and the last stack were recorded
	growth            []int           // the number of unique stacks after each stack
	last              map[int]*record // the last record that is no stack, by CPU
}

func newVariety() *variety { return &variety{seen: map[string]bool{}, last: map[int]*record{}} }

// Sizes of records in bytes: the header of each, and a record with an id instead of a stack.
const (
	recordHeader = 4
	idRecord     = recordHeader + 12
	stackFields  = 16 // in front of a stack's addresses
)

// add takes records in the order of their time; typ is that of kernel_stack.
func (v *variety) add(records []record, typ, limit int) {
	for i := range records {
		r := &records[i]
		if r.typ != typ {
			v.last[r.cpu] = r
			continue
		}
		p := v.last[r.cpu]
		if p == nil || v.stacks >= limit {
			continue
		}
		if v.skip > 0 {
			v.skip--
			continue
		}
		n := userWords
		if typ == kernelStack {
			n = min(int(r.u32(8)), (len(r.data)-stackFields)/8)
		}
		for n > 0 && (r.u64(stackFields+8*n-8) == 0 || r.u64(stackFields+8*n-8) == ^uint64(0)) {
			n--
		}
		if v.stacks++; v.stacks == 1 {
			v.first = r.time
		}
		v.until = max(v.until, r.time)
		v.addresses += n
		v.bytes += recordHeader + len(p.data)
		v.seen[string(r.data[stackFields:stackFields+8*n])] = true
		v.growth = append(v.growth, len(v.seen))
	}
}

// full and short are the bytes of all events with their stacks, and with ids instead.
func (v *variety) full() int  { return v.bytes + v.stacks*(recordHeader+stackFields) + 8*v.addresses }
func (v *variety) short() int { return v.bytes + v.stacks*idRecord }

func (v *variety) depth() float64     { return float64(v.addresses) / float64(max(v.stacks, 1)) }
func (v *variety) saving() float64    { return 1 - float64(v.short())/float64(max(v.full(), 1)) }
func (v *variety) retention() float64 { return float64(v.full()) / float64(max(v.short(), 1)) }

// rate is how many stacks there are in a second.
func (v *variety) rate() float64 {
	return float64(v.stacks) / (float64(max(v.until-v.first, 1)) / float64(machine.Second))
}

// tenth is the number of unique stacks after n tenths of all stacks.
func (v *variety) tenth(n int) int {
	if v.stacks == 0 {
		return 0
	}
	return v.growth[max(n*v.stacks/10-1, 0)]
}

// kernelStack is the type of kernel_stack, which is the same in all kernels (TRACE_STACK).
const kernelStack = 4

// typ is the type of the records with the stacks.
func (c *comparison) typ() int {
	if c.settings[0][1] == "userstacktrace" {
		return userStack
	}
	return kernelStack
}

// captureDir is the folder of a capture. Those of the oracle have a path.
func captureDir(oracleDir, subsystems, folder string) string {
	if strings.Contains(folder, "/") {
		return filepath.Join(oracleDir, folder)
	}
	return filepath.Join(subsystems, folder)
}

// captured measures a capture.
func (c *comparison) captured(oracleDir, subsystems string) (*variety, error) {
	dir := captureDir(oracleDir, subsystems, c.folder)
	records, err := readFolder(dir)
	if err != nil {
		return nil, err
	}
	v, limit := newVariety(), len(records)
	if c.rounds || c.comm != "" {
		ids, err := eventIDs(oracle(filepath.Join(oracleDir, "debian")))
		if err != nil {
			return nil, err
		}
		if c.rounds {
			if v.skip, limit, err = unlearnedRounds(dir, ids); err != nil {
				return nil, err
			}
		} else {
			records = recordsOf(c.comm, commLines(filepath.Join(dir, "saved_cmdlines")), records, ids["raw_syscalls/sys_enter"])
		}
	}
	c.from = v.skip
	v.add(records, c.typ(), limit)
	if v.stacks == 0 {
		return nil, fmt.Errorf("%s: no stacks", dir)
	}
	return v, nil
}

// longest is how long the machine runs at most until it has as many stacks as a capture.
const longest = 90 * machine.Second

// ours measures the scenario, which runs until it has the given number of stacks.
func (c *comparison) ours(seed uint64, stacks int) (*variety, error) {
	v := newVariety()
	v.skip = c.from
	err := runScenario(c.scenario, seed, longest, c.settings, func(_ map[string]int, records []record) bool {
		sortRecords(records)
		v.add(records, c.typ(), stacks)
		return v.stacks < stacks
	}, func(*machine.Machine, []byte) {})
	return v, err
}

// worstTenth is the tenth of the growth curve at which ours is farthest from the capture's.
func worstTenth(ours, real *variety) (off float64) {
	for n := 1; n <= 10; n++ {
		if d := relative(float64(ours.tenth(n)), float64(real.tenth(n))); math.Abs(d) > math.Abs(off) {
			off = d
		}
	}
	return off
}

func relative(ours, real float64) float64 { return ours/real - 1 }

// within sets a value in bold if it misses the goal.
func within(text string, ok bool) string {
	if ok {
		return text
	}
	return "**" + text + "**"
}

// The goals: how far the machine may be from a capture.
const (
	uniqueFactor = 1.3
	meanOff      = 0.05
	growthOff    = 0.15
)

// row is the line of the table for a comparison.
func (c *comparison) row(seed uint64, ours, real *variety) string {
	scenario := c.scenario
	if seed > 1 {
		scenario += fmt.Sprintf(", seed %d", seed)
	}
	close := func(a, b, off float64) bool { return math.Abs(relative(a, b)) <= off }
	factor := float64(ours.tenth(10)) / float64(real.tenth(10))
	growth := worstTenth(ours, real)
	return fmt.Sprintf("| %s | %s | %s | %d, %d | %.0f, %.0f | %s | %s | %s | %s | %s |\n", c.name, c.what, scenario, ours.stacks, real.stacks, ours.rate(), real.rate(),
		within(fmt.Sprintf("%d, %d", len(ours.seen), len(real.seen)), factor <= uniqueFactor && factor >= 1/uniqueFactor),
		within(fmt.Sprintf("%.1f, %.1f", ours.depth(), real.depth()), close(ours.depth(), real.depth(), meanOff)),
		within(fmt.Sprintf("%.1f, %.1f %%", 100*ours.saving(), 100*real.saving()), close(ours.saving(), real.saving(), meanOff)),
		within(fmt.Sprintf("%.2f, %.2f", ours.retention(), real.retention()), close(ours.retention(), real.retention(), meanOff)),
		within(fmt.Sprintf("%+.0f %%", 100*growth), math.Abs(growth) <= growthOff))
}

const tableHead = `| capture | traced | scenario | stacks: ours, kernel | per second | unique | mean depth | saving | retention | growth, at worst |
|---|---|---|---|---|---|---|---|---|---|
`

// userStack is the type of user_stack (TRACE_USER_STACK), which has userWords addresses.
const (
	userStack = 12
	userWords = 8
)

// varietyTables makes the two tables: captures from which the model was learned, and
// others.
func varietyTables(oracleDir, subsystems string) (string, error) {
	var tables [2]strings.Builder
	for i := range comparisons {
		c := &comparisons[i]
		real, err := c.captured(oracleDir, subsystems)
		if err != nil {
			return "", err
		}
		at := 1
		if c.learned {
			at = 0
		}
		for seed := range max(c.seeds, 1) {
			var ours *variety
			if c.other == "" {
				ours, err = c.ours(seed+1, real.stacks)
			} else {
				like := *c
				like.folder = c.other
				ours, err = like.captured(oracleDir, subsystems)
			}
			if err != nil {
				return "", fmt.Errorf("scenario %s: %w", c.scenario, err)
			}
			tables[at].WriteString(c.row(seed+1, ours, real))
		}
	}
	return "Learned from:\n\n" + tableHead + tables[0].String() + "\nChecked on, and not learned from:\n\n" + tableHead + tables[1].String(), nil
}

// The marks around the tables in the document.
const (
	tableBegin = "<!-- stacks: written by internal/learn -stacks -->\n"
	tableEnd   = "<!-- end of stacks -->\n"
)

// updateTable writes the tables into a document.
func updateTable(file, oracleDir, subsystems string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), tableBegin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !ok || !ended {
		return fmt.Errorf("%s: no marks around the tables", file)
	}
	tables, err := varietyTables(oracleDir, subsystems)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(before+tableBegin+"\n"+tables+"\n"+tableEnd+after), 0o644)
}
