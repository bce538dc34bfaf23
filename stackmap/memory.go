package stackmap

// Sizes in a 64-bit kernel, in bytes.
const (
	pageSize    = 4096
	pointerSize = 8
	slotSize    = 16 // u32 key, 4 of padding, pointer
	headerSize  = 16 // of the binary export
	recordSize  = 16 // of a stack in it, before the addresses
	elementSize = 8  // u32 nr, s32 ref_count, before the addresses
)

// Area is one line of /proc/vmallocinfo.
type Area struct {
	Size  int // bytes of address space, a guard page included
	Pages int // of memory
}

// vmalloc returns the area for n bytes and, if the list of its pages does not
// fit into one page, the area for that list.
//
// Kernel: __vmalloc_area_node, mm/vmalloc.c.
func vmalloc(n int) []Area {
	pages := (n + pageSize - 1) / pageSize
	areas := []Area{{Size: (pages + 1) * pageSize, Pages: pages}}
	if list := pages * pointerSize; list > pageSize {
		areas = append(areas, vmalloc(list)...)
	}
	return areas
}

// vmallocinfo lists what a kernel with this map shows in /proc/vmallocinfo for
// ftrace_stackmap_create: the table, then the pool, each followed by its list of
// pages if that is large.
func (c Config) vmallocinfo() []Area {
	c = c.withDefaults()
	return append(vmalloc(c.slots()*slotSize), vmalloc(c.capacity()*(elementSize+8*c.MaxDepth))...)
}

// Memory says what the map costs a kernel, used or not, in bytes of vmalloc
// space (each with its guard page, as /proc/vmallocinfo counts): the table of
// slots, the pool of elements, and, for as long as it is open, the snapshot
// behind stack_map_bin when the map is full. The emulated map itself takes
// memory only for the stacks it holds.
func (c Config) Memory() (table, pool, export int) {
	c = c.withDefaults()
	n := headerSize + (c.capacity()+1)*(recordSize+8*c.MaxDepth)
	return vmalloc(c.slots() * slotSize)[0].Size,
		vmalloc(c.capacity() * (elementSize + 8*c.MaxDepth))[0].Size,
		vmalloc(n)[0].Size
}
