package stackmap

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// boot is one boot of an oracle kernel. Its hash seed was found by searching
// for the one that explains every slot of its maps.
type boot struct {
	dir      string
	preset   func() Config
	bits     int
	seed     uint32
	captures []capture
}

// capture is a recording and the map at its end. Where every event of the map
// is in the buffer, the map follows from the buffer: offering its stacks in
// order gives the kernel's ids and ends in the kernel's three files.
//
// Of other captures some events are gone: overwritten, or never written because
// v2 asks for an id before it notices that tracing is off. How often each stack
// was offered without a record is known (its ref_count less its records), when
// is not. It is offered when a slot proves that it came first, at the latest
// before the first stack that found the pool exhausted. The records must give
// the same ids, and the same files come out at the end.
type capture struct {
	name      string
	snapshot  bool // the older records are in snapshot.txt
	follows   bool // the map was not reset since the capture before
	fallbacks bool // full stacks in the buffer were offered to a full map
	moved     bool // the map moved between the three files: only the binary is compared

	counts
}

// counts say what a capture holds and what it lacks.
type counts struct {
	ids, full int    // records in the buffer
	lost      uint64 // successes without a record; 0: the map follows from the buffer
	unseen    int    // stacks without any record
	drops     int    // drops without a record
}

var boots = []boot{
	{"v2/pairs", V2, 14, 0xb0c1b3f9, []capture{
		{name: "sm_kmem", counts: counts{ids: 734}},
		{name: "sm_sched", counts: counts{ids: 337}},
		{name: "sm_deep_stackmap1", counts: counts{ids: 198}},
		{name: "sm_graph_opt", counts: counts{ids: 432}},
		{name: "sm_user", counts: counts{ids: 80}},
		{name: "sm_toggle", counts: counts{ids: 28, full: 45}},
		{name: "sm_marker"},
		{name: "sm_instance", counts: counts{full: 50}},
		{name: "sm_deep_stackmap0", counts: counts{full: 204}},
		{name: "sm_deepfn_stackmap0", counts: counts{full: 143}},
		{name: "sm_snapshot", snapshot: true, counts: counts{ids: 60}},
		{name: "sm_func", moved: true, counts: counts{ids: 57, lost: 147, unseen: 3}},
		{name: "sm_graph", moved: true, counts: counts{ids: 175, lost: 1344, unseen: 99}},
		{name: "sm_trigger", moved: true, counts: counts{ids: 22, lost: 9, unseen: 1}},
		{name: "sm_deepfn_stackmap1", moved: true, counts: counts{ids: 143, lost: 462, unseen: 80}},
	}},
	{"v2/pairs2", V2, 14, 0x0dcf7ee0, []capture{
		{name: "smc_graph", counts: counts{ids: 175, full: 4}},
		{name: "smc_func", counts: counts{ids: 73, full: 4}},
		{name: "smc_trigger", counts: counts{ids: 20, full: 2}},
		{name: "smc_wrap", counts: counts{ids: 707, full: 4}},
		{name: "smc_clock_global", counts: counts{ids: 30}},
		{name: "smc_clock_mono", follows: true, counts: counts{ids: 30}},
		{name: "smc_clock_x86-tsc", follows: true, counts: counts{ids: 30}},
		{name: "smc_clock_uptime", follows: true, counts: counts{ids: 27}},
		{name: "smc_clock_counter", follows: true, counts: counts{ids: 33}},
	}},
	{"v2/full", V2, 10, 0x2344ae27, []capture{
		{name: "sm_full_start", fallbacks: true, moved: true, counts: counts{ids: 23266, full: 2497, lost: 14707, unseen: 10}},
		{name: "sm_full", fallbacks: true, counts: counts{ids: 2358, full: 329, lost: 5585, unseen: 704, drops: 1978}},
		{name: "sm_saturated", fallbacks: true, moved: true, counts: counts{ids: 9356, full: 3492, lost: 645828, unseen: 375}},
	}},
	{"v2/savings/a_on", V2, 14, 0x985c5aa3, []capture{
		{name: "kmem_stack", counts: counts{ids: 34703}},
		{name: "sched_stack", counts: counts{ids: 62711}},
		{name: "func_stack", moved: true, counts: counts{ids: 38470, lost: 3710, unseen: 64}},
	}},
	{"v2/savings/b_on", V2, 14, 0x97b6044c, []capture{
		{name: "kmem_stack", counts: counts{ids: 27329, lost: 109604, unseen: 19}},
		{name: "sched_stack", counts: counts{ids: 24701, lost: 162384, unseen: 56}},
		{name: "func_stack", moved: true, counts: counts{ids: 47646, lost: 127751, unseen: 64}},
	}},
	{"v2/deep", V2, 14, 0xb84d1ed6, []capture{
		{name: "sm_deep_kmem_stackmap0", counts: counts{full: 45}},
		{name: "sm_deep_kmem_stackmap1", counts: counts{ids: 45}},
		{name: "sm_deep_func_stackmap0", counts: counts{full: 45}},
		{name: "sm_deep_func_stackmap1", counts: counts{ids: 45}},
	}},
	{"v2/bootact", V2, 14, 0x9997e72f, []capture{
		{name: ".", counts: counts{lost: 275618, unseen: 889}},
	}},
	{"v4/pairs", V4, 14, 0x33107fe0, []capture{
		{name: "sm_kmem", counts: counts{ids: 734}},
		{name: "sm_sched", counts: counts{ids: 282}},
		{name: "sm_deep_stackmap1", counts: counts{ids: 194}},
		{name: "sm_graph_opt", counts: counts{ids: 427}},
		{name: "sm_user", counts: counts{ids: 80}},
		{name: "sm_toggle", counts: counts{ids: 28, full: 55}},
		{name: "sm_marker"},
		{name: "sm_instance", counts: counts{full: 46}},
		{name: "sm_deep_stackmap0", counts: counts{full: 208}},
		{name: "sm_deepfn_stackmap0", counts: counts{full: 111}},
		{name: "sm_snapshot", snapshot: true, counts: counts{ids: 71}},
		{name: "sm_func", counts: counts{ids: 57}},
		{name: "sm_graph", counts: counts{ids: 175}},
		{name: "sm_trigger", counts: counts{ids: 22}},
		{name: "sm_deepfn_stackmap1", counts: counts{ids: 128}},
	}},
	{"v4/full", V4, 10, 0xbd4e2102, []capture{
		{name: "sm_full_start", fallbacks: true, counts: counts{ids: 22770, full: 1280, drops: 1}},
		{name: "sm_full", fallbacks: true, counts: counts{ids: 2311, full: 339, lost: 5616, unseen: 712, drops: 1942}},
		{name: "sm_saturated", fallbacks: true, counts: counts{ids: 9972, full: 3464, lost: 157222, unseen: 462, drops: 35776}},
	}},
	{"v4/deep", V4, 14, 0xc25432b3, []capture{
		{name: "sm_deep_kmem_stackmap0", counts: counts{full: 45}},
		{name: "sm_deep_kmem_stackmap1", counts: counts{ids: 12, full: 33}},
		{name: "sm_deep_func_stackmap0", counts: counts{full: 45}},
		{name: "sm_deep_func_stackmap1", counts: counts{ids: 14, full: 31}},
	}},
	{"v4/bootact", V4, 14, 0x0d4430e1, []capture{
		{name: ".", counts: counts{lost: 275708, unseen: 924}},
	}},
}

