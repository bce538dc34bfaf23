package shell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ftracelab/internal/userland/tool"
	"ftracelab/tracefsfs/tracefile"
)

// Scheduling is how a task of the machine is scheduled.
//
// Kernel: struct sched_attr, include/uapi/linux/sched/types.h.
type Scheduling struct {
	Policy                    int // SCHED_OTHER is 0
	Nice                      int
	Priority                  int    // of a real-time policy
	Runtime, Deadline, Period uint64 // of SCHED_DEADLINE, ns
}

// policies are the scheduling policies by their numbers, with chrt's options.
var policies = []struct{ name, short, long string }{
	{"SCHED_OTHER", "-o", "--other"},
	{"SCHED_FIFO", "-f", "--fifo"},
	{"SCHED_RR", "-r", "--rr"},
	{"SCHED_BATCH", "-b", "--batch"},
	{},
	{"SCHED_IDLE", "-i", "--idle"},
	{"SCHED_DEADLINE", "-d", "--deadline"},
}

const (
	schedFIFO     = 1
	schedRR       = 2
	schedDeadline = 6
)

// chrt runs a command under a scheduling policy, or shows or changes that of a task.
//
// Departure: the command does what it does when a task of its name has run: sleep
// sleeps as that task, all others read and write a little.
func chrt(c *call) int {
	s, args, ofTask := Scheduling{Policy: schedRR}, c.Args, false
	times := []struct {
		short, long string
		ns          *uint64
	}{
		{"-T", "--sched-runtime", &s.Runtime}, {"-D", "--sched-deadline", &s.Deadline}, {"-P", "--sched-period", &s.Period},
	}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		option := args[0]
		args = args[1:]
		name, value, given := strings.Cut(option, "=")
		if option == "-p" || option == "--pid" {
			ofTask = true
			continue
		}
		if n := slices.IndexFunc(policies, func(p struct{ name, short, long string }) bool {
			return option == p.short || option == p.long
		}); n >= 0 {
			s.Policy = n
			continue
		}
		n := 0
		for n < len(times) && option != times[n].short && name != times[n].long {
			n++
		}
		if n == len(times) {
			return c.Usage("%s is not in the lab", option)
		}
		if !given && len(args) > 0 {
			value, args = args[0], args[1:]
		}
		ns, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return c.Usage("invalid time '%s'", value)
		}
		*times[n].ns = ns
	}
	if s.Deadline == 0 {
		s.Deadline = s.Period
	}
	if s.Runtime == 0 {
		s.Runtime = s.Deadline
	}
	if ofTask && len(args) == 1 {
		return c.showScheduling(args[0])
	}
	if len(args) < 2 {
		return c.Usage("want a priority and a command, or -p and a pid")
	}
	priority, err := strconv.Atoi(args[0])
	realTime := s.Policy == schedFIFO || s.Policy == schedRR
	if err != nil || realTime != (priority >= 1 && priority <= 99) || !realTime && priority != 0 {
		return c.Usage("unsupported priority value for the policy: %s", args[0])
	}
	s.Priority = priority
	if !ofTask {
		return c.runAs(args[1:], s)
	}
	pid, err := strconv.Atoi(args[1])
	if err != nil {
		return c.Usage("invalid PID argument: '%s'", args[1])
	}
	err = errNoMachine
	if m := c.sh.cfg.Machine; m != nil {
		err = m.SetScheduling(pid, s)
	}
	if err != nil {
		return c.noPolicy(pid, err)
	}
	return 0
}

// noPolicy tells as chrt does why a task's scheduling cannot be changed.
func (c *call) noPolicy(pid int, err error) int {
	fmt.Fprintf(c.Stderr, "%s: failed to set pid %d's policy: %s\n", c.Name, pid, tool.Reason(tracefile.Errno(err)))
	return 1
}

func (c *call) showScheduling(word string) int {
	pid, err := strconv.Atoi(word)
	if err != nil {
		return c.Usage("invalid PID argument: '%s'", word)
	}
	var s Scheduling
	err = errNoMachine
	if m := c.sh.cfg.Machine; m != nil {
		s, err = m.Scheduling(pid)
	}
	if err != nil {
		fmt.Fprintf(c.Stderr, "chrt: failed to get pid %d's policy: %s\n", pid, tool.Reason(tracefile.Errno(err)))
		return 1
	}
	c.Printf("pid %d's current scheduling policy: %s\n", pid, policies[s.Policy].name)
	c.Printf("pid %d's current scheduling priority: %d\n", pid, s.Priority)
	if s.Policy == schedDeadline {
		c.Printf("pid %d's current runtime/deadline/period parameters: %d/%d/%d\n", pid, s.Runtime, s.Deadline, s.Period)
	}
	return 0
}

