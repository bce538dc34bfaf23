package tracer_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracer"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/unwind/cookie"
)

// Each syntax of set_event.
func TestSetEvent(t *testing.T) {
	l := newLab(t, tracer.Config{})
	available := strings.Fields(l.read("available_events"))
	system := func(name string) (list []string) {
		for _, e := range available {
			if strings.HasPrefix(e, name+":") {
				list = append(list, e)
			}
		}
		return list
	}
	without := func(list []string, out ...string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(e string) bool { return slices.Contains(out, e) })
	}
	for _, c := range []struct {
		write string
		want  []string
	}{
		{"sched:sched_switch", []string{"sched:sched_switch"}},
		{"sched:*", system("sched")},
		{"sched:", system("sched")},
		{"sched", system("sched")},
		{"sched_switch", []string{"sched:sched_switch"}},
		{"*:sched_switch", []string{"sched:sched_switch"}},
		{":sched_switch", []string{"sched:sched_switch"}},
		{"*:*", available},
		{"*", available},
		{"sched irq", without(available, without(available, append(system("sched"), system("irq")...)...)...)},
		{"sched !sched:sched_switch", without(system("sched"), "sched:sched_switch")},
		{"*:* !sched", without(available, system("sched")...)},
		{"", nil},
		{" \t ", nil},
	} {
		l.write("set_event", c.write)
		if got := strings.Fields(l.read("set_event")); !slices.Equal(got, c.want) {
			t.Errorf("%q enables %v, want %v", c.write, got, c.want)
		}
	}
	l.write("set_event", "sched:sched_switch")
	l.append("set_event", "irq:irq_handler_entry")
	l.append("set_event", "!sched:sched_switch")
	l.want("set_event", "irq:irq_handler_entry\n")
	for _, bad := range []string{"nosuch", "sched:nosuch", "nosuch:*", "ftrace:function", "sched:sched_*", "!nosuch", strings.Repeat("x", 200)} {
		if err := l.errno("set_event", bad); err != syscall.EINVAL {
			t.Errorf("%.20q: %v, want EINVAL", bad, err)
		}
	}
}

// The enable files of an event, a system and all: 0, 1 and X.
func TestEnableFiles(t *testing.T) {
	l := newLab(t, tracer.Config{})
	all := func(event, system, every string) {
		t.Helper()
		l.want("events/sched/sched_switch/enable", event+"\n")
		l.want("events/sched/enable", system+"\n")
		l.want("events/enable", every+"\n")
	}
	all("0", "0", "0")
	l.write("events/sched/sched_switch/enable", "1")
	all("1", "X", "X")
	l.write("events/sched/enable", "1")
	all("1", "1", "X")
	l.write("events/enable", "1")
	all("1", "1", "1")
	l.write("events/sched/enable", "0")
	all("0", "0", "X")
	l.write("events/enable", "0")
	all("0", "0", "0")
	for _, bad := range []string{"2", "x", "", "-1", " 1"} {
		for _, name := range []string{"events/enable", "events/sched/enable", "events/sched/sched_switch/enable"} {
			if err := l.errno(name, bad); err != syscall.EINVAL {
				t.Errorf("%s: %q: %v, want EINVAL", name, bad, err)
			}
		}
	}
	if err := l.errno("events/sched/enable", "99999999999999999999"); err != syscall.ERANGE {
		t.Errorf("a number beyond 64 bits: %v, want ERANGE", err)
	}
}

// Only what is enabled is recorded, in each instance for itself.
func TestEventsOfInstances(t *testing.T) {
	l := newLab(t, tracer.Config{})
	if err := l.fs.Mkdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	l.write("set_event", "sched:sched_switch")
	l.write("instances/foo/set_event", "sched:sched_waking")
	l.ft.Run(10 * machine.Millisecond)
	l.write("tracing_on", "0")
	l.ft.Run(10 * machine.Millisecond)
	l.write("instances/foo/tracing_on", "0")
	for dir, names := range map[string][2]string{"": {"sched_switch", "sched_waking"}, "instances/foo/": {"sched_waking", "sched_switch"}} {
		trace := l.read(dir + "trace")
		if strings.Count(trace, names[0]+":") == 0 || strings.Count(trace, names[1]+":") > 0 {
			t.Errorf("%strace:\n%s", dir, firstLines(trace, 30))
		}
	}
	if strings.Contains(l.read("trace"), " 0.01") || !strings.Contains(l.read("instances/foo/trace"), " 0.01") {
		t.Error("tracing_on of the top instance is not its own")
	}
}

