package tracefsfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/tracefile"
)

func Example() {
	on := true
	fsys := tracefsfs.New(&tracefile.Dir{Mode: 0o700, Children: func() []tracefile.Node {
		return []tracefile.Node{
			tracefile.Flag("tracing_on", 0o640, func() bool { return on }, func(v bool) error { on = v; return nil }),
		}
	}})

	err := tracefsfs.WriteFile(fsys, "tracing_on", "off\n")
	fmt.Println(errors.Is(err, syscall.EINVAL))
	_ = tracefsfs.WriteFile(fsys, "tracing_on", "0\n")
	text, _ := fs.ReadFile(fsys, "tracing_on")
	fmt.Printf("%s", text)
	_ = fsys.List(os.Stdout, ".")
	// Output:
	// true
	// 0
	// d 700 .
	// f 640 ./tracing_on
}
