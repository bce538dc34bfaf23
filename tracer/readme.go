package tracer

// readme is the text of the tracefs's README. Clients search it to learn what a
// kernel can do, so it names what works here and nothing else.
//
// Departure: the kernel's README is a mini-HOWTO of all it can do; this one is
// ours and describes the files this tree has.
const readme = `tracing mini-HOWTO:

This tracefs belongs to ftracelab, an emulation of Linux 6.12's ftrace. Where it is
mounted, its files can be given to a group: mount -o remount[,[gid=<gid>]] DIR

 # echo 0 > tracing_on : stop recording quickly
 # echo 1 > tracing_on : record again
 # echo nop > current_tracer : no tracer; events still record

 Files:
  README			- this text
  trace				- what was recorded; echo > trace empties it
  trace_pipe			- the same, taken out while it is read
  snapshot			- a second buffer: echo 1 > snapshot exchanges the two
  current_tracer		- one of available_tracers
  available_tracers		- the tracers of this kernel
  tracing_on			- whether the buffer records
  trace_clock			- where time stamps come from
  trace_marker			- what is written here is recorded
  trace_marker_raw		- a 4-byte id and data, recorded as they are
  trace_options, options/	- how to record and how to show
  set_event, available_events	- events by name: sched:sched_switch, sched:*, !sched:*
  set_event_pid			- record events of these tasks only
  set_event_notrace_pid		- or of all but these
  events/			- a folder for each event: enable, filter, trigger, format, id
      trigger: <command>[:count][ if <filter>], ! takes it away
	command: traceon, traceoff, snapshot, stacktrace,
		 enable_event:<system>:<event>, disable_event:<system>:<event>,
		 enable_hist:<system>:<event>, disable_hist:<system>:<event>
	hist: counts events under keys; the event's file hist shows them
	    hist:keys=<field1[,field2,...]>
	      [:<var1>=<field|var_ref|numeric_literal>[,<var2>=...]]
	      [:values=<field1[,field2,...]>] [:sort=<field1[,field2,...]>]
	      [:size=#entries] [:pause][:continue][:clear] [:name=histname1]
	      [:nohitcount] [:<handler>.<action>] [if <filter>]
	    A key can be any field, or the special string 'common_stacktrace',
	      common_timestamp or common_cpu; up to three make a key.
	    Shown as: .hex .sym .sym-offset .execname .syscall .log2
	      .buckets=size .usecs; values also .percent .graph
	    handler: onmatch(matching.event), onmax(var), onchange(var)
	    action: trace(<synthetic_event>,param list), save(field,...), snapshot()
  dynamic_events		- Create/append/remove/show events while the kernel runs; > deletes all
	  accepts: event-definitions (one definition per line)
	   Format: p[:[<group>/][<event>]] <place> [<args>]
	           r[maxactive][:[<group>/][<event>]] <place> [<args>]
	           f[:[<group>/][<event>]] <func-name>[%return] [<args>]
	           t[:[<group>/][<event>]] <tracepoint> [<args>]
	           s:[synthetic/]<event> <field> [<field>]
	           e[:[<group>/][<event>]] <attached-group>.<attached-event> [<args>] [if <filter>]
	           -:[<group>/][<event>]
	    place: [<module>:]<symbol>[+<offset>]|<memaddr>
place (kretprobe): [<module>:]<symbol>[+<offset>]%return|<memaddr>
   place (uprobe): <path>:<offset>[%return][(ref_ctr_offset)]
	     args: <name>=fetcharg[:type]
	 fetcharg: (%<register>|$<efield>), @<address>, @<symbol>[+|-<offset>],
	           $stack<index>, $stack, $retval, $comm, $arg<N>,
	           <argname>[->field[->field|.field...]],
	           +|-[u]<offset>(<fetcharg>), \imm-value, \"imm-string"
	     kernel return probes support: $retval, $arg<N>, $comm
	     type: s8/16/32/64, u8/16/32/64, x8/16/32/64, char, string, symbol,
	           b<bit-width>@<bit-offset>/<container-size>, ustring,
	           symstr, %pd/%pD, <type>\[<array-size>\]
	   efield: a field of the event that is attached to
  kprobe_events			- the probes in the kernel among them
  kprobe_profile		- how often they were hit, and missed
  uprobe_events			- those in files of user space
  uprobe_profile		- how often they were hit
  synthetic_events		- events of one's own, which histograms generate; !name takes one away
	     example: echo 'wakeup_lat u64 lat; char comm[]; long[] stack' >> synthetic_events
  buffer_size_kb		- of each CPU's buffer
  buffer_total_size_kb		- of all of them
  free_buffer			- closing it gives the buffer's memory back
  per_cpu/			- the same files for one CPU, with its stats
  tracing_cpumask		- the CPUs that record
  set_ftrace_filter		- trace only these functions
	     accepts: func_full_name or glob-matching-pattern
	     modules: Can select a group via module
	      Format: :mod:<module-name>
	     triggers: a command to perform when function is hit
	      Format: <function>:<trigger>[:count]
	     trigger: traceon, traceoff
		      enable_event:<system>:<event>
		      disable_event:<system>:<event>
		      stacktrace
		      snapshot
		      dump
		      cpudump
  set_ftrace_notrace		- never trace these
  available_filter_functions	- the functions there are
  enabled_functions		- those that are traced now; touched_functions: ever
  set_ftrace_pid		- trace only functions of these tasks
  set_ftrace_notrace_pid	- never functions of these
  set_graph_function		- function_graph: only these and what they call
  set_graph_notrace		- function_graph: not these nor what they call
  max_graph_depth		- how deep function_graph looks, 0 for all
  tracing_thresh		- function_graph, in us: only what took longer
  function_profile_enabled	- count calls and times; see trace_stat/
  stack_trace			- the deepest kernel stack; stack_max_size: its size
  stack_trace_filter		- look only at these functions for it
  saved_cmdlines		- the names of the tasks that were recorded
  saved_cmdlines_size		- how many of them are kept
  saved_tgids			- their thread groups, with options/record-tgid
  buffer_subbuf_size_kb		- the size of a sub-buffer
  buffer_percent		- how full the buffer is when waiters wake
  timestamp_mode		- whether each event has an absolute time
  error_log			- what was wrong with commands
  instances/			- mkdir makes a buffer of its own
  stack_map			- the stacks behind <stack_id N>; echo 0 > stack_map empties it
  stack_map_stat		- entries, successes, drops
  stack_map_bin			- the stacks for programs
`
