package blk

import "testing"

// FuzzMask reads any text as a mask of block events.
func FuzzMask(f *testing.F) {
	for _, s := range []string{"read,sync", "0x12", " notify ", "fs fs", "\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if bits, err := parseMask(s); err == nil && bits > 0xffff {
			t.Errorf("%q: block mask %#x", s, bits)
		}
	})
}
