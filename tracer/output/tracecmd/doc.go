// Package tracecmd prints records as trace-cmd report prints them: not the text that
// the kernel makes, but that of libtraceevent and its plugins.
//
//	kernel   trace-4242  [001] d..2.  99.100716: sched_switch: prev_comm=a prev_pid=1 …
//	report   trace-4242  [001]    99.100716: sched_switch:         a:1 [120] S ==> b:2 [120]
//
// The print fmt of most events is run by package printfmt with C's conversions; the
// events that have a handler of their own there have one here, in handlers.go, graph.go
// and stack.go. What is printed was compared, line by line, with trace-cmd 3.1.6 and
// libtraceevent 1.7.1.
//
//	p := tracecmd.New(tracecmd.Config{Types: types, Kallsyms: text, …})
//	err := p.Print(ctx, os.Stdout, []tracecmd.Buffer{{CPUs: 2, Source: records}})
//
// Departure: the arguments of trace_printk (bprint) are not printed, only where it
// stood; nor are the records of the blk tracer. The plugins for cfg80211, jbd2, kvm,
// mac80211, scsi and xen are not there: their events are printed by their print fmt.
//
// Departure: libtraceevent 1.7.1 fails to parse the print fmt of the events of
// maple_tree and prints their fields; here they are parsed.
//
// Departure: libtraceevent 1.7.1 fails to parse the format file of a probe's event with
// an array of strings, and prints the fields before it; here are all of them, as the
// kernel prints fields.
//
// Departure: libtraceevent adds the time of a discarded record to those that follow,
// the kernel and this package do not.
package tracecmd
