package fusefs

import (
	"maps"
	"slices"
	"sync"
)

// Changes collects the files to which the machine itself gives another value. At each tick
// a mount tells the kernel of them, so that programs which watch such a file with inotify(7)
// hear of it. Several changes of a file between two ticks are told once. The zero Changes is
// empty. Its methods may be called from any goroutine.
//
// Kernel: latency_fsnotify, kernel/trace/trace.c.
type Changes struct {
	mu    sync.Mutex
	names map[string]bool
}

// Add says that the file with that name in the tree has another value.
func (c *Changes) Add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.names == nil {
		c.names = map[string]bool{}
	}
	c.names[name] = true
}

// take returns the names that were added since the last time, each once.
func (c *Changes) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := slices.Sorted(maps.Keys(c.names))
	clear(c.names)
	return names
}