// The syscalls events are those of the same raw_syscalls events; their probe has
// preemption off.
func TestSyscallEvents(t *testing.T) {
	l := newLab(t, tracer.Config{BufferSizeKB: 8000})
	l.write("set_event", "syscalls raw_syscalls")
	l.ft.Run(30 * machine.Millisecond)
	l.write("tracing_on", "0")
	enters, exits, raw := 0, 0, 0
	var nr int64
	for _, r := range l.records() {
		id := int(event.ParseCommon(r.data).Type)
		typ := l.ft.Types().ByID(id)
		switch {
		case id == events.SysEnter.ID:
			var e events.SysEnterRecord
			if err := events.SysEnter.Decode(r.data, &e); err != nil {
				t.Fatal(err)
			}
			nr = e.ID
			raw++
		case strings.HasPrefix(typ.Name, "sys_enter_"):
			got := int64(r.data[8]) | int64(r.data[9])<<8
			if got != nr && len(l.m.CPUs()) == 1 {
				t.Fatalf("%s has number %d after sys_enter of %d", typ.Name, got, nr)
			}
			if depth := event.ParseCommon(r.data).PreemptCount; depth != 1 {
				t.Fatalf("%s has preemption depth %d", typ.Name, depth)
			}
			enters++
		case strings.HasPrefix(typ.Name, "sys_exit_"):
			exits++
		}
	}
	if enters == 0 || exits == 0 || enters > raw {
		t.Errorf("%d sys_enter_*, %d sys_exit_* and %d sys_enter", enters, exits, raw)
	}
}

// userstacktrace records the 8 innermost addresses of a task, and an empty stack
// of a task that has none; each behind its event.
func TestUserStacktrace(t *testing.T) {
	l := newLab(t, tracer.Config{BufferSizeKB: 8000})
	l.write("options/userstacktrace", "1")
	l.write("set_event", "raw_syscalls:sys_enter sched:sched_switch")
	l.ft.Run(30 * machine.Millisecond)
	l.write("tracing_on", "0")
	perCPU := map[int]int{} // the type before
	filled, empty := 0, 0
	for _, r := range l.records() {
		id := int(event.ParseCommon(r.data).Type)
		if id == events.UserStack.ID {
			var s events.UserStackRecord
			if err := events.UserStack.Decode(r.data, &s); err != nil {
				t.Fatal(err)
			}
			if s.Caller[0] != 0 {
				filled++
			} else {
				empty++
			}
		} else if last, ok := perCPU[r.cpu]; ok && last != events.UserStack.ID {
			t.Fatal("an event has no user stack")
		}
		perCPU[r.cpu] = id
	}
	if filled == 0 || empty == 0 {
		t.Errorf("%d stacks with and %d without addresses", filled, empty)
	}
}

