package fusefs_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/fusefs"
)

// The tests of poll(2) are clients of their own process, so they make system calls
// themselves: see Config.Polls.

func polls(c *fusefs.Config) { c.Polls = true }

func rawOpen(t *testing.T, m *fusefs.Mount, name string, flags int) int {
	t.Helper()
	fd, err := unix.Open(filepath.Join(m.Dir(), name), flags, 0)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func rawWrite(t *testing.T, m *fusefs.Mount, name, text string) {
	t.Helper()
	fd, err := unix.Open(filepath.Join(m.Dir(), name), unix.O_WRONLY, 0)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte(text)); err != nil {
		t.Fatalf("%s: write %q: %v", name, text, err)
	}
}

func rawRead(t *testing.T, fd int) string {
	t.Helper()
	var all strings.Builder
	for buf := make([]byte, 4096); ; {
		n, err := unix.Read(fd, buf)
		if n <= 0 {
			if err != nil && !errors.Is(err, unix.EAGAIN) {
				t.Fatal(err)
			}
			return all.String()
		}
		all.Write(buf[:n])
	}
}

// pollFor is poll(2) for one file; it waits for so many milliseconds.
func pollFor(t *testing.T, fd int, events int16, wait int) int16 {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(fd), Events: events}}
	for {
		_, err := unix.Poll(fds, wait)
		if err == nil {
			return fds[0].Revents
		}
		if !errors.Is(err, unix.EINTR) {
			t.Fatal(err)
		}
	}
}

const long = int(patience / time.Millisecond)

// later does something while the test waits in poll(2).
func later(do func()) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(50 * time.Millisecond)
		do()
	}()
	return done
}

// trace_pipe can be read as soon as there is an event; that of one CPU when its buffer is
// as full as buffer_percent asks. With the option block it always can. A file of another
// kind never makes anybody wait.
//
// Kernel: trace_poll and ring_buffer_poll_wait.
func TestPollTracePipe(t *testing.T) {
	m := mountLab(t, polls)
	if got := pollFor(t, rawOpen(t, m, "tracing_on", unix.O_RDONLY), unix.POLLIN|unix.POLLOUT, long); got != unix.POLLIN|unix.POLLOUT {
		t.Errorf("tracing_on: %#x", got)
	}
	pipe := rawOpen(t, m, "trace_pipe", unix.O_RDONLY|unix.O_NONBLOCK)
	if got := pollFor(t, pipe, unix.POLLIN, 100); got != 0 {
		t.Errorf("an empty trace_pipe: %#x", got)
	}
	rawWrite(t, m, "options/block", "1")
	if got := pollFor(t, pipe, unix.POLLIN, long); got != unix.POLLIN {
		t.Errorf("with the option block: %#x", got)
	}
	rawWrite(t, m, "options/block", "0")
	for range 3 {
		done := later(func() { rawWrite(t, m, "trace_marker", "for the poller") })
		if got := pollFor(t, pipe, unix.POLLIN, long); got != unix.POLLIN {
			t.Errorf("after a marker: %#x", got)
		}
		<-done
		if text := rawRead(t, pipe); !strings.Contains(text, "for the poller") {
			t.Errorf("read %q", text)
		}
		if got := pollFor(t, pipe, unix.POLLIN, 0); got != 0 {
			t.Errorf("all is read: %#x", got)
		}
	}
	unix.Close(pipe)

	rawWrite(t, m, "buffer_size_kb", "64")
	rawWrite(t, m, "buffer_percent", "50")
	rawWrite(t, m, "tracing_on", "0")
	rawOpen(t, m, "trace", unix.O_WRONLY|unix.O_TRUNC)
	rawWrite(t, m, "tracing_on", "1")
	one := rawOpen(t, m, "per_cpu/cpu0/trace_pipe", unix.O_RDONLY|unix.O_NONBLOCK)
	rawWrite(t, m, "trace_marker", "one event")
	if got := pollFor(t, one, unix.POLLIN, 100); got != 0 {
		t.Errorf("an event, buffer_percent 50: %#x", got)
	}
	done := later(func() { rawWrite(t, m, "events/enable", "1") })
	if got := pollFor(t, one, unix.POLLIN, long); got != unix.POLLIN {
		t.Errorf("all events, buffer_percent 50: %#x", got)
	}
	<-done
}

