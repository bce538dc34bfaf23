package cell

import (
	"slices"
	"testing"
)

// Lines of mountinfo with what makes them hard: optional fields, none of them,
// blanks and other words in the path.
const mountinfo = `22 1 254:0 / / rw,relatime shared:1 master:7 - ext4 /dev/root rw
23 22 0:20 / /proc rw - proc proc rw
24 22 0:21 / /sys/kernel/tracing rw shared:3 - tracefs tracefs rw
25 22 0:22 / /mnt/a\040b\134c rw - tmpfs my\040tracefs rw
26 22 0:23 / /sys/kernel/debug rw - debugfs none rw
27 22 0:24 / /home/tracefs rw - ext4 /dev/vda rw
not a line of it
`

func TestParseMounts(t *testing.T) {
	list := parseMounts(mountinfo)
	want := []mountPoint{
		{22, "/", "ext4", "/dev/root"},
		{23, "/proc", "proc", "proc"},
		{24, "/sys/kernel/tracing", "tracefs", "tracefs"},
		{25, `/mnt/a b\c`, "tmpfs", "my tracefs"},
		{26, "/sys/kernel/debug", "debugfs", "none"},
		{27, "/home/tracefs", "ext4", "/dev/vda"},
	}
	if !slices.Equal(list, want) {
		t.Errorf("got %+v, want %+v", list, want)
	}
	var hidden []string
	for _, m := range list {
		if m.foreign() {
			hidden = append(hidden, m.path)
		}
	}
	if want := []string{"/proc", "/sys/kernel/tracing", `/mnt/a b\c`, "/sys/kernel/debug", "/home/tracefs"}; !slices.Equal(hidden, want) {
		t.Errorf("are foreign: %q, want %q", hidden, want)
	}
}
