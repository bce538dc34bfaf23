//go:build !js

// Command plotter is the program of the page of package web that reads a trace.dat for the time
// line: package lab/timeline, and nothing else. It runs only in a browser.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "plotter runs in a page: see ftracelab serve")
	os.Exit(1)
}
