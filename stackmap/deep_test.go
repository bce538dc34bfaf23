package stackmap

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDeep offers the full stacks of a run without the option to the map and
// compares with the map of the same run with it: recursions of 20 to 150 below
// two functions, so 64 frames is inside the range. v2 cuts, v4 refuses.
func TestDeep(t *testing.T) {
	t.Run("selection", func(t *testing.T) { testDeep(t, selection(), "kmem") })
	t.Run("oracle", func(t *testing.T) { testDeep(t, oracle(t), "kmem", "func") })
}

func testDeep(t *testing.T, fsys fs.FS, events ...string) {
	for _, kernel := range []struct {
		dir    string
		preset func() Config
	}{{"v2", V2}, {"v4", V4}} {
		for _, event := range events {
			dir := path.Join(kernel.dir, "deep", "sm_deep_"+event+"_stackmap")
			t.Run(dir, func(t *testing.T) {
				m, err := New(kernel.preset())
				if err != nil {
					t.Fatal(err)
				}
				var ids, full int
				for _, e := range stackEvents(t, fsys, dir+"0") {
					switch _, err := m.GetID(e.cpu, e.ips); {
					case err == nil:
						ids++
					case errors.Is(err, ErrTooDeep):
						full++
					default:
						t.Fatal(err)
					}
				}
				var wantIDs, wantFull int
				for _, e := range stackEvents(t, fsys, dir+"1") {
					if e.id >= 0 {
						wantIDs++
					} else {
						wantFull++
					}
				}
				if ids != wantIDs || full != wantFull {
					t.Errorf("%d ids, %d too deep; kernel %d, %d", ids, full, wantIDs, wantFull)
				}
				want := readFile(t, fsys, dir+"1/stack_map_bin")
				if diff := cmp.Diff(refs(content(t, want)), refs(content(t, m.AppendBinary(nil)))); diff != "" {
					t.Errorf("ref_count by stack (-kernel +ours):\n%s", diff)
				}
				if diff := cmp.Diff(string(readFile(t, fsys, dir+"1/stack_map_stat")), string(m.AppendStat(nil))); diff != "" {
					t.Errorf("stack_map_stat (-kernel +ours):\n%s", diff)
				}
			})
		}
	}
}

// refs maps each stack to its ref_count; the slots differ with the seed.
func refs(stacks map[uint32]Record) map[string]uint32 {
	m := map[string]uint32{}
	for _, s := range stacks {
		m[fmt.Sprintf("%#x", s.IPs)] = s.Ref
	}
	return m
}
