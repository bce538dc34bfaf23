#!/bin/bash
# What the scenario models but slab-from-boot are learned from. OUT is where the captures go.
. "$(dirname "$0")/record.sh"
gcc -O2 -o /run/load/storm "$HERE/storm.c"; gcc -O2 -o /run/load/server "$HERE/server.c"; cp "$HERE/mix.sh" /run/load/
modprobe ext4; mkfs.ext4 -q -F /dev/vda; mount /dev/vda /mnt
mix.sh 3 /mnt > /dev/null 2>&1
NET="net:* tcp:* sock:* skb:* napi:*"
FILTER="vfs_* filemap_* sock_* tcp_* handle_mm_fault schedule"
events scheduler-storm 100000 "sched:*" "storm pipe 4 5 12"
events network-server 100000 "$NET" "server 4 8 48 15"
functions function-mix 100000 "$FILTER" "mix.sh 40 /mnt"
clean 1408
