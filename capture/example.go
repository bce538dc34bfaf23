package capture

import (
	"embed"
	"io/fs"

	"ftracelab/budget"
)

//go:generate go run ./internal/cutexample -pages 250 $FTRACELAB_ORACLE/debian/stacks/kmem_stack example/kmem_stack

//go:embed example/kmem_stack
var example embed.FS

// Example is a capture folder that comes with the program. It holds the first pages of
// a trace of kmem_cache_alloc with kernel stacks, taken on a real Linux 6.12; its
// README tells more.
func Example() fs.FS {
	sub, err := fs.Sub(example, "example/kmem_stack")
	if err != nil {
		panic("capture: invariant: " + err.Error())
	}
	return sub
}

// OpenExample opens the folder of [Example].
func OpenExample(opt Options) (*Capture, error) {
	opt.Memory = budget.OrDefault(opt.Memory)
	return open(location{fsys: &files{Example(), opt.Memory}, name: ".", shown: "example/kmem_stack"}, opt)
}
