// Package summary is what remains of a capture when its records are gone: a small file
// from which the question of an estimate can still be answered, and which can be added
// to the summaries of other captures.
//
//	capture ── report.Estimate ── Summary ── Encode ── a.ftls ─┐
//	capture ── report.Estimate ── Summary ── Encode ── b.ftls ─┴─ Merger ── Encode ── fleet.ftls
//
// A [Summary] has a row for each machine: its events and stacks, their bytes, and what
// a stack map of each size would have made of them. The maps of two machines have
// nothing to do with each other, so the answer for a map of any size on any number of
// machines is in these rows, and no row changes when summaries are added.
//
// Beside the rows are the counts of all machines together: events on each CPU, events
// by the size of their record, and the kernel stacks with their depths.
//
// # Adding
//
// A [Merger] adds summaries. Its sum does not depend on the order of what is added, nor
// on what was added to what before, and so neither do the bytes of the file.
//
// Its memory has a bound. A row takes less than 500 bytes; there are at most
// [MaxMachines], and if the budget has no room for a row, adding fails with an error
// that names the memory that is needed. At most [MaxStacks] different stacks are kept.
// If there are more, half of them are dropped, then half of the rest, until they fit:
// first those whose hash begins with a 1 bit, then those whose hash begins with 01. The
// hash does not know how frequent a stack is, so the rest is a fair sample, and the
// counts of the stacks in it are still exact.
//
// # The file
//
// All numbers are unsigned varints in their shortest form, seven bits to a byte, the
// lowest first. The file has one form for one content:
//
//	"FTLS"    the magic
//	1         the version
//	n         machines, in ascending order of name and figures; for each:
//	            the length of its name, the name,
//	            its figures in the order of the fields of Machine
//	n         CPUs from 0; for each: machines, events, microseconds
//	n         sizes of records, ascending; for each:
//	            what is to be added to the size before it, events
//	level     how many leading zero bits the hashes of the sample have
//	n         stacks by ascending hash; for each:
//	            what is to be added to the hash before it, depth, count
//	8 bytes   the xxHash64 of all bytes before, lowest byte first
//
// The first size or hash of a list is added to 0. [Decode] refuses every other form,
// and counts that do not fit together.
package summary
