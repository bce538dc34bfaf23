package tracer

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/dynevent"
)

// Simulated tasks come by the places of their user stacks when a system call returns:
// all of them by the call of main.
func TestUprobe(t *testing.T) {
	l := newProbeLab(t)
	l.ft.Run(50 * machine.Millisecond) // they have mapped their programs
	l.must("uprobe_events", "p:main /usr/bin/bash:0x2345 ip=%ip:x64 sp=$stack comm=$comm\nr:ret /usr/bin/bash:0x2345 ret=$retval\n")
	l.must("uprobe_events", "p /usr/bin/bash:0x2346\n")
	l.want("uprobe_events", "p:uprobes/main /usr/bin/bash:0x0000000000002345 ip=%ip:x64 sp=$stack comm=$comm\n"+
		"r:uprobes/ret /usr/bin/bash:0x0000000000002345 ret=$retval\np:uprobes/p_bash_0x2346 /usr/bin/bash:0x0000000000002346\n")
	l.must("events/uprobes/enable", "1\n")
	l.fails("uprobe_events", "-:main\n", syscall.EBUSY)
	l.ft.Run(50 * machine.Millisecond)
	l.must("events/uprobes/enable", "0\n")
	hits := l.lines(`bash-\d+ +\[\d+\] DNZff +\d+\.\d+: main: \(0x555555556345\) ip=0x555555556345 sp=0x7ffff[0-9a-f]+ comm="bash"$`)
	if len(hits) < 10 || len(hits) != len(l.lines(": (main|ret|p_bash_0x2346): ")) {
		t.Errorf("%d hits of %q", len(hits), l.lines(": (main|ret|p_bash_0x2346): "))
	}
	profile := fmt.Sprintf("  /usr/bin/bash %-44s %15d\n  /usr/bin/bash %-44s %15d\n  /usr/bin/bash %-44s %15d\n", "main", len(hits), "ret", 0, "p_bash_0x2346", 0)
	l.want("uprobe_profile", profile)
	l.ft.Run(50 * machine.Millisecond)
	l.want("uprobe_profile", profile)
	if l.ft.machine.Hooks.User != nil {
		t.Error("the hook stays when nothing is probed")
	}
	if err := tracefsfs.WriteFile(l.fs, "uprobe_events", ""); err != nil {
		t.Fatal(err)
	}
	l.want("dynamic_events", "")
}

// A probe that joins an event that is enabled is put into its file the next time.
func TestUprobeJoins(t *testing.T) {
	l := newProbeLab(t)
	l.ft.Run(50 * machine.Millisecond)
	l.must("uprobe_events", "p:x /usr/bin/bash:0x100\n")
	l.must("events/uprobes/x/enable", "1\n")
	l.must("uprobe_events", "p:x /usr/bin/bash:0x2345\n")
	l.ft.Run(20 * machine.Millisecond)
	if hits := l.lines(": x: "); len(hits) > 0 {
		t.Errorf("%q", hits)
	}
	l.must("events/uprobes/x/enable", "0\n")
	l.must("events/uprobes/x/enable", "1\n")
	l.ft.Run(20 * machine.Millisecond)
	if len(l.lines(": x: ")) == 0 {
		t.Error("no hit")
	}
}

// A place behind the file's end is found out when the event is enabled; a place has one
// reference counter.
func TestUprobePlaces(t *testing.T) {
	l := newProbeLab(t)
	l.ft.Run(50 * machine.Millisecond)
	l.must("uprobe_events", "p:far /usr/bin/bash:0xfffffff\np:odd /usr/bin/bash:0x1000(0x3)\np:sem /usr/bin/bash:0x2000(0x10)\n")
	l.fails("events/uprobes/far/enable", "1\n", syscall.EINVAL)
	l.fails("events/uprobes/odd/enable", "1\n", syscall.EINVAL)
	l.want("events/uprobes/far/enable", "0\n")
	l.must("events/uprobes/sem/enable", "1\n")
	l.must("events/uprobes/sem/enable", "0\n")
	l.fails("uprobe_events", "p:other /usr/bin/bash:0x2000\n", syscall.EINVAL)
	l.must("uprobe_events", "p:sem /usr/bin/bash:0x3000\n") // joins the event
	l.want("uprobe_events", "p:uprobes/far /usr/bin/bash:0x000000000fffffff\np:uprobes/odd /usr/bin/bash:0x0000000000001000(0x3)\n"+
		"p:uprobes/sem /usr/bin/bash:0x0000000000002000(0x10)\np:uprobes/sem /usr/bin/bash:0x0000000000003000\n")
	l.fails("uprobe_events", "p:k vfs_read\n", syscall.EINVAL)
	if log := l.read("error_log"); strings.Contains(log, "trace_uprobe") {
		t.Errorf("error_log %q", log)
	}
}

