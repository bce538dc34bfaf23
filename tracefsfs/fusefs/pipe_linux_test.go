package fusefs_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/fusefs"
)

// A reader of trace_pipe waits, wakes when there is something, does not wait with
// O_NONBLOCK given at the open, or later if tracing is off, and dies of a signal.
func TestTracePipe(t *testing.T) {
	m := mountLab(t)
	name := filepath.Join(m.Dir(), "trace_pipe")

	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	if _, err := unix.Read(fd, buf); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("read of an empty pipe with O_NONBLOCK: %v", err)
	}
	unix.Close(fd)

	fd, err = unix.Open(name, unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Seek(fd, 0, 0); !errors.Is(err, unix.ESPIPE) {
		t.Errorf("lseek: %v", err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	writeFile(t, m, "tracing_on", "0")
	if _, err := unix.Read(fd, buf); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("read of an empty pipe with O_NONBLOCK set later, tracing off: %v", err)
	}
	writeFile(t, m, "tracing_on", "1")
	// With tracing on, something may come: the read waits as poll(2) would have.
	read := make(chan error, 1)
	go func() {
		n, err := unix.Read(fd, buf)
		if err == nil && !bytes.Contains(buf[:n], []byte("for the poller")) {
			err = fmt.Errorf("read %q", buf[:n])
		}
		read <- err
	}()
	writeFile(t, m, "trace_marker", "for the poller")
	if err := <-read; err != nil {
		t.Errorf("read with O_NONBLOCK set later: %v", err)
	}
	unix.Close(fd)

	for range 3 {
		cat := exec.Command("cat", name)
		var out bytes.Buffer
		cat.Stdout = &out
		if err := cat.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "cat to block", func() bool { return blocked(cat.Process.Pid) })
		if err := cat.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cat.Wait() // it was killed
		if out.Len() > 0 {
			t.Errorf("cat of an empty pipe printed %q", out.String())
		}
	}

	head := exec.Command("dd", "if="+name, "bs=64", "count=1", "status=none")
	var out bytes.Buffer
	head.Stdout = &out
	if err := head.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "dd to block", func() bool { return blocked(head.Process.Pid) })
	writeFile(t, m, "trace_marker", "wake up")
	if err := head.Wait(); err != nil || out.Len() != 64 {
		t.Errorf("dd read %q, %v", out.String(), err)
	}
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s", what)
		}
	}
}

// blocked says whether a process sleeps in a read.
func blocked(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/syscall")
	return err == nil && strings.HasPrefix(string(text), "0 ")
}

func rawOf(m *fusefs.Mount, cpu int) string {
	return filepath.Join(m.Dir(), "per_cpu", "cpu"+strconv.Itoa(cpu), "trace_pipe_raw")
}