// userstacktrace_delay: every event's cookie gets its stack when the task returns
// to user space, once for each stay.
func TestDeferredUserStacks(t *testing.T) {
	l := newLab(t, tracer.Config{BufferSizeKB: 8000, DeferredUnwind: true})
	l.write("options/userstacktrace_delay", "1")
	l.write("set_event", "raw_syscalls:* kmem:kmem_cache_alloc")
	l.ft.Run(30 * machine.Millisecond)
	l.write("tracing_on", "0")
	joined, alone, perCookie := 0, 0, map[cookie.ID]int{}
	waiting := map[int32]cookie.ID{}
	join := cookie.Join[cookie.ID]{Deliver: func(c cookie.ID, stack []uint64, found bool) {
		if found && len(stack) > 0 {
			joined++
		} else {
			alone++
		}
	}}
	for _, r := range l.records() {
		common := event.ParseCommon(r.data)
		switch int(common.Type) {
		case events.UserUnwindCookie.ID:
			var c events.UserUnwindCookieRecord
			if err := events.UserUnwindCookie.Decode(r.data, &c); err != nil {
				t.Fatal(err)
			}
			waiting[common.PID] = cookie.ID(c.Cookie)
			join.Add(common.PID, cookie.ID(c.Cookie), cookie.ID(c.Cookie))
		case events.UserUnwindStack.ID:
			var s events.UserUnwindStackRecord
			if err := events.UserUnwindStack.Decode(r.data, &s); err != nil {
				t.Fatal(err)
			}
			if waiting[common.PID] != cookie.ID(s.Cookie) {
				t.Fatalf("task %d: a stack of cookie %#x, its last is %#x", common.PID, s.Cookie, waiting[common.PID])
			}
			perCookie[cookie.ID(s.Cookie)]++
			delete(waiting, common.PID)
			join.Stack(common.PID, cookie.ID(s.Cookie), s.Stack)
		}
	}
	for cookie, n := range perCookie {
		if n != 1 {
			t.Errorf("cookie %#x has %d stacks", uint64(cookie), n)
		}
	}
	open := join.Waiting() // of tasks that have not returned yet
	if joined == 0 || alone != 0 || len(waiting) > len(l.m.Tasks()) || open > 0 && len(waiting) == 0 {
		t.Errorf("%d events joined, %d alone, %d wait for %d tasks", joined, alone, open, len(waiting))
	}
	if joined <= len(perCookie) {
		t.Errorf("%d events and %d stacks: no stay had two events", joined, len(perCookie))
	}
	// An instance that goes away takes its requests along.
	if err := l.fs.Mkdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	l.write("instances/foo/options/userstacktrace_delay", "1")
	l.write("instances/foo/set_event", "raw_syscalls:*")
	l.ft.Run(5 * machine.Millisecond)
	if err := l.fs.Rmdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	l.ft.Run(5 * machine.Millisecond)
}

// record-cmd and record-tgid: a name is known only of tasks seen while the
// option was on.
func TestRecordCmdAndTGID(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("options/record-cmd", "0")
	l.write("set_event", "sched:sched_switch")
	l.ft.Run(10 * machine.Millisecond)
	l.write("tracing_on", "0")
	if trace := l.read("trace"); !strings.Contains(trace, "<...>-") || strings.Contains(trace, " bash-") {
		t.Errorf("without record-cmd:\n%s", firstLines(trace, 20))
	}
	l.want("saved_cmdlines", "")
	l.write("options/record-cmd", "1")
	l.write("options/record-tgid", "1")
	if trace := l.read("trace"); !strings.Contains(trace, "(-------)") {
		t.Errorf("record-tgid shows what nobody recorded:\n%s", firstLines(trace, 20))
	}
	l.write("trace", "")
	l.write("tracing_on", "1")
	l.ft.Run(10 * machine.Millisecond)
	for _, line := range body(l.read("trace")) {
		if strings.Contains(line, "(-------)") && !strings.Contains(line, "<idle>") {
			t.Fatalf("a task without its thread group: %s", line)
		}
	}
}

// CPUs outside of tracing_cpumask record nothing.
func TestCPUMask(t *testing.T) {
	l := newLabOn(t, machine.Config{CPUs: 40}, tracer.Config{})
	l.want("tracing_cpumask", "ff,ffffffff\n")
	l.write("tracing_cpumask", "80,00000005")
	l.want("tracing_cpumask", "80,00000005\n")
	for _, c := range []struct {
		text string
		want syscall.Errno
	}{
		{"100,00000000", syscall.EOVERFLOW},
		{"123456789", syscall.EOVERFLOW},
		{"g", syscall.EINVAL},
		{"1,0,,1", syscall.EOVERFLOW},
		{"80,,5,", 0},
		{"", 0},
		{"80,00000005", 0},
	} {
		if err := l.errno("tracing_cpumask", c.text); err != c.want && (err != nil || c.want != 0) {
			t.Errorf("%q: %v, want %v", c.text, err, c.want)
		}
	}
	l.write("current_tracer", "function")
	l.write("events/enable", "1")
	l.ft.Run(5 * machine.Millisecond)
	l.write("tracing_on", "0")
	seen := map[int]bool{}
	for _, r := range l.records() {
		seen[r.cpu] = true
	}
	if len(seen) != 3 || !seen[0] || !seen[2] || !seen[39] {
		t.Errorf("CPUs that recorded: %v", seen)
	}
}

