#!/bin/bash
# The slab from boot. OUT is where the capture goes. Boot with
#   trace_event=kmem:kmalloc,kmem:kmem_cache_alloc trace_options=stacktrace,nooverwrite trace_buf_size=200M maxcpus=1
# and run this as soon as the machine is up.
. "$(dirname "$0")/record.sh"
keep slab-from-boot "events kmem:kmalloc kmem:kmem_cache_alloc, options/stacktrace, from the command line of the kernel on, until 200 MB were full"
echo overwrite > $T/trace_options
clean 1408
echo 1 > /sys/devices/system/cpu/cpu1/online
