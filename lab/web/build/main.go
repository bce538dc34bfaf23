// Command build makes the programs of the page, for go generate ./lab/web, or
// puts them into the folder that it is given.
package main

import (
	"context"
	"fmt"
	"os"

	"ftracelab/lab/web"
)

func main() {
	dir := "programs"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := web.Build(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
