# Functions for the scripts beside this: each capture is a folder of $OUT with the pages of each CPU, the formats of
# events of modules, and the names of tasks. Source it as root in a machine that is there for nothing else.
T=/sys/kernel/tracing
HERE=$(dirname "$0")
PATH=/run/load:$PATH
mkdir -p /run/load

# keep NAME 'what it is': stop, and copy what was recorded.
keep() {
	local to=$OUT/$1 c n f
	echo 0 > $T/tracing_on
	mkdir -p "$to"
	{ echo "$2"; uname -rv; nproc; } > "$to/README"
	cat $T/set_event > "$to/set_event"
	cat $T/saved_cmdlines > "$to/saved_cmdlines"
	cat $T/printk_formats > "$to/printk_formats"
	grep '\[' /proc/kallsyms > "$to/kallsyms.modules.txt"
	for c in $T/per_cpu/cpu[0-9]*; do
		n=${c##*/}
		cat "$c/stats" > "$to/stats.$n"
		dd if="$c/trace_pipe_raw" bs=4096 iflag=nonblock status=none 2>/dev/null | dd obs=1M of="$to/$n.raw" status=none
		echo "$1 $n: $(grep -E '^(entries|overrun|dropped)' "$to/stats.$n" | tr '\n' ' ')"
	done
}

# clean: as after boot, with KB for each CPU.
clean() {
	echo 0 > $T/tracing_on
	echo nop > $T/current_tracer
	echo > $T/set_event
	echo > $T/set_ftrace_filter
	echo nostacktrace > $T/trace_options
	echo 4096 > $T/saved_cmdlines_size
	echo "$1" > $T/buffer_size_kb
	echo > $T/trace
}

# events NAME KB EVENTS COMMAND: EVENTS with stacks while COMMAND runs.
events() {
	clean "$2"
	echo stacktrace > $T/trace_options
	local e
	for e in $3; do echo "$e" >> $T/set_event; done
	echo > $T/trace
	echo 1 > $T/tracing_on
	eval "$4" > /dev/null 2>&1
	keep "$1" "events $3, options/stacktrace, $4"
}

# functions NAME KB FILTER COMMAND: the function tracer with stacks on the functions of FILTER.
functions() {
	clean "$2"
	set -f; echo $3 > $T/set_ftrace_filter; set +f
	echo function > $T/current_tracer
	echo func_stack_trace > $T/trace_options
	echo > $T/trace
	echo 1 > $T/tracing_on
	eval "$4" > /dev/null 2>&1
	echo 0 > $T/tracing_on
	echo nofunc_stack_trace > $T/trace_options
	keep "$1" "function tracer, options/func_stack_trace, $(echo "$3" | tr '\n' ' '), $4"
}
