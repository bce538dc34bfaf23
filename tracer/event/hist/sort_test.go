package hist

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// The order of a kernel's own histograms, ties included.
func TestTiesAsKernel(t *testing.T) {
	root := os.Getenv("FTRACELAB_ORACLE")
	if root == "" {
		t.Skip("FTRACELAB_ORACLE not set")
	}
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
		m := NewMap(DefaultBits, Sizes{Key: 8, Sums: 1})
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
		for i, e := range m.sorted(compareSums(0), nil) {
			if got := fmt.Sprint(binary.LittleEndian.Uint64(e.Key), e.Sums[0]); got != want[i] {
				t.Errorf("%s: entry %d is %s, want %s", name, i, got, want[i])
				break
			}
		}
	}
}
