//go:build !linux

package main

// There are no cells.
func tryEscapes()  {}
func mapRing()     {}
func workThreads() {}
func earlyThread() {}
