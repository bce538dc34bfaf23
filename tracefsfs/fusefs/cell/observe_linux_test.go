package cell

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/fusefs"
)

// A call waits until the observer has returned, and is then made. Whoever is observed cannot
// be by another one: that is an error, and its calls go on to be observed by the first. A call
// with a bit that was not wanted is not observed.
func TestObserve(t *testing.T) {
	o, err := newObserved()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := o.ask([]fusefs.Wanted{{NR: unix.SYS_GETPRIORITY, Arg: 1, Without: 2}})
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	second, err := newObserved()
	if err != nil {
		t.Fatal(err)
	}
	theirSecond, err := second.ask([]fusefs.Wanted{{NR: unix.SYS_GETPRIORITY}})
	if err != nil {
		t.Fatal(err)
	}
	defer theirSecond.Close()
	unix.Close(second.ours)

	told, result := make(chan string, 4), make(chan string, 1)
	go o.follow(func(c Call) (bool, error) {
		waits := c.Waits()
		told <- fmt.Sprintf("%d (%d, %d), waits: %v", c.NR, c.Args[0], c.Args[1], waits)
		return false, nil
	}, nothingMapped)
	go func() {
		runtime.LockOSThread() // the thread ends with its filter
		result <- func() string {
			if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
				return err.Error()
			}
			for _, c := range []struct {
				socket int
				want   error
			}{{dup(theirs.Fd()), nil}, {dup(theirSecond.Fd()), unix.EBUSY}} {
				if err := letObserve(c.socket); !errors.Is(err, c.want) {
					return fmt.Sprintf("%v, want %v", err, c.want)
				}
			}
			_, _, _ = unix.RawSyscall(unix.SYS_GETPRIORITY, unix.PRIO_PROCESS, 2, 0) // whatever it returns
			_, _, _ = unix.RawSyscall(unix.SYS_GETPRIORITY, unix.PRIO_PROCESS, 7, 0)
			priority, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
			return fmt.Sprintf("%d %v, told %d", priority, err, len(told))
		}()
	}()
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if got, want := <-result, fmt.Sprintf("%d %v, told 1", nice, err); got != want {
		t.Fatalf("the call returned %s, want %s", got, want)
	}
	if got, want := <-told, fmt.Sprintf("%d (0, 0), waits: true", unix.SYS_GETPRIORITY); got != want {
		t.Errorf("told of %s, want %s", got, want)
	}
}

func nothingMapped(Call) (file, flags int, err error) { return -1, 0, nil }

// A descriptor that is to be mapped can be replaced before, and the call can be refused. A
// private mapping is not observed.
func TestReplaceMapped(t *testing.T) {
	o, err := newObserved()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := o.ask([]fusefs.Wanted{{NR: unix.SYS_GETPRIORITY}})
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	var asked atomic.Int32
	go o.follow(func(Call) (bool, error) { return false, nil }, func(c Call) (file, flags int, err error) {
		if asked.Add(1); c.Args[argLen] != 4096 {
			return -1, 0, unix.EBUSY
		}
		file, err = unix.MemfdCreate("mapped", 0)
		if err == nil {
			_, err = unix.Write(file, append([]byte("shown"), make([]byte, 4091)...))
		}
		return file, unix.O_CLOEXEC, err
	})
	result := make(chan string, 1)
	go func() {
		runtime.LockOSThread() // the thread ends with its filter
		result <- func() string {
			if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
				return err.Error()
			}
			var pipe [2]int
			if err := errors.Join(letObserve(dup(theirs.Fd())), unix.Pipe(pipe[:])); err != nil {
				return err.Error()
			}
			_, private := unix.Mmap(pipe[0], 0, 8192, unix.PROT_READ, unix.MAP_PRIVATE)
			_, refused := unix.Mmap(pipe[0], 0, 8192, unix.PROT_READ, unix.MAP_SHARED)
			data, err := unix.Mmap(pipe[0], 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
			if err != nil {
				return err.Error()
			}
			flags, err := unix.FcntlInt(uintptr(pipe[0]), unix.F_GETFD, 0)
			return fmt.Sprintf("%v, %v, %s, %d %v", private, refused, data[:5], flags, err)
		}()
	}()
	if got, want := <-result, fmt.Sprintf("%v, %v, shown, %d <nil>", unix.ENODEV, unix.EBUSY, unix.FD_CLOEXEC); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
}

func dup(fd uintptr) int {
	n, err := unix.Dup(int(fd))
	if err != nil {
		return -1
	}
	return n
}

// Whoever is not asked for anything is not observed.
func TestObserveNothing(t *testing.T) {
	o, err := newObserved()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := o.ask(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := letObserve(dup(theirs.Fd())); err != nil {
		t.Errorf("nothing was asked: %v", err)
	}
	theirs.Close()
	o.follow(func(Call) (bool, error) { t.Error("told of a call"); return false, nil }, nothingMapped) // returns: nobody is there
}

// Who is observed gets the machine's release and version from uname, cut to what fits, and
// the host's name; and EFAULT for an address that is none.
func TestUname(t *testing.T) {
	o, err := newObserved()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := o.ask([]fusefs.Wanted{{NR: unix.SYS_UNAME}})
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	c := &Cell{release: "6.12.0-test", version: strings.Repeat("v", 100)}
	go o.follow(func(call Call) (bool, error) { return c.uname(call), nil }, nothingMapped)
	result := make(chan string, 1)
	go func() {
		runtime.LockOSThread() // the thread ends with its filter
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			result <- err.Error()
			return
		}
		if err := letObserve(dup(theirs.Fd())); err != nil {
			result <- err.Error()
			return
		}
		var name unix.Utsname
		err := unix.Uname(&name)
		_, _, errno := unix.Syscall(unix.SYS_UNAME, 8, 0, 0)
		result <- fmt.Sprint(unix.ByteSliceToString(name.Nodename[:]), " ", unix.ByteSliceToString(name.Release[:]), " ",
			unix.ByteSliceToString(name.Version[:]), " ", err, " ", errno)
	}()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprint(host, " 6.12.0-test ", strings.Repeat("v", 64), " <nil> ", unix.EFAULT)
	if got := <-result; got != want {
		t.Errorf("uname says %s, want %s", got, want)
	}
}
