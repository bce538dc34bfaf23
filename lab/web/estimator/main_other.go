//go:build !js

// Command estimator is the program of the page of package web that estimates a capture
// which was dropped there. It is ftracelab estimate without its flags and its models, so
// that it is small. It runs only in a browser.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "estimator runs in a page: see ftracelab serve")
	os.Exit(1)
}
