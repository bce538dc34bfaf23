. /run/vm/job/guestlib.sh
mkdir -p /run/w; cp "$VM_DIR"/w/* /run/w/; export PATH=/run/w:$PATH
mkswap /dev/vdb > /dev/null; swapon /dev/vdb
SYS="raw_syscalls:sys_enter raw_syscalls:sys_exit sched:sched_switch sched:sched_waking sched:sched_wakeup sched:sched_process_fork sched:sched_process_exec sched:sched_process_exit"
cap mem_graph "eat 4 in a machine without free memory, with swap, under function_graph over all functions"
t buffer_size_kb 40000
ev 'vmscan:*' 'compaction:*' 'migrate:*' 'block:*' 'irq:*' kmem:mm_page_alloc_extfrag $SYS
t current_tracer function_graph
echo 100 > /proc/sys/vm/swappiness
before 'hold 3 300 > /run/ready & until grep -q holds /run/ready; do sleep 1; done; cat /run/ready; grep -E "MemFree|MemAvail" /proc/meminfo'
go 'eat 3'
HEAD=1000 save
