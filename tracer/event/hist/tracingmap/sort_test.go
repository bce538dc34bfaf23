package tracingmap

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ftracelab/internal/testutil"
)

// The order of a kernel's own histograms, ties included.
func TestTiesAsKernel(t *testing.T) {
	root := testutil.Oracle(t)
	for name, format := range map[string]string{
		"basic":  "{ bytes_req: %d } hitcount: %d",
		"filter": "{ bytes_req: %d } hitcount: %d",
		"log2":   "{ bytes_req: ~ 2^%d } hitcount: %d",
		"hex":    "{ ptr: %x } hitcount: %d",
	} {
		f, err := os.Open(filepath.Join(root, "debian/dynamic_hist_misc/hist", name+".hist"))
		if err != nil {
			t.Fatal(err)
		}
		m := newTestMap(DefaultBits, 8, 1, 0, 0)
		var want []string
		key := make([]byte, 8)
		for s := bufio.NewScanner(f); s.Scan(); {
			var k, n uint64
			if got, _ := fmt.Sscanf(s.Text(), format, &k, &n); got == 0 {
				continue
			}
			binary.LittleEndian.PutUint64(key, k)
			e, _ := m.Insert(key)
			e.Sums[0] += n
			want = append(want, fmt.Sprint(k, n))
		}
		for i, e := range m.Sorted([]SortKey{{}}) {
			if got := fmt.Sprint(binary.LittleEndian.Uint64(e.Key), e.Sums[0]); got != want[i] {
				t.Errorf("%s: entry %d is %s, want %s", name, i, got, want[i])
				break
			}
		}
	}
}

// Keys are compared as what they are: texts up to their NUL, numbers of so many
// bytes with or without a sign, stacks not at all.
func TestKeyOrders(t *testing.T) {
	word := func(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }
	for name, c := range map[string]struct {
		compare Compare
		a, b    []byte
		want    int
	}{
		"text":          {ByText, []byte("ab\x00z"), []byte("b\x00\x00a"), -1},
		"text's end":    {ByText, []byte("ab\x00z"), []byte("ab\x00a"), 0},
		"signed":        {ByNumber(4, true), word(-1), word(1), -1},
		"unsigned":      {ByNumber(4, false), word(-1), word(1), 1},
		"low byte":      {ByNumber(1, false), word(0x101), word(2), -1},
		"three bytes":   {ByNumber(3, false), word(1), word(2), 0},
		"stack":         {Unordered, word(1), word(2), 0},
		"signed 8":      {ByNumber(8, true), word(-5), word(-6), 1},
		"unsigned 2 eq": {ByNumber(2, false), word(0x10001), word(1), 0},
	} {
		if got := c.compare(c.a, c.b); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
