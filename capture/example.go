package capture

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"ftracelab/budget"
)

//go:generate go run ./internal/cutexample -pages 250 $FTRACELAB_ORACLE/debian/stacks/kmem_stack example/kmem_stack
//go:generate go run ./internal/cutexample -pages 150 $FTRACELAB_ORACLE/debian/stacks/sched_stack example/sched_stack
//go:generate go run ./internal/cutexample -pages 150 $FTRACELAB_ORACLE/debian/stacks/user_stack example/user_stack
//go:generate go run ./internal/cutexample -pages 100 $FTRACELAB_ORACLE/full/function/fn_func_stack example/function_stack

//go:embed example/kmem_stack example/sched_stack example/user_stack example/function_stack
var example embed.FS

// examples are the captures that come with the program, by the names that a command line
// has for them.
var examples = []struct{ name, folder string }{
	{"example", "kmem_stack"},
	{"example-sched", "sched_stack"},
	{"example-user", "user_stack"},
	{"example-function", "function_stack"},
}

// Examples lists the names of the captures that come with the program. Each is the
// beginning of a trace with stacks that was taken on a real Linux 6.12; its README tells
// more. The first one has kernel stacks of kmem_cache_alloc.
func Examples() (names []string) {
	for _, e := range examples {
		names = append(names, e.name)
	}
	return names
}

// Example is the folder of the first of the [Examples].
func Example() fs.FS { return embedded(examples[0].folder) }

func embedded(folder string) fs.FS {
	sub, err := fs.Sub(example, "example/"+folder)
	if err != nil {
		panic("capture: invariant: " + err.Error())
	}
	return sub
}

// OpenExample opens the first of the [Examples].
func OpenExample(opt Options) (*Capture, error) { return OpenNamedExample(examples[0].name, opt) }

// OpenNamedExample opens one of the [Examples]. For another name, the error lists them.
func OpenNamedExample(name string, opt Options) (*Capture, error) {
	for _, e := range examples {
		if e.name == name {
			opt.Memory = budget.OrDefault(opt.Memory)
			return open(location{fsys: &files{embedded(e.folder), opt.Memory}, name: ".", shown: "example/" + e.folder}, opt)
		}
	}
	return nil, fmt.Errorf("no example %q; there are %s", name, strings.Join(Examples(), ", "))
}