// select(2) and splice(2) on trace_pipe_raw work as trace-cmd uses them, and no
// event is lost on the way: what comes out is what the statistics say.
func TestSplice(t *testing.T) {
	m := mountLab(t)
	fd, err := unix.Open(rawOf(m, 0), unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if n := poll(t, fd, 0); n != 0 {
		t.Error("poll of an empty trace_pipe_raw says it can be read")
	}
	writeFile(t, m, "events/sched/enable", "1")
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	pages := 0
	buf := make([]byte, 64<<10)
	for pages < 20 {
		if poll(t, fd, int(patience.Milliseconds())) == 0 {
			t.Fatal("poll: nothing came")
		}
		n, err := unix.Splice(fd, nil, pipe[1], nil, 64<<10, 1)
		if err != nil || n%4096 != 0 || n == 0 {
			t.Fatalf("splice: %d, %v", n, err)
		}
		if _, err := unix.Read(pipe[0], buf); err != nil {
			t.Fatal(err)
		}
		pages += int(n / 4096)
	}
	writeFile(t, m, "tracing_on", "0")
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for {
		n, err := unix.Read(fd, buf)
		if errors.Is(err, unix.EAGAIN) || n == 0 {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	stats, err := os.ReadFile(filepath.Join(m.Dir(), "per_cpu/cpu0/stats"))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^entries: 0\noverrun: 0$`).Match(stats) {
		t.Errorf("events were left or lost:\n%s", stats)
	}
}

func poll(t *testing.T, fd, ms int) int {
	t.Helper()
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, ms)
		if err == nil {
			return n
		}
		if !errors.Is(err, unix.EINTR) {
			t.Fatal(err)
		}
	}
}

// A reader that does not wait finds the last, partly filled page, and all of a
// buffer that is larger than the pipe; while it reads the tracer cannot be changed.
func TestExtract(t *testing.T) {
	m := mountLab(t)
	writeFile(t, m, "current_tracer", "function")
	waitFor(t, "a full buffer", func() bool {
		stats, err := os.ReadFile(filepath.Join(m.Dir(), "per_cpu/cpu0/stats"))
		return err == nil && !strings.Contains(string(stats), "\noverrun: 0\n")
	})
	writeFile(t, m, "tracing_on", "0")
	f, err := os.OpenFile(rawOf(m, 0), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	buf := make([]byte, 4096)
	for {
		n, err := unix.Read(int(f.Fd()), buf)
		if errors.Is(err, unix.EAGAIN) {
			// The ring may be larger than the pipe: a moment later there is more.
			if poll(t, int(f.Fd()), 200) == 1 {
				continue
			}
			break
		}
		if err != nil || n == 0 {
			t.Fatal(n, err)
		}
		if n != 4096 {
			t.Fatalf("read %d bytes, want a page", n)
		}
		total += n
	}
	if total < 1300<<10 {
		t.Errorf("got %d KiB of a buffer of 1408", total>>10)
	}
	if err := os.WriteFile(filepath.Join(m.Dir(), "current_tracer"), []byte("nop"), 0); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("another tracer while trace_pipe_raw is read: %v", err)
	}
	f.Close()
	writeFile(t, m, "current_tracer", "nop")
}

// Emptying the buffer empties what is on its way, and an instance whose raw file is
// no longer read can be removed.
func TestClearedPipe(t *testing.T) {
	m := mountLab(t)
	writeFile(t, m, "trace_marker", "old")
	writeFile(t, m, "tracing_on", "0")
	for _, cpu := range []int{0, 1} {
		f, err := os.OpenFile(rawOf(m, cpu), os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	writeFile(t, m, "trace", "")
	for _, cpu := range []int{0, 1} {
		fd, err := unix.Open(rawOf(m, cpu), unix.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := unix.Read(fd, make([]byte, 4096)); n > 0 {
			t.Errorf("cpu %d: read %d bytes, %v of a cleared buffer", cpu, n, err)
		}
		unix.Close(fd)
	}
	inst := filepath.Join(m.Dir(), "instances/foo")
	if err := os.Mkdir(inst, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(inst, "per_cpu/cpu0/trace_pipe_raw"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := unix.Rmdir(inst); err != nil {
		t.Error(err)
	}
}

// The server goes away while a reader waits and files are open: nothing hangs.
func TestCloseUnderClients(t *testing.T) {
	m := mountLab(t)
	open, err := unix.Open(filepath.Join(m.Dir(), "trace"), unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(open)
	raw, err := unix.Open(rawOf(m, 1), unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(raw)
	cat := exec.Command("cat", filepath.Join(m.Dir(), "trace_pipe"))
	if err := cat.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "cat to block", func() bool { return blocked(cat.Process.Pid) })
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := cat.Wait(); err == nil {
		t.Error("cat of a trace_pipe whose server is gone succeeded")
	}
	if _, err := unix.Read(open, make([]byte, 10)); !errors.Is(err, unix.ENOTCONN) && !errors.Is(err, unix.ECONNABORTED) {
		t.Errorf("read without a server: %v", err)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || strings.Contains(string(mounts), m.Dir()) {
		t.Errorf("still mounted (%v)", err)
	}
}

// What an open file forbids is allowed as soon as close(2) has returned, though the
// server hears of the close later.
func TestAllowedOnceClosed(t *testing.T) {
	m := mountLab(t)
	writeFile(t, m, "options/pause-on-trace", "1")
	open := func(name string) *os.File {
		f, err := os.Open(filepath.Join(m.Dir(), name))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	marker, err := os.OpenFile(filepath.Join(m.Dir(), "trace_marker"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer marker.Close()
	for range 300 {
		trace := open("trace")
		if _, err := marker.WriteString("paused"); !errors.Is(err, syscall.EBADF) {
			t.Fatalf("a marker while trace is open: %v", err)
		}
		trace.Close()
		if _, err := marker.WriteString("goes on"); err != nil {
			t.Fatalf("a marker once trace is closed: %v", err)
		}
		open("trace_pipe").Close()
		for _, tracer := range []string{"function", "nop"} {
			writeFile(t, m, "current_tracer", tracer)
		}
		instance := filepath.Join(m.Dir(), "instances/short")
		if err := os.Mkdir(instance, 0o700); err != nil {
			t.Fatal(err)
		}
		open("instances/short/trace").Close()
		if err := os.Remove(instance); err != nil {
			t.Fatalf("rmdir once its file is closed: %v", err)
		}
	}
}
