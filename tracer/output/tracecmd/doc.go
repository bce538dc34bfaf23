// Package tracecmd prints records as trace-cmd report does. That is not the kernel's
// text, but the text of libtraceevent and its plugins.
//
//	kernel   trace-4242  [001] d..2.  99.100716: sched_switch: prev_comm=a prev_pid=1 …
//	report   trace-4242  [001]    99.100716: sched_switch:         a:1 [120] S ==> b:2 [120]
//
// Most events are printed by their print fmt, which package printfmt runs with C's
// conversions. The events for which libtraceevent has a handler have one here as well.
// The text was compared, line by line, with that of trace-cmd 3.1.6 and libtraceevent
// 1.7.1.
//
//	p := tracecmd.New(tracecmd.Config{Types: types, Kallsyms: text, …})
//	err := p.Print(ctx, os.Stdout, []tracecmd.Buffer{{CPUs: 2, Source: records}})
//
// Departure: of a trace_printk (bprint) only the place is printed, not the arguments.
// Records of the blk tracer are not printed. There are no plugins for cfg80211, kvm,
// mac80211, scsi and xen: the print fmt prints their events. Of the plugin jbd2 there is
// what it makes of a time in jiffies: the number of jiffies.
//
// Departure: libtraceevent 1.7.1 fails to parse the print fmt of the events of
// maple_tree, so it prints their fields. Here they are parsed.
//
// Departure: libtraceevent 1.7.1 fails to parse the format file of a probe's event with
// an array of strings, and prints only the fields before the array. Here all fields are
// printed, in the form of the kernel's option fields.
//
// Departure: libtraceevent adds the time of a discarded record to the times that
// follow. The kernel and this package do not.
package tracecmd
