package fusefs

import (
	"path/filepath"
	"slices"
	"strings"
)

// Folders of dynamic events go without anybody's rmdir(2), so that the kernel does not hear
// of it. It would keep what it knows of them, and so would the server, until somebody asks
// for the same name again. The helper asks.

// redefined is told of each write and each truncation.
func (m *Mount) redefined(n *node) {
	if m.traitsOf(n).Defines {
		m.mu.Lock()
		m.stale = true
		m.mu.Unlock()
	}
}

// sweepPassing looks whether folders have gone, if some may have, one sweep at a time.
func (m *Mount) sweepPassing() {
	m.mu.Lock()
	if !m.stale || m.sweeping {
		m.mu.Unlock()
		return
	}
	m.stale, m.sweeping = false, true
	var known []string
	for p, n := range m.paths {
		if passing(n.entry) {
			known = append(known, p)
		}
	}
	m.mu.Unlock()
	go func() {
		slices.Sort(known) // a folder before those in it
		gone := "?"        // the last one; no path begins so
		for _, p := range known {
			if strings.HasPrefix(p, gone+"/") {
				continue
			}
			if m.vanishedUnseen(p) {
				gone = p
				m.tell(p)
			}
		}
		m.mu.Lock()
		m.sweeping = false
		m.mu.Unlock()
	}()
}

// vanishedUnseen looks whether what a path stood for has gone, and lets its node go. If a
// client has found something by that path meanwhile, it is there again: then the node
// stays, and the next sweep looks once more.
func (m *Mount) vanishedUnseen(p string) bool {
	m.mu.Lock()
	n, lookups := m.paths[p], 0
	if n != nil {
		lookups = int(n.lookups)
	}
	m.mu.Unlock()
	if n == nil {
		return false
	}
	if _, err := m.cfg.FS.Lookup(p); err == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.paths[p] != n || int(n.lookups) != lookups {
		m.stale = true
		return false
	}
	m.detach(n)
	return true
}

// tell lets the kernel ask for what has gone.
func (m *Mount) tell(p string) {
	if m.helper != nil {
		_, _ = m.helper.do(m.ending, job{Op: opLook, Path: filepath.Join(m.dir, p)}) // or the mount ends
	}
}