// A task that exits delivers its stack while it still has one. Its events from
// sched_process_exit on have no cookie, because nobody could deliver theirs.
func TestDeferredStacksOfExitingTasks(t *testing.T) {
	l := newLab(t, tracer.Config{BufferSizeKB: 16000, DeferredUnwind: true})
	l.write("options/userstacktrace_delay", "1")
	l.write("set_event", "raw_syscalls:sys_enter sched")
	l.ft.Run(2 * machine.Second)
	l.write("tracing_on", "0")
	waiting, exited, delivered := map[int32]bool{}, map[int32]bool{}, 0
	for _, r := range l.records() {
		common := event.ParseCommon(r.data)
		switch int(common.Type) {
		case events.UserUnwindCookie.ID:
			if exited[common.PID] {
				t.Fatalf("task %d has a cookie after its exit", common.PID)
			}
			waiting[common.PID] = true
		case events.UserUnwindStack.ID:
			delete(waiting, common.PID)
			if exited[common.PID] {
				delivered++
			}
		case events.SchedProcessExit.ID:
			exited[common.PID] = true
		}
	}
	for pid := range exited {
		if waiting[pid] {
			t.Errorf("task %d left without its stack", pid)
		}
	}
	t.Logf("%d tasks exited, %d of them delivered a stack then", len(exited), delivered)
	if len(exited) < 5 || delivered != len(exited) {
		t.Errorf("%d of %d tasks delivered a stack when they exited", delivered, len(exited))
	}
}

// The addresses of a deferred stack are offsets in the files that the task has mapped, and
// inode_cache tells each of these files once: again when tracing starts or stops, when the
// trace is emptied, and when a tracer, a clock or the option changes. In the order of the
// buffer it stands behind the first stack with the file.
func TestInodeCache(t *testing.T) {
	l := newLab(t, tracer.Config{BufferSizeKB: 4000, DeferredUnwind: true})
	l.write("options/userstacktrace_delay", "1")
	l.write("set_event", "raw_syscalls inode_cache")
	type file struct {
		inode uint64
		dev   uint32
	}
	run := func(after string) map[file]string {
		t.Helper()
		l.ft.Run(20 * machine.Millisecond)
		told, used := map[file]string{}, map[file]bool{}
		for _, r := range l.records() {
			switch common := event.ParseCommon(r.data); int(common.Type) {
			case events.InodeCache.ID:
				var c events.InodeCacheRecord
				if err := events.InodeCache.Decode(r.data, &c); err != nil {
					t.Fatal(err)
				}
				f := file{c.Inode, c.Dev}
				if old, ok := told[f]; ok || !used[f] {
					t.Errorf("after %s: %v is %s, told before as %q, used before: %v", after, f, c.Path, old, used[f])
				}
				told[f] = c.Path
			case events.UserUnwindStack.ID:
				var s events.UserUnwindStackRecord
				if err := events.UserUnwindStack.Decode(r.data, &s); err != nil {
					t.Fatal(err)
				}
				task := l.m.Task(int(common.PID))
				for n, at := range s.Stack {
					f := file{s.Inodes[n], s.Dev[n]}
					m := slices.IndexFunc(task.Maps, func(m machine.Mapping) bool {
						return f == file{m.Inode, m.Dev} && at >= m.Offset && at-m.Offset < m.End-m.Start
					})
					if m < 0 {
						t.Fatalf("task %d: %#x in %v, which it has not mapped", common.PID, at, f)
					}
					used[f] = true
				}
			}
		}
		return told
	}
	first := run("the beginning")
	if len(first) < 3 || first[file{900, 254 << 20}] != "/lib/x86_64-linux-gnu/libc.so.6" {
		t.Fatalf("told %v", first)
	}
	if again := run("nothing"); again[file{900, 254 << 20}] != "" {
		t.Errorf("told again: %v", again)
	}
	for _, c := range [][]string{
		{"tracing_on", "1"},
		{"trace", ""},
		{"trace_clock", "global"},
		{"current_tracer", "function_graph", "nop"},
		{"options/userstacktrace_delay", "0", "1"},
	} {
		for _, v := range c[1:] {
			l.write(c[0], v)
		}
		l.records()
		if told := run(c[0]); told[file{900, 254 << 20}] == "" {
			t.Errorf("not told again after a change of %s", c[0])
		}
	}
}