// TestReplay feeds the stacks of real buffers to the map in the order of the
// buffer.
func TestReplay(t *testing.T) {
	t.Run("selection", func(t *testing.T) { testReplay(t, selection()) })
	t.Run("oracle", func(t *testing.T) { testReplay(t, oracle(t)) })
}

func testReplay(t *testing.T, fsys fs.FS) {
	for _, b := range boots {
		kernel := b.dir[:2]
		var m *Map
		for _, c := range b.captures {
			dir := path.Join(b.dir, c.name)
			if _, err := fs.Stat(fsys, dir); err != nil && fsys == selection() {
				continue
			}
			t.Run(dir, func(t *testing.T) {
				if !c.follows {
					m = b.newMap(t)
				}
				bin := readFile(t, fsys, path.Join(dir, "stack_map_bin"))
				r := &replay{m: m, c: c, stacks: content(t, bin)}
				r.run(t, c.records(t, fsys, dir))
				if got := m.AppendBinary(nil); !bytes.Equal(got, bin) {
					t.Errorf("stack_map_bin differs: %d bytes, kernel %d", len(got), len(bin))
				}
				if c.moved {
					return
				}
				var modules []byte
				if path.Base(b.dir) == "deep" {
					modules = readFile(t, fsys, b.dir+"/kallsyms.deepst.txt")
				}
				syms := readSymbols(t, readFile(t, fsys, kernel+"/static/kallsyms.txt"), modules)
				compareText(t, m, syms, fsys, dir)
			})
		}
	}
}

func compareText(t *testing.T, m *Map, syms *symbols, fsys fs.FS, dir string) {
	t.Helper()
	stat := readFile(t, fsys, path.Join(dir, "stack_map_stat"))
	if diff := cmp.Diff(string(stat), string(m.AppendStat(nil))); diff != "" {
		t.Errorf("stack_map_stat (-kernel +ours):\n%s", diff)
	}
	var text bytes.Buffer
	if err := m.WriteText(&text, syms.append); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(readFile(t, fsys, path.Join(dir, "stack_map"))), text.String()); diff != "" {
		t.Errorf("stack_map (-kernel +ours):\n%s", diff)
	}
}

