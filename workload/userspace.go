//go:build !js

package workload

import (
	"cmp"
	"slices"

	"ftracelab/machine"
)

// addressSpace is the memory of a process from its exec on. Its threads, and the processes
// that it forks, have the same addresses until they execute a program themselves.
type addressSpace struct {
	image int32
	bases []uint64
	maps  []machine.Mapping
	top   uint64 // of the stack
}

// How much of an address is chosen by chance.
//
// Kernel: arch_mmap_rnd and mmap_base, arch/x86/mm/mmap.c; randomize_stack_top and
// load_elf_binary, fs/binfmt_elf.c; arch_randomize_brk and arch_align_stack,
// arch/x86/kernel/process.c; CONFIG_ARCH_MMAP_RND_BITS.
const (
	pageShift   = 12
	mapPages    = 1 << 28
	stackPages  = 1<<22 - 1
	heapPages   = 1 << (30 - pageShift)
	frameSpread = 8192 / 16
	taskSize    = 0x7ffffffff000
	stackGap    = 0x404400000    // below the stack: its own chance, the guard gap and the limit of its size
	textFloor   = 0x555555554000 // two thirds of the address space
	textSpan    = 0x2000000      // behind which the heap can begin
	mapsSpan    = 0x1000000      // how much the libraries take
)

// space makes the address space of a process that executes an image.
func (all *populace) space(image int32) *addressSpace {
	im := &all.users.Images[image]
	s := &addressSpace{image: image, top: taskSize - all.rng.Uint64N(stackPages)<<pageShift}
	text := textFloor + all.rng.Uint64N(mapPages)<<pageShift
	for _, b := range im.Bases {
		at := all.rng.Uint64()
		switch b {
		case TextBase:
			at = text
		case HeapBase:
			at = text + textSpan + at%heapPages<<pageShift
		case MapBase:
			at = taskSize - stackGap - mapsSpan - at%mapPages<<pageShift
		case StackBase:
			at = s.top
		case FrameBase:
			at = s.top - 4096 - at%frameSpread*16
		}
		s.bases = append(s.bases, at)
	}
	for i := range im.Maps {
		m := &im.Maps[i]
		start := uint64(0)
		if m.Base > 0 {
			start = s.bases[m.Base-1]
		}
		at := machine.Mapping{Start: start + uint64(m.Start), End: start + uint64(m.End), Offset: uint64(m.Offset), Inode: all.inode(m.Path), Path: m.Path}
		if at.Inode != 0 {
			at.Dev = DiskMajor << 20
		}
		s.maps = append(s.maps, at)
	}
	s.maps = append(s.maps, machine.Mapping{Start: s.top - 132<<10, End: s.top, Path: "[stack]"})
	slices.SortFunc(s.maps, func(a, b machine.Mapping) int { return cmp.Compare(a.Start, b.Start) })
	return s
}

// inode is the number of a file (0: of no file): that of the first image which has it mapped, and of its
// place there.
func (all *populace) inode(path string) uint64 {
	if path[0] == '[' {
		return 0
	}
	for i := range all.users.Images {
		for n := range all.users.Images[i].Maps {
			if all.users.Images[i].Maps[n].Path == path {
				return 1000 + uint64(i)*8 + uint64(n)
			}
		}
	}
	return 0
}
