//go:build !linux

package main

// hasAttributes is false, because attributes are known on Linux only.
func hasAttributes(string) bool { return false }
