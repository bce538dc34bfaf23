package tracefile

import (
	"errors"
	"syscall"
	"testing"
)

func TestParseBool(t *testing.T) {
	for s, want := range map[string]bool{"1": true, "1\n": true, "y": true, "Yes": true, "t": true, "ON": true, "0": false, "n": false, "off": false, "F\n": false} {
		if got, err := ParseBool(s); err != nil || got != want {
			t.Errorf("%q: %t, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "o", "2", " 1", "\n"} {
		if _, err := ParseBool(s); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%q: %v", s, err)
		}
	}
}
