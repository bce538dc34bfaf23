package main

import "os"

// There are no signals in a page.

func endSignals() []os.Signal   { return nil }
func writeSignals() []os.Signal { return nil }
func isBrokenPipe(error) bool   { return false }
