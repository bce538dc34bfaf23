#!/bin/bash
# The same kinds of load with other figures, which no model is learned from. OUT is where the captures go.
. "$(dirname "$0")/record.sh"
gcc -O2 -o /run/load/storm "$HERE/storm.c"; gcc -O2 -o /run/load/server "$HERE/server.c"; cp "$HERE/mix.sh" /run/load/
modprobe ext4; mkfs.ext4 -q -F /dev/vda; mount /dev/vda /mnt
NET="net:* tcp:* sock:* skb:* napi:*"
FILTER="vfs_* filemap_* sock_* tcp_* handle_mm_fault schedule"
events scheduler-storm 100000 "sched:*" "storm socket 2 8 12"
events network-server 100000 "$NET" "server 2 16 16 15"
functions function-mix 100000 "$FILTER" "mix.sh 40 /tmp"
clean 1408
