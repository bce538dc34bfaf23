// Package hist is the histograms of events: the trigger hist, which counts and
// sums what an event's records say under keys made of their fields.
//
//	hist:keys=call_site.sym:vals=bytes_req:sort=bytes_req.descending
//
// [Map] is the table behind a histogram.
//
// Kernel: kernel/trace/trace_events_hist.c, kernel/trace/tracing_map.c.
package hist
