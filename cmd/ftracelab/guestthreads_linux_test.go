package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"testing"
	"time"
	memory "unsafe"

	"golang.org/x/sys/unix"
)

// workThreads begins three threads with names, one after the other, which write a marker and
// open a folder. Each has ended before the next one begins.
func workThreads() {
	check := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	for n := range 3 {
		tid := make(chan int)
		onThread(func() {
			check(named(fmt.Sprintf("worker/%d", n)))
			check(os.WriteFile("/sys/kernel/tracing/trace_marker", []byte("at work"), 0))
			root, err := os.Open("/")
			check(err)
			root.Close()
			tid <- unix.Gettid()
		})
		path := fmt.Sprintf("/proc/self/task/%d", <-tid)
		for range 1000 {
			if _, err := os.Stat(path); err != nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	time.Sleep(50 * time.Millisecond) // the kernel tells of a thread's end a little after it
}

// onThread runs a function on a thread of its own, which ends with it.
func onThread(do func()) {
	first := make(chan bool)
	for {
		go func() {
			runtime.LockOSThread() // for good
			if unix.Gettid() == os.Getpid() {
				first <- true
				select {} // the first thread of a process does not end
			}
			first <- false
			do()
		}()
		if !<-first {
			return
		}
	}
}

// named gives the thread a name.
func named(name string) error {
	text, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_NAME, uintptr(memory.Pointer(text)), 0, 0, 0)
}

// earlyThread begins a thread, which makes the file begun, and opens a folder when there is
// something to read.
func earlyThread() {
	done := make(chan error)
	onThread(func() {
		err := os.WriteFile("begun", nil, 0o600)
		if err == nil {
			_, err = os.Stdin.Read(make([]byte, 1))
		}
		if err == nil {
			err = named("early")
		}
		if err == nil {
			_, err = os.ReadDir("/")
		}
		fmt.Println("early", unix.Gettid(), os.Getpid())
		done <- err
	})
	if err := <-done; err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// A thread that began before anybody used the tree is a thread of its process, too.
func TestEarlyThread(t *testing.T) {
	needCell(t)
	script := `mkfifo go; earlythread < go & exec 3> go; until [ -e begun ]; do sleep 0.02; done
		cd /sys/kernel/tracing; echo 1 > options/record-tgid; echo syscalls:sys_enter_openat > set_event
		echo >&3; wait; echo 0 > tracing_on; cat trace; cat saved_tgids`
	cmd := exec.CommandContext(t.Context(), "ftracelab", "exec", "--", "sh", "-c", script)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pids := regexp.MustCompile(`(?m)^early (\d+) (\d+)$`).FindStringSubmatch(string(out))
	if pids == nil || pids[1] == pids[2] {
		t.Fatalf("no thread of its own: %v\n%s", pids, out)
	}
	for _, line := range []string{` early-` + pids[1] + ` .*: sys_openat\(`, `^` + pids[1] + ` ` + pids[2] + `$`} {
		if !regexp.MustCompile("(?m)" + line).Match(out) {
			t.Errorf("no line %q\n%s", line, out)
		}
	}
}

// The threads of a program are tasks of the machine: each is begun, has a name, makes its own
// calls and ends, in this order.
func TestGuestThreads(t *testing.T) {
	needCell(t)
	script := `cd /sys/kernel/tracing
		echo task:task_newtask task:task_rename sched:sched_process_fork sched:sched_process_exit syscalls:sys_enter_openat > set_event
		workthreads; echo 0 > tracing_on; cat trace`
	out, err := exec.CommandContext(t.Context(), "ftracelab", "exec", "--", "sh", "-c", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	markers := regexp.MustCompile(`(?m)^ *worker/(\d)-(\d+) .*: tracing_mark_write: at work$`).FindAllStringSubmatch(string(out), -1)
	if len(markers) != 3 {
		t.Fatalf("%d markers of workers\n%s", len(markers), out)
	}
	for n, marker := range markers {
		if marker[1] != fmt.Sprint(n) {
			t.Errorf("marker %d is of worker %s", n, marker[1])
		}
		rest := string(out)
		for _, line := range []string{
			`task_newtask: pid=PID comm=workthreads clone_flags=3d0f00 `,
			`sched_process_fork: comm=workthreads pid=\d+ child_comm=workthreads child_pid=PID$`,
			`: task_rename: pid=PID oldcomm=workthreads newcomm=worker/N `,
			`worker/N-PID .*: tracing_mark_write: at work$`,
			`worker/N-PID .*: sys_openat\(`,
			`worker/N-PID .*: sched_process_exit: comm=worker/N pid=PID `,
		} {
			line = regexp.MustCompile("PID").ReplaceAllLiteralString(line, marker[2])
			line = regexp.MustCompile("N").ReplaceAllLiteralString(line, marker[1])
			at := regexp.MustCompile("(?m)" + line).FindStringIndex(rest)
			if at == nil {
				t.Errorf("worker %s: no line %q behind the line before it", marker[1], line)
				continue
			}
			rest = rest[at[1]:]
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}
