package tracer_test

import (
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracer"
	"ftracelab/workload"
)

// threadsOf are the pids of the threads of a tracer, by name.
func (l *lab) threadsOf(prefix string) map[string]int {
	pids := map[string]int{}
	for _, task := range l.m.Tasks() {
		if strings.HasPrefix(task.Comm, prefix) {
			pids[task.Comm] = task.PID
		}
	}
	return pids
}

// The thread of a CPU ends when the CPU goes, and another one starts when it comes
// back, if the tracer wants one there.
func TestSamplersAfterHotplug(t *testing.T) {
	for _, c := range []struct{ tracer, prefix string }{{"osnoise", "osnoise/"}, {"timerlat", "timerlat/"}, {"hwlat", "hwlatd/"}} {
		l := newLab(t, tracer.Config{})
		l.write("hwlat_detector/width", "1000")
		l.write("hwlat_detector/window", "2000")
		l.write("hwlat_detector/mode", "per-cpu")
		l.write("osnoise/cpus", "0-2")
		l.write("tracing_cpumask", "7")
		l.write("current_tracer", c.tracer)
		l.ft.Run(10 * machine.Millisecond)
		before := l.threadsOf(c.prefix)
		for _, cpu := range []int{2, 3} {
			if err := workload.Hotplug(l.ft, cpu, false); err != nil {
				t.Fatal(err)
			}
		}
		if now := l.threadsOf(c.prefix); len(before) != 3 || len(now) != 2 || now[c.prefix+"2"] != 0 {
			t.Errorf("%s: threads %v, with CPUs 2 and 3 gone %v", c.tracer, before, now)
		}
		for _, cpu := range []int{2, 3} {
			if err := workload.Hotplug(l.ft, cpu, true); err != nil {
				t.Fatal(err)
			}
		}
		l.write("trace", "")
		l.m.SetSMI(5*machine.Millisecond, 100*machine.Microsecond)
		l.ft.Run(1100 * machine.Millisecond)
		now := l.threadsOf(c.prefix)
		if pid := now[c.prefix+"2"]; len(now) != 3 || pid <= before[c.prefix+"2"] {
			t.Errorf("%s: threads %v, with CPUs 2 and 3 back %v", c.tracer, before, now)
		}
		if !strings.Contains(l.read("trace"), " [002] ") {
			t.Errorf("%s: nothing of CPU 2", c.tracer)
		}
	}
}

// The thread that goes round leaves a CPU that goes, and goes round no more.
func TestHwlatAfterHotplug(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("hwlat_detector/width", "1000")
	l.write("hwlat_detector/window", "2000")
	l.write("tracing_cpumask", "4")
	l.write("current_tracer", "hwlat")
	l.ft.Run(10 * machine.Millisecond)
	if err := workload.Hotplug(l.ft, 2, false); err != nil {
		t.Fatal(err)
	}
	l.want("hwlat_detector/mode", "[none] round-robin per-cpu\n")
	l.write("tracing_cpumask", "f") // or nothing would be recorded
	l.m.SetSMI(5*machine.Millisecond, 100*machine.Microsecond)
	l.ft.Run(machine.Second)
	if text := l.read("trace"); !strings.Contains(text, " [000] ") || strings.Contains(text, " [002] ") {
		t.Errorf("not on CPU 0 alone:\n%s", text)
	}
}

// A threshold stops the recording and leaves the threads; switching tracing_on off
// ends them, of the last instance, and on starts them.
func TestOsnoiseStops(t *testing.T) {
	l := newLab(t, tracer.Config{})
	l.write("osnoise/stop_tracing_us", "1")
	l.write("current_tracer", "timerlat")
	threads := func() int { l.ft.Run(50 * machine.Millisecond); return len(l.threadsOf("timerlat/")) }
	if n := threads(); n != 4 || l.read("tracing_on") != "0\n" {
		t.Errorf("stopped by a threshold: %d threads, tracing_on %q", n, l.read("tracing_on"))
	}
	l.write("osnoise/stop_tracing_us", "0")
	l.write("tracing_on", "0") // as it is already: nothing happens
	if n := threads(); n != 4 {
		t.Errorf("%d threads", n)
	}
	l.write("tracing_on", "1")
	l.write("trace", "")
	if n := threads(); n != 4 || len(body(l.read("trace"))) == 0 {
		t.Errorf("going on: %d threads, %d lines", n, len(body(l.read("trace"))))
	}
	l.write("tracing_on", "0")
	if n := threads(); n != 0 {
		t.Errorf("tracing_on 0: %d threads", n)
	}
	if err := l.fs.Mkdir("instances/foo"); err != nil {
		t.Fatal(err)
	}
	if err := l.errno("instances/foo/current_tracer", "osnoise"); err != syscall.EBUSY {
		t.Errorf("osnoise beside a timerlat that stands still: %v, want EBUSY", err)
	}
	l.write("instances/foo/current_tracer", "timerlat")
	if n := threads(); n != 4 {
		t.Errorf("another instance: %d threads", n)
	}
	l.write("tracing_on", "1")
	l.write("instances/foo/current_tracer", "nop")
	if n := threads(); n != 4 {
		t.Errorf("tracing_on 1: %d threads", n)
	}
	l.write("current_tracer", "osnoise")
	if n := threads(); n != 0 || len(l.threadsOf("osnoise/")) != 4 {
		t.Errorf("osnoise: %d threads of timerlat", n)
	}
}
