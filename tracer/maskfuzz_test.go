package tracer

import "testing"

// FuzzMasks reads any text as a mask of block events.
func FuzzMasks(f *testing.F) {
	for _, s := range []string{"read,sync", "0x12", " notify ", "fs fs", "\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if bits, err := parseBlkMask(s); err == nil && bits > 0xffff {
			t.Errorf("%q: block mask %#x", s, bits)
		}
	})
}
