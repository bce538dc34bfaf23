package fusefs

import (
	"testing"

	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/tracefile"
)

// A sweep lets the node of a folder go that is not there any more. If a client makes the
// folder anew and finds it while the sweep looks, the node stays.
func TestSweepBesideClient(t *testing.T) {
	for _, found := range []bool{false, true} {
		folder := &tracefile.Dir{Name: "passing", Mode: 0o750, Passing: true}
		n := &node{path: "passing", entry: folder, lookups: 1}
		var m *Mount
		root := &tracefile.Dir{
			Children: func() []tracefile.Node { return nil },
			Find: func(string) tracefile.Node {
				if found && m != nil { // what Lookup does for a client, who came later than we
					m.mu.Lock()
					n.lookups++
					m.mu.Unlock()
				}
				return nil
			},
		}
		m = newMount(t.TempDir(), Config{FS: tracefsfs.New(root)})
		m.paths[n.path] = n
		if gone := m.vanishedUnseen(n.path); gone == found || n.gone == found || (m.paths[n.path] == n) != found {
			t.Errorf("found by a client %t: gone %t, the node's mark %t", found, gone, n.gone)
		}
		if m.stale != found {
			t.Errorf("found by a client %t: another sweep is wanted: %t", found, m.stale)
		}
	}
}
