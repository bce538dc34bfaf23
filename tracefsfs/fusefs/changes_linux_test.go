package fusefs_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Whoever watches tracing_max_latency with inotify hears of a latency that the machine finds.
func TestInotifyMaxLatency(t *testing.T) {
	s := serve(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(s.dir, "instances/other"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("current_tracer", "wakeup")
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	file := filepath.Join(s.dir, "tracing_max_latency")
	watched, err := unix.InotifyAddWatch(fd, file, unix.IN_MODIFY)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.InotifyAddWatch(fd, filepath.Join(s.dir, "instances/other/tracing_max_latency"), unix.IN_MODIFY); err != nil {
		t.Fatal(err)
	}
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 30_000); err != nil || n == 0 {
		t.Fatalf("inotify told nothing: %v", err)
	}
	events := make([]byte, 16<<10)
	n, err := unix.Read(fd, events)
	if err != nil || n < unix.SizeofInotifyEvent {
		t.Fatalf("%d bytes, %v", n, err)
	}
	for events = events[:n]; len(events) > 0; events = events[unix.SizeofInotifyEvent:] {
		wd, mask := binary.NativeEndian.Uint32(events), binary.NativeEndian.Uint32(events[4:])
		if int(wd) != watched || mask != unix.IN_MODIFY {
			t.Errorf("watch %d, mask %#x, want %d, IN_MODIFY", wd, mask, watched)
		}
	}
	if text, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(text)) == "0" {
		t.Errorf("tracing_max_latency is %q, %v", text, err)
	}
}
