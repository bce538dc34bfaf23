package tracer

import (
	"regexp"
	"testing"

	"ftracelab/tracer/event/probe"
	"ftracelab/workload/machine"
)

// What probes fetch of the running machine: arguments by number, register and name,
// memory of both kinds, the stack, members of structures.
func TestProbesFetch(t *testing.T) {
	l := newKprobeLab(t)
	const definitions = `p:open do_sys_openat2 dfd=%di:s32 path=+0($arg2):ustring kernel=+0($arg2):string flags=how->flags:x64
p:read vfs_read file->f_path.dentry->d_name.name:string name=$arg1:%pD count same=%dx:u64
r:done vfs_read ret=$retval:s64 n=$arg3
p:put dput $arg1:%pd
r:name getname_flags path=$retval->name:string
p:stack ksys_read sp=$stack top=$stack0:symbol same=+0($stack):symbol
p:text vfs_read @linux_proc_banner:string
p:fault vfs_read path=+0(+0($arg1)):ustring
`
	l.must("kprobe_events", definitions)
	l.must("events/kprobes/enable", "1")
	l.ft.Run(300 * machine.Millisecond)
	l.must("events/kprobes/enable", "0")
	trace := l.read("trace")
	for _, want := range []string{
		`open: \(do_sys_openat2\+0x0/0xe0\) dfd=-100 path="/proc/1/comm" kernel=\(fault\) flags=0x88000\n`,
		`read: \(vfs_read\+0x4/0x370\) arg1="comm" name="comm" count=(1024) same=1024\n`,
		`done: \(ksys_read\+0x[0-9a-f]+/0xf0 <- vfs_read\) ret=27 n=0x400\n`,
		`name: \(vfs_fstatat\+0x62/0xb0 <- getname_flags\) path="/[a-z/]+`,
		`put: \(dput\+0x4/0x1c0\) arg1="comm"\n`,
		`stack: .* sp=0xffffc9[0-9a-f]{10} top=([a-z_0-9]+)\+0x.* same=`,
		`text: .* arg1="Linux version 6\.12`,
		`fault: .* path=\(fault\)\n`,
	} {
		if !regexp.MustCompile(want).MatchString(trace) {
			t.Errorf("no line is like %s", want)
		}
	}
	if t.Failed() {
		seen := map[string]int{}
		for _, line := range regexp.MustCompile(`(?m): (\w+): \(.*$`).FindAllStringSubmatch(trace, -1) {
			if seen[line[1]]++; seen[line[1]] <= 3 {
				t.Log(line[0])
			}
		}
	}
}

// The folder of a new event, and that of its system if it is new, is made by a call in
// the machine.
func TestEventFoldersAreCalls(t *testing.T) {
	l := newKprobeLab(t)
	l.must("kprobe_events", "p:dirs eventfs_create_dir name=+0($arg1):string c=+0(%di):char[4]")
	l.must("events/kprobes/dirs/enable", "1")
	l.must("kprobe_events", "p:grp/test vfs_read\np:grp/other vfs_read")
	trace := l.read("trace")
	var names []string
	for _, m := range regexp.MustCompile(`dirs: \(eventfs_create_dir\+0x4/0x170\) name="(\w+)"`).FindAllStringSubmatch(trace, -1) {
		names = append(names, m[1])
	}
	if len(names) != 3 || names[0] != "grp" || names[1] != "test" || names[2] != "other" {
		t.Errorf("folders %q, want grp, test, other:\n%s", names, trace)
	}
	if !regexp.MustCompile(`name="test" c=\{'t','e','s','t'\}`).MatchString(trace) {
		t.Errorf("%s", trace)
	}
}

// A source knows what its probe is at: a tracepoint's arguments, a record.
func TestSources(t *testing.T) {
	l := newKprobeLab(t)
	c := l.ft.machine.CPUs()[0]
	task := c.Idle()
	var s kernelSource
	s.pass(l.ft, c, &machine.SchedSwitch{Preempt: true, Prev: task, Next: task, PrevState: machine.StatePreempted})
	if s.Arg(0) != 1 || s.Arg(1) != s.Arg(2) || s.Arg(1) == 0 || s.Arg(3) != 0 || s.Arg(4) != 0 {
		t.Errorf("sched_switch(%#x, %#x, %#x, %#x)", s.Arg(0), s.Arg(1), s.Arg(2), s.Arg(3))
	}
	var e eventSource
	e.seen(l.ft, c, []byte{1, 2})
	if len(e.Record()) != 2 || e.Comm() != c.Current.Comm {
		t.Error("the record or the task is not the one")
	}
	for _, source := range []probe.Source{&s, &e} {
		var b [4]byte
		banner, _ := l.ft.machine.Kallsyms().Address("linux_proc_banner")
		if n := source.Kernel(b[:], banner); n != 4 || string(b[:]) != "Linu" {
			t.Errorf("%q", b[:n])
		}
		if n := source.User(b[:], banner); n != 0 {
			t.Errorf("user memory at a kernel's address: %d bytes", n)
		}
		if got := string(source.AppendSymbol(nil, banner+2)); got != "linux_proc_banner+0x2/0xa0" {
			t.Error(got)
		}
	}
}
