// Package hist is the hist trigger. Each time an event happens, it is counted in
// a map, under a key made of its fields. It may also keep variables in the map.
// Other events read these variables, and may act when their keys match.
//
//	hist:keys=next_pid:lat=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).wakeup($lat,next_pid) if next_prio<100
//	     └───keys────┘ └──────────variable───────────┘ └────────────────action────────────────────────┘ └──filter──┘
//
// # The parts
//
// A command becomes a [Hist]: the fields in the kernel's order (hitcount,
// values, variables, keys), what is done with them ([Field]), its actions and
// the map that holds one [Element] per key. A [Trigger] is a Hist on one event;
// triggers with the same name share a Hist. A [File] holds the triggers of one
// event of an [Instance], and variables are looked up among the triggers of the
// instance.
//
// # Variables
//
// A variable is a value of an element that is not summed up but replaced. An
// event reads the variables of other events under its own key: sched_switch
// with the key next_pid finds what sched_waking has stored under the key pid.
// If no element or no value is found, the event does not count. A variable that
// an expression reads has no value afterwards.
//
// An action that names a field of another event adds a hidden trigger there,
// with a variable synthetic_FIELD; the hidden trigger is removed together with
// the action.
//
// Kernel: kernel/trace/trace_events_hist.c.
package hist
