package cpumask

import (
	"regexp"
	"testing"
)

// maskText is what a mask of CPUs may look like, up to the end of its line.
var maskText = regexp.MustCompile(`^[0-9a-fA-F,\s\x{85}\x{a0}\p{Z}]*([\n\x00]|$)`)

// FuzzParse reads any text as a mask of CPUs, which has digits of its own only, and
// reads the same when it is printed.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"3", "f", "ffffffff,ffffffff", "0,", ",", "1,00000000", "\x10", "\n", "3\x00x"} {
		f.Add(s, uint8(3))
	}
	f.Fuzz(func(t *testing.T, s string, n uint8) {
		cpus := 1 + int(n%128)
		mask, err := Parse(s, cpus)
		if err != nil {
			return
		}
		again, err := Parse(mask.String(), cpus)
		if err != nil || again.String() != mask.String() {
			t.Errorf("%q is %v, which is %v, %v", s, mask, again, err)
		}
		if !maskText.MatchString(s) {
			t.Errorf("%q is taken for %v", s, mask)
		}
	})
}
