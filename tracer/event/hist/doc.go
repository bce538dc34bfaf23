// Package hist is the hist trigger: an event counts itself into a map as it
// happens, under keys made of its fields, and may keep variables there that
// other events read, and act when they match.
//
//	hist:keys=next_pid:lat=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).wakeup($lat,next_pid) if next_prio<100
//	     └───keys────┘ └──────────variable───────────┘ └────────────────action────────────────────────┘ └──filter──┘
//
// # The parts
//
// A command becomes a [Hist]: the fields in the kernel's order (hitcount,
// values, variables, keys), what is done with them ([Field]), its actions and
// the map that holds one [Element] per key. A [Trigger] is a Hist on one
// event; triggers of one name share a Hist. A [File] holds the triggers of one
// event of an [Instance], and variables are looked up among the triggers of the
// instance.
//
// # Variables
//
// A variable is a value of an element that is not summed up but replaced. An
// event reads those of other events by the same key: the key of sched_switch's
// next_pid finds what sched_waking left under pid. Where no element or no value
// is found the event does not count. A variable that an expression reads is gone
// once read.
//
// An action that names a field of another event makes a trigger of its own
// there, with a variable synthetic_FIELD, which goes when the action goes.
//
// Kernel: kernel/trace/trace_events_hist.c.
package hist
