package main

import (
	"runtime"
	"runtime/debug"
)

// usualGCPercent is the percentage of Go programs that nobody has told another one.
const usualGCPercent = 100

// collectLater lets the garbage collector begin at three times the usual amount, 12 MB instead of
// 4, until it has run once. What a machine allocates when it is made is less than that, and
// nearly all of it stays: a collection would find nothing, but would take time and touch
// memory before the first prompt. In a process that has collected already, or is told when
// to collect (GOGC), it does nothing.
func collectLater() {
	var stats debug.GCStats
	if debug.ReadGCStats(&stats); stats.NumGC > 0 {
		return
	}
	if was := debug.SetGCPercent(3 * usualGCPercent); was != usualGCPercent {
		debug.SetGCPercent(was)
		return
	}
	garbage := new([1 << 10]byte)
	runtime.AddCleanup(garbage, func(percent int) { debug.SetGCPercent(percent) }, usualGCPercent)
}
