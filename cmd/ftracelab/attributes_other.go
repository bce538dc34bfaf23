//go:build !linux

package main

// hasAttributes is only known of Linux.
func hasAttributes(string) bool { return false }
