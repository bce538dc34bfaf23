. /run/vm/job/guestlib.sh
mkdir -p /run/w; cp "$VM_DIR"/w/* /run/w/; export PATH=/run/w:$PATH
cap net_graph "loopback TCP, TCP over IPv6, UDP, unix; over virtio-net a ping and an echo over TCP, under function_graph over all functions"
t buffer_size_kb 60000
ev 'net:*' 'tcp:*' 'sock:*' 'skb:*' 'napi:*' 'udp:*' 'fib:*' 'fib6:*' 'qdisc:*' 'neigh:*' 'irq:*' sched:sched_switch sched:sched_waking sched:sched_wakeup sched:sched_process_fork sched:sched_process_exec sched:sched_process_exit raw_syscalls:sys_enter raw_syscalls:sys_exit
t current_tracer function_graph
go 'net tcp 2 100' 'net udp 2 200' 'net unix 2 100' "$B ping -c 1 10.0.2.2 > /dev/null" "echo hello | timeout 1 $B nc 10.0.2.100 7"
HEAD=1000 save
