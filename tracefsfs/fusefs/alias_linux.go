package fusefs

import (
	"path/filepath"
	"strconv"
)

// aliasEnds opens the FIFO of a node once for each flags, by a name that is good for one
// lookup.
func (m *Mount) aliasEnds(n *node, flags ...int) ([]int, error) {
	m.mu.Lock()
	m.nextAlias++
	name := rawAlias + strconv.FormatUint(m.nextAlias, 10)
	m.aliases[name] = n
	m.mu.Unlock()
	r, err := m.helper.do(m.ending, job{Op: opOpen, Path: filepath.Join(m.dir, name), Flags: flags})
	m.mu.Lock()
	delete(m.aliases, name)
	m.mu.Unlock()
	return r.files, err
}

// aliasNode finds the FIFO of a name in the hidden folder and counts the lookup.
func (m *Mount) aliasNode(name string) *node {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.aliases[name]
	delete(m.aliases, name)
	if n != nil {
		n.lookups++
	}
	return n
}
