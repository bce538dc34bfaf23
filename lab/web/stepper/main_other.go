//go:build !js

// Command stepper is the first program of the page of package web: package lab, and
// nothing else, so that the first step is there soon. It runs only in a browser.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "stepper runs in a page: see ftracelab serve")
	os.Exit(1)
}
