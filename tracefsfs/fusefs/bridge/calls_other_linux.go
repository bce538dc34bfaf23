//go:build !amd64

package bridge

// observable are the system calls that are observed beside the tree: none, because their
// numbers and arguments are not those of the simulated machine, which is of x86-64.
var observable []pathCall

func (c pathCall) way([6]uint64) (flags uint64, makes, known bool) { return 0, false, false }

// Numbers on x86-64.
const (
	sysExecve = 59
	sysChdir  = 80
	sysPrctl  = 157
)
