package tracer_test

import (
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
)

func TestPIDFiles(t *testing.T) {
	l := newTriggerLab(t)
	for _, file := range []string{"set_event_pid", "set_event_notrace_pid"} {
		l.write(file, "12 7\t0x10")
		l.want(file, "7\n12\n16\n")
		l.append(file, "3")
		l.want(file, "3\n7\n12\n16\n")
		for _, c := range []struct {
			text string
			want error
		}{{"5 x", syscall.EINVAL}, {"-5", syscall.EINVAL}, {"99999999999999999999", syscall.EINVAL}, {"1073741824", syscall.EPERM}, {strings.Repeat("1", 200), syscall.EINVAL}} {
			if err := tracefsAppend(l, file, c.text); err != c.want {
				t.Errorf("%s >> %s: %v, want %v", c.text, file, err, c.want)
			}
		}
		l.want(file, "3\n7\n12\n16\n")
		l.write(file, "")
		l.want(file, "")
	}
}

var taskOf = regexp.MustCompile(`^ *(.*)-(\d+) +\[`)

// pidsOf are the tasks that the lines of a trace name at their beginning.
func pidsOf(t *testing.T, lines []string) map[int]int {
	t.Helper()
	pids := map[int]int{}
	for _, line := range lines {
		m := taskOf.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("no task in %q", line)
		}
		pid, _ := strconv.Atoi(m[2])
		pids[pid]++
	}
	return pids
}

// busiest is the task with most events in a trace of system calls.
func busiest(t *testing.T, l *lab) int {
	t.Helper()
	l.write("set_event", "raw_syscalls:sys_enter")
	l.ft.Run(100 * machine.Millisecond)
	best, most := 0, 0
	for pid, n := range pidsOf(t, body(l.read("trace"))) {
		if n > most || n == most && pid < best {
			best, most = pid, n
		}
	}
	l.write("trace", "")
	return best
}

// Of the tasks in set_event_pid all is recorded that they do and that switches
// to them or wakes them; of those in set_event_notrace_pid nothing.
func TestEventPIDs(t *testing.T) {
	l := newTriggerLab(t)
	pid := busiest(t, l)
	me := strconv.Itoa(pid)
	l.write("set_event", "raw_syscalls:sys_enter")
	l.append("set_event", "sched:sched_switch")
	l.append("set_event", "sched:sched_wakeup")
	l.write("set_event_pid", me)
	l.ft.Run(200 * machine.Millisecond)
	lines := body(l.read("trace"))
	if len(lines) < 10 {
		t.Fatalf("only %d events of task %d", len(lines), pid)
	}
	for _, line := range lines {
		own := pidsOf(t, []string{line})[pid] == 1
		about := strings.Contains(line, "next_pid="+me+" ") || strings.Contains(line, " pid="+me+" ")
		if !own && !about {
			t.Errorf("not of task %d: %s", pid, line)
		}
	}
	l.write("set_event_notrace_pid", me)
	l.write("trace", "")
	l.ft.Run(50 * machine.Millisecond)
	for _, line := range body(l.read("trace")) {
		// A switch between a task of each list is of neither.
		if !strings.Contains(line, ": sched_switch: ") {
			t.Errorf("both lists name task %d, but %q", pid, line)
		}
	}
	l.write("set_event_pid", "")
	l.ft.Run(50 * machine.Millisecond)
	got := pidsOf(t, body(l.read("trace")))
	if len(got) < 2 {
		t.Errorf("without set_event_pid only tasks %v", got)
	}
	l.write("set_event", "raw_syscalls:sys_enter")
	l.write("trace", "")
	l.ft.Run(50 * machine.Millisecond)
	if n := pidsOf(t, body(l.read("trace")))[pid]; n != 0 {
		t.Errorf("%d events of task %d in set_event_notrace_pid", n, pid)
	}
}

// With options/event-fork the children of tasks in the list come into it, and
// go when they are gone.
func TestEventFork(t *testing.T) {
	l := newTriggerLab(t)
	known := len(l.m.Tasks())
	var pids strings.Builder
	for _, task := range l.m.Tasks() {
		pids.WriteString(strconv.Itoa(task.PID) + " ")
	}
	l.write("set_event", "sched:sched_process_fork")
	l.append("set_event", "sched:sched_process_exit")
	l.write("set_event_pid", pids.String())
	l.write("options/event-fork", "1")
	l.ft.Run(2 * machine.Second)
	forks, exits := l.count("trace", "sched_process_fork"), l.count("trace", "sched_process_exit")
	if forks == 0 {
		t.Fatal("no task forks")
	}
	listed := strings.Count(l.read("set_event_pid"), "\n")
	if listed != known+forks-exits {
		t.Errorf("%d tasks after %d, %d forks and %d exits", listed, known, forks, exits)
	}
	l.write("options/event-fork", "0")
	before := l.read("set_event_pid")
	l.ft.Run(machine.Second)
	l.want("set_event_pid", before)
}

func tracefsAppend(l *lab, name, text string) error {
	h := l.do("-a", name, text)
	for errno, word := range errnoNames {
		if strings.Contains(h, "-1 "+word+";") {
			return errno
		}
	}
	return nil
}
