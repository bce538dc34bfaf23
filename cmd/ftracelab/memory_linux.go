package main

import (
	"bytes"
	"os"
	"strconv"
)

// machineMemory is the memory of the machine or of the container, in bytes; 0: it is
// not known.
func machineMemory() int64 {
	total := int64(0)
	text, err := os.ReadFile("/proc/meminfo")
	if err == nil {
		if _, rest, ok := bytes.Cut(text, []byte("MemTotal:")); ok {
			if f := bytes.Fields(rest); len(f) > 0 {
				kb, _ := strconv.ParseInt(string(f[0]), 10, 44)
				total = kb << 10
			}
		}
	}
	if text, err = os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil && (total == 0 || n < total) {
			total = n
		}
	}
	return total
}
