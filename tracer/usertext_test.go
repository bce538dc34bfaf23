package tracer_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracer"
)

// A probe in the kernel that follows an address of user space reads the memory of the task
// there, as a string and as a number. What is no address of anything is a fault.
func TestKprobeReadsUserMemory(t *testing.T) {
	l := newLab(t, tracer.Config{NoStackmap: true})
	l.write("kprobe_events", "p:open do_sys_openat2 path=+0(%si):string same=+0(%si):ustring word=+0(%si):x64 none=+0(+0(%si)):string")
	l.write("events/kprobes/open/enable", "1")
	l.ft.Run(500 * machine.Millisecond)
	lines := regexp.MustCompile(`path="([^"]*)" same="([^"]*)" word=0x([0-9a-f]+) none=(\S+)`).FindAllStringSubmatch(l.read("trace"), -1)
	paths := map[string]bool{}
	for _, m := range lines {
		var word uint64
		for i := min(len(m[1]), 8) - 1; i >= 0; i-- {
			word = word<<8 | uint64(m[1][i])
		}
		if m[1] != m[2] || m[3] != fmt.Sprintf("%x", word) || m[4] != "(fault)" {
			t.Errorf("%q; the word is %#x", m[0], word)
		}
		paths[m[1]] = true
	}
	if len(paths) < 2 {
		t.Errorf("%d lines with the paths %v", len(lines), paths)
	}
}

// A filter with .ustring compares the text to which a field points in user space.
func TestUstringFilter(t *testing.T) {
	l := newLab(t, tracer.Config{NoStackmap: true})
	l.write("events/syscalls/sys_enter_openat/filter", `filename.ustring ~ "/proc/*"`)
	l.write("kprobe_events", "p:open do_sys_openat2 path=+0(%si):ustring")
	l.write("events/kprobes/open/enable", "1")
	l.write("events/syscalls/sys_enter_openat/enable", "1")
	l.ft.Run(500 * machine.Millisecond)
	trace := l.read("trace")
	calls, opens, want := strings.Count(trace, "sys_openat(dfd"), strings.Count(trace, `path="`), strings.Count(trace, `path="/proc/`)
	if calls != want || want == 0 || want == opens {
		t.Errorf("%d of %d calls are shown, %d are of files in /proc\n%.3000s", calls, opens, want, trace)
	}
}
