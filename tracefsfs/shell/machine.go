package shell

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ftracelab/internal/tracefile"
)

// Machine is what some commands do to the simulated machine; all of them let its
// time pass until they are done.
type Machine interface {
	Modprobe(name string, params []string) error
	Rmmod(name string) error
	Modules() []string
	// Sleep runs sleep(1) as a task of the machine, under a scheduling policy
	// (SCHED_FIFO, …).
	Sleep(policy string, priority int, d time.Duration) error
}

var errNoMachine = errors.New("the lab has no machine")

// modprobe loads modules of the kernel's selftests; insmod takes a path.
func modprobe(c *call) int {
	remove := false
	var words []string
	for _, arg := range c.args {
		switch {
		case arg == "-r":
			remove = true
		case strings.HasPrefix(arg, "-") && len(words) == 0:
			return c.usage("%s is not in the lab", arg)
		default:
			words = append(words, arg)
		}
	}
	if len(words) == 0 {
		return c.usage("missing module name")
	}
	if remove {
		return c.eachModule(words, func(name string) error { return c.sh.cfg.Machine.Rmmod(name) })
	}
	return c.eachModule(words[:1], func(name string) error { return c.sh.cfg.Machine.Modprobe(name, words[1:]) })
}

func rmmod(c *call) int {
	if len(c.args) == 0 {
		return c.usage("missing module name")
	}
	return c.eachModule(c.args, func(name string) error { return c.sh.cfg.Machine.Rmmod(name) })
}

// eachModule does something to modules and tells as kmod does what went wrong.
func (c *call) eachModule(names []string, do func(name string) error) int {
	c.stdout.flush()
	status := 0
	for _, name := range names {
		err := errNoMachine
		if c.sh.cfg.Machine != nil {
			err = do(name)
		}
		switch {
		case err == nil:
			continue
		case !errors.Is(err, syscall.ENOENT):
			fmt.Fprintf(c.stderr, "%s: ERROR: could not insert '%s': %s\n", c.name, name, reason(err))
		case c.name == "rmmod":
			fmt.Fprintf(c.stderr, "rmmod: ERROR: Module %s is not currently loaded\n", name)
		case c.name == "insmod":
			fmt.Fprintf(c.stderr, "insmod: ERROR: could not load module %s: %s\n", name, reason(err))
		default:
			fmt.Fprintf(c.stderr, "modprobe: FATAL: Module %s not found in directory /lib/modules/%s\n", name, kernelRelease)
		}
		status = 1
	}
	return status
}

func lsmod(c *call) int {
	c.printf("%-20s%8s  Used by\n", "Module", "Size")
	if c.sh.cfg.Machine != nil {
		for _, name := range c.sh.cfg.Machine.Modules() {
			c.printf("%-19s %8d  0\n", name, moduleBytes)
		}
	}
	return 0
}

// moduleBytes is the size that modules are said to have.
const moduleBytes = 16384

// policies are chrt's options and the scheduling policies that they name.
var policies = map[string]string{
	"-o": "SCHED_OTHER", "--other": "SCHED_OTHER", "-f": "SCHED_FIFO", "--fifo": "SCHED_FIFO", "-r": "SCHED_RR", "--rr": "SCHED_RR",
	"-b": "SCHED_BATCH", "--batch": "SCHED_BATCH", "-i": "SCHED_IDLE", "--idle": "SCHED_IDLE", "-d": "SCHED_DEADLINE", "--deadline": "SCHED_DEADLINE",
}

// chrt runs sleep under a scheduling policy, as a task of the machine.
//
// Departure: only sleep; the other commands of the lab are no tasks.
func chrt(c *call) int {
	policy, args := "SCHED_RR", c.args
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		option := args[0]
		args = args[1:]
		switch name, value, given := strings.Cut(option, "="); {
		case policies[option] != "":
			policy = policies[option]
		case name == "--sched-runtime", name == "--sched-period", name == "--sched-deadline", option == "-T", option == "-P", option == "-D":
			// Deadline tasks come first whatever their times are.
			if !given && len(args) > 0 {
				value, args = args[0], args[1:]
			}
			if _, err := strconv.ParseUint(value, 10, 64); err != nil {
				return c.usage("invalid time '%s'", value)
			}
		default:
			return c.usage("%s is not in the lab", option)
		}
	}
	if len(args) < 3 || args[1] != "sleep" {
		return c.usage("want a priority and sleep: no other command can be a task here")
	}
	priority, err := strconv.Atoi(args[0])
	realTime := policy == "SCHED_FIFO" || policy == "SCHED_RR"
	if err != nil || realTime != (priority >= 1 && priority <= 99) || !realTime && priority != 0 {
		return c.usage("unsupported priority value for the policy: %s", args[0])
	}
	d, ok := sleepTime(args[2], false)
	if !ok {
		return c.usage("invalid time interval '%s'", args[2])
	}
	c.stdout.flush()
	if err = errNoMachine; c.sh.cfg.Machine != nil {
		err = c.sh.cfg.Machine.Sleep(policy, priority, d)
	}
	if err != nil {
		fmt.Fprintf(c.stderr, "chrt: %s\n", reason(tracefile.Errno(err)))
		return 1
	}
	return 0
}
