package tracefile_test

import (
	"context"
	"fmt"

	"ftracelab/tracefsfs/tracefile"
)

// A component declares a file beside what the file shows and sets.
func ExampleValue() {
	depth := uint64(0)
	file := tracefile.Value("max_graph_depth", 0o640,
		func() string { return fmt.Sprintln(depth) },
		func(s string) (err error) {
			depth, err = tracefile.ParseUlong(s, 10)
			return err
		})

	ctx := context.Background()
	h, _ := file.Open(ctx, tracefile.Read|tracefile.Write)
	_, err := h.Write(ctx, []byte("deep\n"))
	fmt.Println(tracefile.Strerror(tracefile.Errno(err)))
	h.Write(ctx, []byte("3\n"))
	buf := make([]byte, 16)
	n, _ := h.Read(ctx, buf)
	fmt.Printf("%s", buf[:n])
	// Output:
	// Invalid argument
	// 3
}
