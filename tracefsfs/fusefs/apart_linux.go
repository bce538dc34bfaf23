package fusefs

import (
	"fmt"
	"math"
	"runtime"

	"golang.org/x/sys/unix"
)

// apart is a thread that may wait for the mount that this process serves. It has a
// table of files of its own, in which the device is not open. A process that is killed
// while one of its threads waits for an answer that only it could give would otherwise
// stay for ever, and its clients with it: the thread keeps the device open, and so the
// kernel goes on to wait.
type apart struct {
	tid  int
	jobs chan func()
}

func startApart() (*apart, error) {
	a := &apart{jobs: make(chan func())}
	ready := make(chan error)
	go a.work(ready)
	if err := <-ready; err != nil {
		return nil, fmt.Errorf("a thread with files of its own: %w", err)
	}
	return a, nil
}

// work does the jobs on a thread that is its own, when it has said that it can. That is not
// the process's first thread: whose files /proc/self/fd shows.
func (a *apart) work(ready chan<- error) {
	runtime.LockOSThread() // for good: the thread ends with the goroutine
	if a.tid = unix.Gettid(); a.tid == unix.Getpid() {
		other := make(chan error)
		go a.work(other)
		ready <- <-other // until then this thread is taken
		runtime.UnlockOSThread()
		return
	}
	err := unix.Unshare(unix.CLONE_FILES)
	if err == nil {
		err = unix.CloseRange(3, math.MaxUint32, 0)
	}
	ready <- err
	if err != nil {
		return
	}
	for job := range a.jobs {
		job()
	}
}

// do calls f on the thread. f must not use package os: descriptors mean other files
// there than elsewhere.
func (a *apart) do(f func() error) error {
	done := make(chan error)
	a.jobs <- func() { done <- f() }
	return <-done
}

func (a *apart) stop() { close(a.jobs) }

// open opens a file of the mount as flags say, at most for reading and for writing in
// turn: opening by what a descriptor stands for asks the server nothing.
func (a *apart) open(path string, flags ...int) (fds []int, err error) {
	var at int
	err = a.do(func() error {
		at, err = unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.do(func() error { return unix.Close(at) }) }()
	for _, how := range flags {
		fd, err := unix.Open(fmt.Sprintf("/proc/self/task/%d/fd/%d", a.tid, at), how|unix.O_CLOEXEC, 0)
		if err != nil {
			for _, fd := range fds {
				unix.Close(fd)
			}
			return nil, err
		}
		fds = append(fds, fd)
	}
	return fds, nil
}
