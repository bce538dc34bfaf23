package tracer_test

import (
	"testing"

	"ftracelab/machine"
	"ftracelab/tracer"
)

// A function's entry and return allocate nothing, whoever looks at them.
func TestFunctionHooksAllocateNothing(t *testing.T) {
	l := newLab(t, tracer.Config{FunctionProfiler: true, FunctionGraphRetval: true})
	fn, _ := l.m.Kallsyms().ByName("vfs_read")
	l.write("set_ftrace_filter", "vfs_*")
	l.append("set_ftrace_filter", "vfs_read:traceon:5")
	l.append("set_ftrace_filter", "vfs_read:stacktrace")
	l.append("set_ftrace_filter", "vfs_read:enable_event:sched:sched_switch")
	l.write("set_ftrace_notrace_pid", "99999")
	l.write("set_graph_function", "vfs_*")
	l.sysctl("stack_tracer_enabled", "1")
	l.write("function_profile_enabled", "1")
	for _, name := range []string{"instances/a", "instances/b"} {
		if err := l.fs.Mkdir(name); err != nil {
			t.Fatal(err)
		}
	}
	l.write("instances/a/current_tracer", "function")
	l.write("instances/b/current_tracer", "function_graph")
	l.write("current_tracer", "function")
	l.ft.Run(machine.Millisecond)
	c := l.m.CPUs()[0]
	var f machine.Frame
	call := func() {
		f = machine.Frame{Func: fn.Addr, IP: fn.IP(), Ret: fn.Addr + 100}
		l.m.Hooks.Call(c, &f)
		if f.Ret == fn.Addr+100 {
			t.Fatal("nobody wanted the return")
		}
		l.m.Hooks.Return(c, &f)
	}
	before := l.ft.Top().Buffer().Stats(c.ID).Entries
	for range 20000 { // until all pages of the buffers are there
		call()
	}
	if after := l.ft.Top().Buffer().Stats(c.ID).Entries; after <= before {
		t.Fatal("nothing was recorded")
	}
	if n := testing.AllocsPerRun(1000, call); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkRun is a millisecond of the simulated machine under each tracer.
func BenchmarkRun(b *testing.B) {
	for name, setup := range map[string]func(l *lab){
		"nop":    func(*lab) {},
		"events": func(l *lab) { l.write("events/enable", "1") },
		"events+ids": func(l *lab) {
			l.write("options/stackmap", "1")
			l.write("options/stacktrace", "1")
			l.write("events/enable", "1")
		},
		"function":       func(l *lab) { l.write("current_tracer", "function") },
		"function_graph": func(l *lab) { l.write("current_tracer", "function_graph") },
		"function filtered": func(l *lab) {
			l.write("set_ftrace_filter", "*lock*")
			l.append("set_ftrace_filter", "vfs_*:traceon")
			l.write("set_ftrace_notrace", "_raw_spin_lock")
			l.write("current_tracer", "function")
		},
		"hist": func(l *lab) {
			l.write("synthetic_events", "lat u64 us; pid_t pid; char comm[16]")
			l.write("events/sched/sched_waking/trigger", "hist:keys=pid:ts=common_timestamp.usecs")
			l.write("events/sched/sched_switch/trigger", "hist:keys=next_pid:us=common_timestamp.usecs-$ts:onmatch(sched.sched_waking).lat($us,next_pid,next_comm)")
			l.write("events/raw_syscalls/sys_enter/trigger", "hist:keys=common_pid.execname,id.syscall:vals=common_cpu")
			l.write("events/synthetic/lat/trigger", "hist:keys=comm,us.log2")
		},
		"profiler": func(l *lab) { l.write("function_profile_enabled", "1") },
	} {
		b.Run(name, func(b *testing.B) {
			l := newLab(b, tracer.Config{FunctionProfiler: true})
			setup(l)
			l.ft.Run(20 * machine.Millisecond)
			b.ReportAllocs()
			for b.Loop() {
				l.ft.Run(machine.Millisecond)
			}
		})
	}
}
