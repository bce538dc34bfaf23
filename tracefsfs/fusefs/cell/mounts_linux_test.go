package cell

import (
	"fmt"
	"slices"
	"strings"
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

// What the kernel writes of a mount is read as it was, whatever is in its names; what it
// never writes does no harm.
func FuzzParseMounts(f *testing.F) {
	f.Add(mountinfo)
	f.Add("1 0 0:1 / /a\\011b\\ rw - tmpfs a\\134 rw\n18446744073709551615 0 0:1 / / rw - - - rw")
	f.Fuzz(func(t *testing.T, text string) {
		list := parseMounts(text)
		if lines := strings.Count(text, "\n") + 1; len(list) > lines {
			t.Fatalf("%d mounts of %d lines", len(list), lines)
		}
		for _, m := range list {
			line := fmt.Sprintf("%d 1 0:1 / %s rw shared:1 - %s %s rw\n", m.id, escaped(m.path), m.fstype, escaped(m.source))
			if again := parseMounts(line); len(again) != 1 || again[0] != m {
				t.Errorf("%q is read as %+v, want %+v", line, again, m)
			}
		}
	})
}

// escaped is a name as mountinfo has it.
//
// Kernel: mangle, fs/proc_namespace.c.
func escaped(name string) string {
	return strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`, "#", `\043`).Replace(name)
}
