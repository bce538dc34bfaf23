package functions

import (
	"fmt"
	"math/bits"
)

// recordsPerPage is how many functions a page of ftrace's table has room for.
//
// Kernel: ENTRIES_PER_PAGE, kernel/trace/ftrace.c; struct dyn_ftrace has 16 bytes.
const recordsPerPage = 4096 / 16

// initFunctions is how many functions the kernel loses at the end of its boot, when it
// frees its init sections.
//
// Kernel: __start_mcount_loc and __stop_mcount_loc of Debian's 6.12.117 are those of
// 45925 functions, of which 42862 are left.
const initFunctions = 45925 - 42862

// weakFunctions is how many of these are none: the linker has dropped them.
//
// Kernel: "ftrace: allocating 45261 entries" of the same kernel.
const weakFunctions = 45925 - 45261

// BootMessages is what the kernel prints when it makes its table of functions.
//
// Kernel: ftrace_process_locs and ftrace_init.
func (u *Users) BootMessages() [2]string {
	n := u.machine.Kallsyms().Traceable() + initFunctions
	pages, groups := 0, recordGroups(n)
	for _, g := range groups {
		pages += g.pages
	}
	return [2]string{
		fmt.Sprintf("ftrace: allocating %d entries in %d pages", n-weakFunctions, pages),
		fmt.Sprintf("ftrace: allocated %d pages with %d groups", pages, len(groups)),
	}
}

// recordGroup is memory for records of functions. Its number of pages is a power of two.
type recordGroup struct{ pages, records int }

// recordGroups returns the memory for n records.
//
// Kernel: ftrace_allocate_pages and ftrace_allocate_records.
func recordGroups(n int) (groups []recordGroup) {
	for n > 0 {
		pages := 1 << (bits.Len(uint((n+recordsPerPage-1)/recordsPerPage)) - 1)
		records := min(n, pages*recordsPerPage)
		groups = append(groups, recordGroup{pages, records})
		n -= records
	}
	return groups
}

// ShowInfo returns the text of dyn_ftrace_total_info: how many functions can be traced,
// and how much memory their records take. The init functions come last; groups that held
// only init functions were freed.
//
// Departure: the functions of a module's init section never exist.
//
// Kernel: tracing_read_dyn_info, kernel/trace/trace.c; ftrace_free_mem.
func (u *Users) ShowInfo() string {
	count := map[string]int{}
	for _, s := range u.machine.Kallsyms().All() {
		if s.Traceable {
			count[s.Module]++
		}
	}
	total, pages, groups := 0, 0, 0
	add := func(g recordGroup) {
		pages += g.pages
		groups++
	}
	for mod, n := range count {
		total += n
		if mod != "" {
			for _, g := range recordGroups(n) {
				add(g)
			}
			continue
		}
		for _, g := range recordGroups(n + initFunctions) {
			if n > 0 {
				add(g)
			}
			n -= g.records
		}
	}
	return fmt.Sprintf("%d pages:%d groups: %d\n", total, pages, groups)
}
