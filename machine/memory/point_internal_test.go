package memory

import (
	"strings"
	"testing"

	"ftracelab/machine"
)

// Each tracepoint of the machine has its arguments here, but for those of the module
// whose structures are not in the kernel's BTF.
func TestEveryTracepointHasArguments(t *testing.T) {
	for e := machine.EvNone + 1; e < machine.NumTracepoints; e++ {
		if sample := strings.HasPrefix(e.TracepointName(), "sample-trace:"); (protos[e] == nil) != sample {
			t.Errorf("%s: arguments: %t", e.TracepointName(), protos[e] != nil)
		}
	}
}
