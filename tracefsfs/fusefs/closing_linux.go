package fusefs

import (
	"sync"
	"time"
)

// Closing are the files of one or more mounts whose RELEASE is on the way. close(2) does not
// wait for it, so whoever opens or writes a file has to. Mounts of one machine share them.
type Closing struct {
	mu    sync.Mutex
	files map[*file]bool
}

// setClosing notes that a descriptor of a file was closed whose RELEASE has an effect:
// one that was truncated, not written (": > set_ftrace_filter"), or one that holds.
// If that was the last descriptor, the RELEASE is on the way.
func (m *Mount) setClosing(f *file, closing bool) {
	c := m.cfg.Closing
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !closing:
		delete(c.files, f)
	case c.files == nil:
		c.files = map[*file]bool{f: true}
	default:
		c.files[f] = true
	}
}

// awaitReleases waits for the RELEASEs that are on the way, which in the kernel would
// have been done when close(2) returned. A file that others still have open is waited
// for once, and not long.
func (m *Mount) awaitReleases(cancel <-chan struct{}) {
	const moment = 50 // ms
	for waited := 0; ; waited++ {
		if m.cfg.Closing.done(waited == moment) {
			return
		}
		select {
		case <-cancel:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// done reports whether no RELEASE is on the way, or is to be waited for any longer.
func (c *Closing) done(forget bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if forget {
		clear(c.files)
	}
	return len(c.files) == 0
}
