// Package tracingmap is the table behind a histogram: elements found by the bytes
// of a key, each with sums, and with variables that other histograms may read.
//
// A [Map] takes as many elements as it was made for and never removes one; that
// is how the kernel can find a key from any context without a lock.
// [Map.Sorted] returns the elements in the order in which the kernel shows
// them.
//
// Kernel: kernel/trace/tracing_map.c.
package tracingmap