// oneFile is a file system with one file.
type oneFile struct{}

func (oneFile) Stat(path string) (dynevent.UserFile, error) {
	if path != "/bin/prog" {
		return dynevent.UserFile{}, fmt.Errorf("%s: %w", path, syscall.ENOENT)
	}
	return dynevent.UserFile{ID: 1 << 63, Regular: true, Size: 0x1000}, nil
}

// A path that does not begin with / is looked for in the working folder of whoever writes. The
// events show it as it was written, and the file stays the same in other folders.
func TestUprobeRelativePath(t *testing.T) {
	ft := newRunningKernel(t, machine.Config{CPUs: 2}, Config{Files: oneFile{}})
	l := &dynLab{t, ft, tracefsfs.New(ft.Root())}
	h, err := l.fs.OpenHandle(context.Background(), "uprobe_events", tracefile.Write|tracefile.Append)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, c := range []struct {
		dir, command string
		want         syscall.Errno
	}{
		{"/bin", "p:a ./prog:0x40\n", 0},
		{"/", "p:b ./bin/prog:0x40\n", 0},
		{"/bin", "p:c bin/prog:0x40\n", syscall.ENOENT},
		{"", "p:d ./prog:0x40\n", syscall.ENOENT},
		{"/etc", "p:e /bin/prog:0x40\n", 0},
	} {
		ctx := tracefile.WithCaller(context.Background(), func() tracefile.Caller {
			return tracefile.Caller{Dir: func() string { return c.dir }}
		})
		if _, err := h.Write(ctx, []byte(c.command)); err != nil && tracefile.Errno(err) != c.want || err == nil && c.want != 0 {
			t.Errorf("%q in %s: %v, want %v", c.command, c.dir, err, c.want)
		}
	}
	l.must("events/uprobes/a/enable", "1\n")
	want := "p:uprobes/a ./prog:0x0000000000000040\np:uprobes/b ./bin/prog:0x0000000000000040\np:uprobes/e /bin/prog:0x0000000000000040\n"
	if text := l.read("uprobe_events"); text != want {
		t.Errorf("uprobe_events reads %q", text)
	}
}

// A task with another program comes by the places where that begins, once.
func TestUprobeStarts(t *testing.T) {
	ft := newRunningKernel(t, machine.Config{CPUs: 2}, Config{Files: oneFile{}})
	l := &dynLab{t, ft, tracefsfs.New(ft.Root())}
	l.must("uprobe_events", "p:start /bin/prog:0x40 at=@+0x10:u8\n")
	l.must("events/uprobes/start/enable", "1\n")
	l.ft.Run(20 * machine.Millisecond)
	if got := l.lines(": start: "); len(got) > 0 {
		t.Fatalf("hits without the program: %q", got)
	}
	var task *machine.Task
	l.do(func(m *machine.Machine) error {
		for _, each := range m.Tasks() {
			if each.Comm == "bash" {
				task = each
			}
		}
		task.Starts = []machine.Place{{File: 1 << 63, Offset: 0x40, Addr: 0x400040}, {File: 1 << 63, Offset: 0x50, Addr: 0x400050}}
		return nil
	})
	l.ft.Run(100 * machine.Millisecond)
	if got := l.lines(`: start: \(0x400040\) at=`); len(got) != 1 || task.Starts != nil {
		t.Errorf("hits %q", got)
	}
}
