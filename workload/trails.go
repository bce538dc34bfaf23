package workload

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/gob"
	"fmt"
	"sync"

	"ftracelab/machine"
)

//go:generate go run ../internal/learn -trails trails.bin.gz

//go:embed trails.bin.gz
var trailsImage []byte

// Trails are the ways that real kernels took to an allocation, to a context switch or to
// a function, as recorded stacks show them, and the processes that took them.
//
// Departure: a stack shows only the functions that were not done yet. In the scenario mix and
// those with it, what a stay does beside its ways is the learned code of the same functions,
// which went the same way for another process. Only where the trail does, it allocates an
// object of a cache, switches to another task or calls a vfs function, and it wakes nobody. A
// function of which there is no learned code has nothing beside the ways, and neither has a
// stay in the other scenarios.
type Trails struct {
	TrailTables
	Paths []TrailPath
	Stays [][]int32 // paths that follow each other in one stay
	Loads []Load
}

// TrailTables are what a kernel has to know before it is booted. The image begins with
// them, so that a machine can be booted before the rest is unpacked.
type TrailTables struct {
	Modules []TrailModule
	Names   []string // of functions
	Sites   []TrailSite
	Slabs   []machine.Slab
}

// TrailModule is a module with functions on the stacks.
type TrailModule struct {
	Name      string
	Functions []string
}

// TrailSite is a place that calls a function. Func and Caller are indexes into Names;
// Caller is -1 for the outermost function. The call returns to Offset in the caller.
type TrailSite struct {
	Func, Caller int32
	Offset       uint32
}

// TrailPath is a way into the kernel, the outermost function first.
type TrailPath struct {
	Sites []int32
	End   TrailEnd
	NR    int32 // the number of the system call; -1: it is none, or not known
	Arg   int32 // AllocEnd: index into Slabs; SwitchEnd: the state in which the task leaves
}

// TrailEnd says what is at the end of a path.
type TrailEnd uint8

// The ends of paths.
const (
	CallEnd   TrailEnd = iota // the last function is called
	AllocEnd                  // … and it allocates an object of a cache
	SwitchEnd                 // … and it is __schedule
)

// Load is what ran while stacks were recorded.
type Load struct {
	Name  string
	Span  uint64 // how long that was, in ns
	Lives []TrailLife
	// Threads says that the kernel threads of the capture are among the lives, except those
	// of softirqs and of stop machine.
	Threads bool
}

// TrailLife is a process of a Load. The times are in ns. Before each stay, the process has
// computed for Busy; afterwards it has been away for Away.
type TrailLife struct {
	Comm   string
	Kernel bool
	Start  uint64
	Stay   []int32
	Busy   []uint32
	Away   []uint32
}

// loadTrailTables unpacks the beginning of the image the first time.
var loadTrailTables = sync.OnceValues(func() (t *TrailTables, err error) {
	t = new(TrailTables)
	_, err = openTrails(t)
	return t, err
})

// loadTrails returns the embedded trails, which are unpacked the first time.
var loadTrails = sync.OnceValues(func() (*Trails, error) {
	tables := new(TrailTables)
	d, err := openTrails(tables)
	if err != nil {
		return nil, err
	}
	t := new(Trails)
	if err := d.Decode(t); err != nil {
		return nil, fmt.Errorf("workload trails: %w", err)
	}
	t.TrailTables = *tables
	return t, nil
})

// openTrails reads the tables and returns the decoder, which stands before the rest.
func openTrails(t *TrailTables) (*gob.Decoder, error) {
	z, err := gzip.NewReader(bytes.NewReader(trailsImage))
	if err != nil {
		return nil, fmt.Errorf("workload trails: %w", err)
	}
	d := gob.NewDecoder(z)
	if err := d.Decode(t); err != nil {
		return nil, fmt.Errorf("workload trails: %w", err)
	}
	return d, nil
}
