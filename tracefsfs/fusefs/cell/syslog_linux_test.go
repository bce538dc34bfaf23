package cell

import (
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/fusefs"
)

// inFilter runs do on a thread of its own, which ends with the filters it installs.
func inFilter(do func() string) string {
	result := make(chan string, 1)
	go func() {
		runtime.LockOSThread()
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			result <- err.Error()
			return
		}
		result <- do()
	}()
	return <-result
}

// Who calls syslog(2) gets what the machine says: a text in its memory, a number or an errno.
// Without a machine's log it gets EPERM, and never the host's log.
func TestSyslog(t *testing.T) {
	log := func(action, size int) ([]byte, int, error) {
		switch action {
		case 3:
			return []byte("text")[:min(size, 4)], min(size, 4), nil
		case 10:
			return nil, 4096, nil
		}
		return nil, 0, fmt.Errorf("no: %w", unix.EINVAL)
	}
	for _, c := range []struct {
		cell *Cell
		want string
	}{
		{&Cell{syslog: log}, "4 text, 2 te, 4096, invalid argument, bad address"},
		{&Cell{}, "operation not permitted"},
	} {
		o, err := newObserved()
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := o.ask([]fusefs.Wanted{{NR: unix.SYS_SYSLOG}})
		if err != nil {
			t.Fatal(err)
		}
		go o.follow(func(call Call) (answered bool, err error) { return true, c.cell.readLog(call) }, nothingMapped)
		got := inFilter(func() string {
			if err := letObserve(dup(theirs.Fd())); err != nil {
				return err.Error()
			}
			long, short := make([]byte, 100), make([]byte, 2)
			n, err := unix.Klogctl(3, long)
			if err != nil {
				return err.Error()
			}
			m, _ := unix.Klogctl(3, short)
			size, _ := unix.Klogctl(10, nil)
			_, err = unix.Klogctl(99, nil)
			_, _, fault := unix.Syscall(unix.SYS_SYSLOG, 3, 8, 100)
			return fmt.Sprintf("%d %s, %d %s, %d, %v, %v", n, long[:n], m, short[:m], size, err, fault)
		})
		if theirs.Close(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// Where calls cannot be observed, syslog(2) is refused.
func TestRefuseSyslog(t *testing.T) {
	got := inFilter(func() string {
		if err := refuseSyslog(); err != nil {
			return err.Error()
		}
		_, err := unix.Klogctl(10, nil)
		return fmt.Sprint(err, " ", unix.Getpid() > 0)
	})
	if want := fmt.Sprint(unix.EPERM, " true"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, answered := range []bool{false, true} {
		f, err := filter(false, false, answered)
		if err != nil {
			t.Fatal(err)
		}
		forbids := false
		for _, word := range f {
			forbids = forbids || word.K == unix.SYS_SYSLOG && word.Code == unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K
		}
		if forbids == answered {
			t.Errorf("answered %v: the filter forbids syslog: %v", answered, forbids)
		}
	}
}
