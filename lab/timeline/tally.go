package timeline

import (
	"cmp"
	"maps"
	"slices"
)

// tally counts events while they come.
type tally struct {
	few     []int         // by pid, of the small ones, which are asked for most
	tasks   map[int32]int // by pid, of the others
	kinds   []int
	buffers []int
	cpus    map[uint16]bool
	lastCPU uint16
}

const fewPIDs = 1 << 16

func newTally(buffers int) tally {
	return tally{few: make([]int, fewPIDs), tasks: map[int32]int{}, buffers: make([]int, buffers), cpus: map[uint16]bool{}}
}

func (c *tally) count(e *stored) {
	if uint32(e.pid) < fewPIDs {
		c.few[e.pid]++
	} else {
		c.tasks[e.pid]++
	}
	c.kinds[e.kind]++
	c.buffers[e.buffer]++
	if len(c.cpus) == 0 || c.lastCPU != e.cpu {
		c.cpus[e.cpu] = true
		c.lastCPU = e.cpu
	}
}

// pids are those that have events, the one with most of them first.
func (c *tally) pids() []Task {
	var tasks []Task
	for pid, n := range c.few {
		if n > 0 {
			tasks = append(tasks, Task{PID: int32(pid), Events: n})
		}
	}
	for _, pid := range slices.Sorted(maps.Keys(c.tasks)) {
		tasks = append(tasks, Task{PID: pid, Events: c.tasks[pid]})
	}
	slices.SortFunc(tasks, func(a, b Task) int { return cmp.Or(b.Events-a.Events, int(a.PID)-int(b.PID)) })
	return tasks
}
