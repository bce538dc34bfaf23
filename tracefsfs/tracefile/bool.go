package tracefile

import (
	"strings"
	"syscall"
)

// ParseBool is a yes or no by how s begins: y, t, 1 or on, n, f, 0 or of, in any case.
// Anything else is EINVAL.
//
// Kernel: kstrtobool, lib/kstrtox.c.
func ParseBool(s string) (bool, error) {
	for _, word := range []struct {
		starts string
		means  bool
	}{{"y", true}, {"t", true}, {"1", true}, {"on", true}, {"n", false}, {"f", false}, {"0", false}, {"of", false}} {
		if len(s) >= len(word.starts) && strings.EqualFold(s[:len(word.starts)], word.starts) {
			return word.means, nil
		}
	}
	return false, Errorf(syscall.EINVAL, "%.20q is no yes or no", s)
}