func (b *boot) newMap(t testing.TB) *Map {
	t.Helper()
	cfg := b.preset()
	cfg.Bits, cfg.Seed = b.bits, b.seed
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var stackIDText = regexp.MustCompile(`<stack_id (\d+)>`)

// records reads the stack records of a capture, oldest first.
func (c *capture) records(t testing.TB, fsys fs.FS, dir string) []stackEvent {
	var all []stackEvent
	if c.name == "." {
		return nil
	}
	if c.snapshot {
		for _, match := range stackIDText.FindAllSubmatch(readFile(t, fsys, path.Join(dir, "snapshot.txt")), -1) {
			id, err := strconv.ParseInt(string(match[1]), 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, stackEvent{id: int32(id)})
		}
	}
	return append(all, stackEvents(t, fsys, dir)...)
}

// replay offers the stacks of a capture to a map.
type replay struct {
	m      *Map
	c      capture
	stacks map[uint32]Record // the kernel's map at the end
	lost   map[uint32]uint32 // how often each stack must still be offered without a record
}

func (r *replay) run(t *testing.T, records []stackEvent) {
	got := r.account(t, records)
	for i, e := range records {
		err := r.offerRecord(e)
		if err != nil {
			t.Fatalf("record %d of %d, CPU %d: %v", i, len(records), e.cpu, err)
		}
	}
	if err := r.offerLost(); err != nil {
		t.Fatalf("without a record: %v", err)
	}
	for range r.c.drops {
		if _, err := r.m.GetID(0, []uint64{1}); !errors.Is(err, ErrNoSpace) {
			t.Fatalf("without a record: %v; the kernel had no space", err)
		}
	}
	if got != r.c.counts {
		t.Errorf("capture: %+v, expected %+v", got, r.c.counts)
	}
}

// account finds out what the buffer does not tell.
func (r *replay) account(t *testing.T, records []stackEvent) counts {
	n := counts{drops: r.c.drops}
	r.lost = map[uint32]uint32{}
	seen := map[uint32]bool{}
	for id, s := range r.stacks {
		r.lost[id] = s.Ref
	}
	for s := range r.m.Slots() { // from before, where the map was not reset
		r.lost[s.ID] -= s.Ref
		seen[s.ID] = true
	}
	for _, e := range records {
		if e.id < 0 {
			n.full++
			continue
		}
		n.ids++
		id := uint32(e.id)
		if r.lost[id] == 0 {
			t.Fatalf("more records of stack %d than its ref_count", id)
		}
		r.lost[id]--
		seen[id] = true
	}
	for id, ref := range r.lost {
		n.lost += uint64(ref)
		if !seen[id] {
			n.unseen++
		}
	}
	return n
}

// offerRecord offers the stack of a record, which must get the recorded id; a
// stack that was recorded in full for want of space must get none.
func (r *replay) offerRecord(e stackEvent) error {
	if e.id >= 0 {
		return r.offer(e.cpu, uint32(e.id))
	}
	if !r.c.fallbacks {
		return nil // the option was off, or the buffer is an instance's
	}
	// The pool is exhausted, so whatever the kernel stored is there by now.
	if err := r.offerLost(); err != nil {
		return err
	}
	if id, err := r.m.GetID(e.cpu, e.ips); !errors.Is(err, ErrNoSpace) {
		return fmt.Errorf("id %d, %v; the kernel had no space", id, err)
	}
	return nil
}

// offerLost offers all that no record tells of.
func (r *replay) offerLost() error {
	for _, id := range slices.Sorted(maps.Keys(r.lost)) {
		for r.lost[id] > 0 {
			r.lost[id]--
			if err := r.offer(0, id); err != nil {
				return err
			}
		}
	}
	clear(r.lost)
	return nil
}

// offer offers the stack of id, which must get this id. An empty slot between
// its home and its id proves that the stack of that slot came before, without a
// record.
func (r *replay) offer(cpu int, id uint32) error {
	s, ok := r.stacks[id]
	if !ok {
		return fmt.Errorf("the kernel's map has no stack %d", id)
	}
	for before := r.m.cfg.key(s.IPs) >> r.m.shift; before != id; before = (before + 1) & r.m.mask {
		if _, ok := r.m.Stack(before, nil); ok || r.lost[before] == 0 {
			continue
		}
		r.lost[before]--
		if err := r.offer(cpu, before); err != nil {
			return err
		}
	}
	got, err := r.m.GetID(cpu, s.IPs)
	if err != nil || got != id {
		return fmt.Errorf("id %d, %v; the kernel's id is %d", got, err, id)
	}
	return nil
}
