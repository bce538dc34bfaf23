package fusefs_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// The kernel forgets the folders of events that went away, though nobody asks for them
// again.
func TestPassingFolders(t *testing.T) {
	m := mountLab(t)
	define := func(text string) {
		f, err := os.OpenFile(filepath.Join(m.Dir(), "kprobe_events"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text + "\n"); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	round := func(name string) {
		define("p:" + name + " vfs_read")
		if _, err := os.Stat(filepath.Join(m.Dir(), "events/kprobes", name, "enable")); err != nil {
			t.Fatal(err)
		}
		define("-:" + name)
	}
	round("first")
	before := m.Nodes()
	for n := range 50 {
		round("p" + strconv.Itoa(n))
	}
	waitFor(t, "the kernel to forget", func() bool { return m.Nodes() <= before+2 })
}
