package bench

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"ftracelab/stackmap"
)

// TestCPeer: the map in C, with which ours is compared, does the same work. It gives the
// same ids to the same stacks, and counts as many events of each, also when stacks are
// refused.
func TestCPeer(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("gcc is not installed")
		}
		t.Skip("gcc is not installed")
	}
	for _, v := range []struct{ depth, bits, drops int }{{1, 14, 0}, {2, 14, 0}, {3, 14, 0}, {16, 14, 0}, {64, 14, 0}, {16, 10, uniques - 1<<10}} {
		c := &cMaps{ctx: t.Context()}
		l := newLoad(v.depth)
		cfg := stackmapConfig(stackmap.JHash2)
		cfg.Bits = v.bits
		theirs, err := c.start(cfg, l)
		if err != nil {
			t.Fatal(err)
		}
		ours, err := stackmap.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		drops := 0
		offer := func(i int) (id uint32, ok bool) {
			id, err := ours.GetID(0, l.stack(i))
			if err != nil {
				drops++
			}
			return id, err == nil
		}
		for i := range uniques {
			offer(i)
		}
		if drops != v.drops {
			t.Errorf("depth %d, %d bits: %d drops, want %d", v.depth, v.bits, drops, v.drops)
		}
		const n = 10_000
		for _, i := range l.order[:n] {
			offer(int(i))
		}
		if _, err := theirs.lookUp(n); err != nil {
			t.Fatal(err)
		}
		got, err := theirs.ask("dump")
		for i := 0; i < uniques && err == nil; i++ {
			want := "-1 0"
			if id, ok := offer(i); ok {
				want = strconv.Itoa(int(id)) + " " + strconv.Itoa(int(refOf(ours, id)))
			}
			if got != want {
				t.Fatalf("depth %d, %d bits, stack %d: id and count %s, ours %s", v.depth, v.bits, i, got, want)
			}
			got, err = theirs.line()
		}
		if err != nil || got != "." {
			t.Errorf("at the end: %q, %v", got, err)
		}
		if err := c.close(); err != nil {
			t.Error(err)
		}
	}
}

// refOf is the ref_count of an id.
func refOf(m *stackmap.Map, id uint32) uint32 {
	for s := range m.Slots() {
		if s.ID == id {
			return s.Ref
		}
	}
	return 0
}

// TestCPeerFails: what goes wrong in the process or before it is told.
func TestCPeerFails(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	c := &cMaps{ctx: t.Context()}
	if why := c.missing(); !strings.Contains(why, "gcc") {
		t.Errorf("without gcc: %q", why)
	}
	if _, err := c.start(stackmapConfig(stackmap.JHash2), newLoad(1)); err == nil || !strings.Contains(err.Error(), "gcc") {
		t.Errorf("without gcc: %v", err)
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
}