// runAs runs a command of the lab as a task.
func (c *call) runAs(argv []string, s Scheduling) int {
	c.Stdout.Flush()
	name := argv[0]
	if own, ok := c.sh.program(name); ok {
		name = own
	} else {
		fmt.Fprintf(c.Stderr, "%s: failed to execute %s: No such file or directory\n", c.Name, argv[0])
		return 127
	}
	var sleeps, works time.Duration
	switch {
	case name == "sleep" && len(argv) == 2:
		d, ok := sleepTime(argv[1], false)
		if !ok {
			return c.Usage("invalid time interval '%s'", argv[1])
		}
		sleeps = d
	case name == worker:
		d, ok := workTime(argv[1:])
		if !ok {
			return c.Usage("invalid time interval '%s'", argv[1])
		}
		works = d
	}
	if err := c.task(name, sleeps, works, s); err != nil {
		return c.noPolicy(0, err)
	}
	if sleeps > 0 || works > 0 {
		return 0
	}
	return c.onward(argv)
}

// task starts a task of the machine and waits for its end.
func (c *call) task(name string, sleeps, works time.Duration, s Scheduling) error {
	m := c.sh.cfg.Machine
	if m == nil {
		return errNoMachine
	}
	exited, err := m.Start(name, sleeps, works, s)
	if err != nil {
		return err
	}
	// If this process is killed, it waits no longer; the task runs to its end.
	_ = c.sh.timeline.until(c.Ctx, c.sh.timeline.jobOf(c.env), 0, exited)
	return nil
}

// worker is the program that computes.
const worker = "matrix_mul"

// workTime is for how long the worker computes.
func workTime(args []string) (d time.Duration, ok bool) {
	switch len(args) {
	case 0:
		return 100 * time.Millisecond, true
	case 1:
		return sleepTime(args[0], false)
	}
	return 0, false
}

// work is the worker as a command: it keeps a CPU of the machine busy.
func work(c *call) int {
	d, ok := workTime(c.Args)
	if !ok {
		return c.Usage("want for how many seconds")
	}
	c.Stdout.Flush()
	if err := c.task(c.Name, 0, d, Scheduling{}); err != nil {
		c.Fail("task", err)
		return 1
	}
	return 0
}

// nice runs a command as a task with another nice value than 0.
func nice(c *call) int {
	by, args := 10, c.Args
	if len(args) > 1 && args[0] == "-n" {
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return c.Usage("invalid adjustment '%s'", args[1])
		}
		by, args = n, args[2:]
	}
	switch {
	case len(args) == 0:
		c.Printf("0\n")
		return 0
	case strings.HasPrefix(args[0], "-"):
		return c.Usage("%s is not in the lab", args[0])
	}
	return c.runAs(args, Scheduling{Nice: min(max(by, -20), 19)})
}

// renice changes the nice values of tasks of the machine.
func renice(c *call) int {
	args := c.Args
	if len(args) > 0 && (args[0] == "-n" || args[0] == "--priority") {
		args = args[1:]
	}
	if len(args) == 0 {
		return c.Usage("missing priority")
	}
	to, err := strconv.Atoi(args[0])
	if err != nil {
		return c.Usage("invalid priority '%s'", args[0])
	}
	to = min(max(to, -20), 19)
	status := 0
	for _, word := range args[1:] {
		if word == "-p" || word == "--pid" {
			continue
		}
		pid, err := strconv.Atoi(word)
		if err != nil {
			return c.Usage("bad pid value: %s", word)
		}
		var s Scheduling
		err = errNoMachine
		if m := c.sh.cfg.Machine; m != nil {
			s, err = m.Scheduling(pid)
		}
		if err == nil && s.Policy != schedFIFO && s.Policy != schedRR && s.Policy != schedDeadline {
			old := s.Nice
			s.Nice = to
			if err = c.sh.cfg.Machine.SetScheduling(pid, s); err == nil {
				c.Printf("%d (process ID) old priority %d, new priority %d\n", pid, old, to)
			}
		}
		if err != nil {
			fmt.Fprintf(c.Stderr, "renice: failed to set priority for %d (process ID): %s\n", pid, tool.Reason(tracefile.Errno(err)))
			status = 1
		}
	}
	return status
}

// taskset runs a command on one CPU, which matters to timerlat_fd.
func taskset(c *call) int {
	if len(c.Args) < 3 || c.Args[0] != "-c" {
		return c.Usage("want -c, a CPU and a command")
	}
	cpu, err := strconv.Atoi(c.Args[1])
	if err != nil || cpu < 0 {
		return c.Usage("failed to parse CPU list: %s", c.Args[1])
	}
	if cpu >= max(c.sh.cfg.CPUs, 1) {
		fmt.Fprintf(c.Stderr, "taskset: failed to set pid 0's affinity: Invalid argument\n")
		return 1
	}
	pinned := *c
	pinned.Ctx = tracefile.WithCaller(c.Ctx, func() tracefile.Caller {
		return tracefile.Caller{Comm: c.Args[2], CPU: cpu, Pinned: true}
	})
	return pinned.onward(c.Args[2:])
}
