package tracer

import (
	"regexp"
	"testing"
)

// cpuMaskText is what a mask of CPUs may look like, up to the end of its line.
var cpuMaskText = regexp.MustCompile(`^[0-9a-fA-F,\s\x{85}\x{a0}\p{Z}]*(\n|$)`)

// FuzzMasks reads any text as a mask of CPUs and as one of block events. A mask of CPUs
// has digits of its own only, and reads the same when it is printed.
func FuzzMasks(f *testing.F) {
	for _, s := range []string{"3", "f", "ffffffff,ffffffff", "0,", ",", "1,00000000", "\x10", "read,sync", "0x12", " notify ", "fs fs", "\n"} {
		f.Add(s, uint8(3))
	}
	f.Fuzz(func(t *testing.T, s string, n uint8) {
		cpus := 1 + int(n%128)
		if mask, err := parseCPUMask(s, cpus); err == nil {
			again, err := parseCPUMask(mask.String(), cpus)
			if err != nil || again.String() != mask.String() {
				t.Errorf("%q is %v, which is %v, %v", s, mask, again, err)
			}
			if !cpuMaskText.MatchString(s) {
				t.Errorf("%q is taken for %v", s, mask)
			}
		}
		if bits, err := parseBlkMask(s); err == nil && bits > 0xffff {
			t.Errorf("%q: block mask %#x", s, bits)
		}
	})
}
