. /run/vm/job/guestlib.sh
modprobe ext4
mkfs.ext4 -q -F /dev/vda; mkdir -p /mnt
mkdir -p /run/w /run/ko; cp "$VM_DIR"/w/* /run/w/; export PATH=/run/w:$PATH
xz -dc /lib/modules/$VM_KREL/kernel/drivers/net/dummy.ko.xz > /run/ko/dummy.ko
SYS="raw_syscalls:sys_enter raw_syscalls:sys_exit sched:sched_switch sched:sched_waking sched:sched_wakeup sched:sched_process_fork sched:sched_process_exec sched:sched_process_exit"
cap ext4_graph "fsop under function_graph over all functions, with system calls"
t buffer_size_kb 60000
ev 'ext4:*' 'jbd2:*' 'writeback:*' 'block:*' 'filemap:*' 'irq:*' $SYS
t current_tracer function_graph
before 'mount /dev/vda /mnt; echo 3 > /proc/sys/vm/drop_caches; sync'
go 'fsop /mnt 2' '$B umount /mnt'
HEAD=1000 save
cap module_graph "insmod and rmmod under function_graph over all functions"
t buffer_size_kb 60000
ev 'module:*' 'initcall:*' 'notifier:*' 'net:*' 'cgroup:*' 'percpu:*' 'irq:*' $SYS
t current_tracer function_graph
before "insmod /run/ko/dummy.ko; grep dummy /proc/kallsyms > \$D/kallsyms.loaded.txt; cat /proc/modules > \$D/modules.loaded.txt; rmmod dummy"
go "insmod /run/ko/dummy.ko" "rmmod dummy"
HEAD=1000 save
