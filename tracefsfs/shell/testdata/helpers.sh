# Helpers in the manner of the kernel's selftests, for tests that must run
# without a kernel tree.
clear_trace() { echo > trace; }

reset_filters() { # every filter that is set
    grep -v ^none events/*/*/filter |
    while read line; do
        echo 0 > `echo $line | cut -f1 -d:`
    done
}

reset_triggers() { # every trigger, by its text without the [state]
    grep -Hv ^# events/*/*/trigger |
    while read line; do
        cmd=`echo $line | cut -f2- -d: | cut -f1 -d"["`
        file=`echo $line | cut -f1 -d:`
        echo "!$cmd" > $file
    done
}

initialize_ftrace() {
    echo 0 > tracing_on
    echo nop > current_tracer
    reset_triggers
    reset_filters
    [ -f set_graph_function ] && echo | tee set_graph_*
    [ -f options/pause-on-trace ] && echo 1 > options/pause-on-trace
    clear_trace
    echo 1 > tracing_on
}

check_requires() {
    for i in "$@"; do
        t=${i%:tracer}
        if [ $t != $i ]; then
            grep -wq $t available_tracers || exit_unsupported
        elif [ ! -e $i ]; then
            exit_unsupported
        fi
    done
}
