package memory

import (
	"fmt"
	"strconv"
	"strings"

	"ftracelab/machine"
)

// caches are slab caches with the sizes of their objects, from captures.
var caches = []struct {
	name string
	size uint64
}{
	{"names_cache", 4096},
	{"dentry", 192},
	{"filp", 256},
	{"vm_area_struct", 176},
	{"vma_lock", 40},
	{"anon_vma", 104},
	{"anon_vma_chain", 64},
	{"cred_jar", 192},
	{"pid", 128},
	{"files_cache", 704},
	{"fs_cache", 64},
	{"sighand_cache", 2112},
	{"signal_cache", 1152},
	{"mm_struct", 1408},
	{"task_struct", 9792},
	{"inode_cache", 624},
	{"sock_inode_cache", 832},
	{"lsm_file_cache", 24},
	{"lsm_inode_cache", 88},
}

// cache gives the address of the slab cache with that name, whose objects have size
// bytes. One of the two may be unknown, that is, "" or 0.
//
// Departure: at an allocation, the name of the cache is guessed from the size; at a
// free, the size is guessed from the name.
func (mem *Memory) cache(name string, size uint64) uint64 {
	for i := range caches {
		switch c := &caches[i]; {
		case name == "" && c.size == size:
			name = c.name
		case size == 0 && c.name == name:
			size = c.size
		}
	}
	if general, ok := strings.CutPrefix(name, "kmalloc-"); ok && size == 0 {
		size, _ = strconv.ParseUint(general, 10, 32) // kmalloc-8k and such: not known
	}
	if name == "" {
		if name = mem.general[size]; name == "" {
			name = fmt.Sprintf("kmalloc-%d", size)
			mem.general[size] = name
		}
	}
	return mem.object(kindCache, key{size, name}).addr
}

// usedCache is the slab cache from which the function being entered allocates, or to
// which it gives an object back.
func (mem *Memory) usedCache(c *machine.CPU) uint64 {
	if s, ok := c.Allocates(); ok {
		return mem.cache("", uint64(s.Alloc))
	}
	if s, _, ok := c.Frees(); ok {
		return mem.cache(s.Cache, 0)
	}
	return mem.cache("", 64)
}