// A hist can be read when events were counted since it was last read, and says of each
// count once that there is something new.
//
// Kernel: event_hist_poll, kernel/trace/trace_events_hist.c.
func TestPollHist(t *testing.T) {
	m := mountLab(t, polls)
	const dir = "events/sched/sched_switch/"
	fd := rawOpen(t, m, dir+"hist", unix.O_RDONLY)
	if got := pollFor(t, fd, unix.POLLIN|unix.POLLPRI, 100); got != 0 {
		t.Errorf("without a trigger: %#x", got)
	}
	done := later(func() { rawWrite(t, m, dir+"trigger", "hist:keys=next_pid") })
	if got := pollFor(t, fd, unix.POLLIN, long); got != unix.POLLIN {
		t.Errorf("counted: %#x", got)
	}
	<-done
	if got := pollFor(t, fd, unix.POLLPRI, long); got != unix.POLLPRI {
		t.Errorf("counted, POLLPRI: %#x", got)
	}
	rawWrite(t, m, dir+"trigger", "hist:keys=next_pid:pause")
	pollFor(t, fd, unix.POLLPRI, 0)
	if got := pollFor(t, fd, unix.POLLIN|unix.POLLPRI, 100); got != unix.POLLIN {
		t.Errorf("nothing more, not read: %#x", got)
	}
	if text := rawRead(t, fd); !strings.Contains(text, "Totals") {
		t.Errorf("hist says %q", text)
	}
	if got := pollFor(t, fd, unix.POLLIN|unix.POLLPRI, 100); got != 0 {
		t.Errorf("nothing more, read: %#x", got)
	}
}

// The hist of an event that is removed while it is open has an error.
//
// Kernel: event_hist_poll, kernel/trace/trace_events_hist.c.
func TestPollHistOfRemovedEvent(t *testing.T) {
	m := mountLab(t, polls)
	rawWrite(t, m, "synthetic_events", "gone int a")
	fd := rawOpen(t, m, "events/synthetic/gone/hist", unix.O_RDONLY)
	if got := pollFor(t, fd, unix.POLLIN, 0); got != 0 {
		t.Errorf("while it is there: %#x", got)
	}
	rawWrite(t, m, "synthetic_events", "!gone int a")
	if got := pollFor(t, fd, unix.POLLIN, long); got&unix.POLLERR == 0 {
		t.Errorf("removed: %#x", got)
	}
}

// epoll(7) with edges, as a runtime uses it, and a mount that ends while somebody waits.
func TestEpoll(t *testing.T) {
	m := mountLab(t, polls)
	pipe := rawOpen(t, m, "trace_pipe", unix.O_RDONLY|unix.O_NONBLOCK)
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ep)
	// unix.EpollCtl would not let go of the processor while it waits for the mount.
	want := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(pipe)}
	if _, _, errno := unix.Syscall6(unix.SYS_EPOLL_CTL, uintptr(ep), unix.EPOLL_CTL_ADD, uintptr(pipe), uintptr(unsafe.Pointer(&want)), 0, 0); errno != 0 {
		t.Fatal(errno)
	}
	events := make([]unix.EpollEvent, 1)
	wait := func(ms int) int {
		for {
			n, err := unix.EpollWait(ep, events, ms)
			if !errors.Is(err, unix.EINTR) {
				return n
			}
		}
	}
	if n := wait(100); n != 0 {
		t.Errorf("empty: %d events %v", n, events)
	}
	for range 2 {
		done := later(func() { rawWrite(t, m, "trace_marker", "an edge") })
		if n := wait(long); n != 1 {
			t.Errorf("a marker: %d events", n)
		}
		<-done
		rawRead(t, pipe)
	}
	done := later(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	fds := []unix.PollFd{{Fd: int32(pipe), Events: unix.POLLIN}}
	began := time.Now()
	_, _ = unix.Poll(fds, 1000)
	if time.Since(began) > patience {
		t.Error("poll outlived the mount")
	}
	<-done
}
