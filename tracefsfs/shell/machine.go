package shell

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"ftracelab/internal/userland/tool"
)

// Module is a loaded module, as lsmod lists it.
type Module struct {
	Name string
	Refs int // how many need it
}

// Machine is what some commands do to the simulated machine; all of them let its
// time pass until they are done.
type Machine interface {
	Modprobe(name string, params []string) error
	Rmmod(name string) error
	Modules() []Module
	// Start starts a process named comm as a task of the machine. It sleeps for sleep, or
	// computes for work, or else does a little. exited tells whether it has ended.
	Start(comm string, sleep, work time.Duration, s Scheduling) (exited func() bool, err error)
	// Tasks gives the tasks of the machine in the order of their pids.
	Tasks() []Task
	// Scheduling and SetScheduling are about any task of the machine, by its pid.
	Scheduling(pid int) (Scheduling, error)
	SetScheduling(pid int, s Scheduling) error
	// Syslog does something to the kernel's log, as syslog(2) does: SyslogClear and so on.
	Syslog(action, level int) error
	// Ring draws the ring buffer of a CPU; instance "" is the top one. An instance or a
	// CPU that is not there is ENOENT.
	Ring(instance string, cpu int) (string, error)
}

var errNoMachine = errors.New("the lab has no machine")

// modprobe loads modules of the kernel's selftests; insmod takes a path.
func modprobe(c *call) int {
	remove := false
	var words []string
	for _, arg := range c.Args {
		switch {
		case arg == "-r":
			remove = true
		case strings.HasPrefix(arg, "-") && len(words) == 0:
			return c.Usage("%s is not in the lab", arg)
		default:
			words = append(words, arg)
		}
	}
	if len(words) == 0 {
		return c.Usage("missing module name")
	}
	if remove {
		return c.eachModule(words, func(name string) error { return c.sh.cfg.Machine.Rmmod(name) })
	}
	return c.eachModule(words[:1], func(name string) error { return c.sh.cfg.Machine.Modprobe(name, words[1:]) })
}

func rmmod(c *call) int {
	if len(c.Args) == 0 {
		return c.Usage("missing module name")
	}
	return c.eachModule(c.Args, func(name string) error { return c.sh.cfg.Machine.Rmmod(name) })
}

// eachModule does something to modules and tells as kmod does what went wrong.
func (c *call) eachModule(names []string, do func(name string) error) int {
	c.Stdout.Flush()
	status := 0
	for _, name := range names {
		err := errNoMachine
		if c.sh.cfg.Machine != nil {
			err = do(name)
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, syscall.EBUSY) && c.Name == "rmmod":
			fmt.Fprintf(c.Stderr, "rmmod: ERROR: Module %s is in use\n", name)
		case errors.Is(err, syscall.EBUSY):
			fmt.Fprintf(c.Stderr, "modprobe: FATAL: Module %s is in use.\n", name)
		case !errors.Is(err, syscall.ENOENT):
			fmt.Fprintf(c.Stderr, "%s: ERROR: could not insert '%s': %s\n", c.Name, name, tool.Reason(err))
		case c.Name == "rmmod":
			fmt.Fprintf(c.Stderr, "rmmod: ERROR: Module %s is not currently loaded\n", name)
		case c.Name == "insmod":
			fmt.Fprintf(c.Stderr, "insmod: ERROR: could not load module %s: %s\n", name, tool.Reason(err))
		default:
			fmt.Fprintf(c.Stderr, "modprobe: FATAL: Module %s not found in directory /lib/modules/%s\n", name, kernelRelease)
		}
		status = 1
	}
	return status
}

func lsmod(c *call) int {
	c.Printf("%-20s%8s  Used by\n", "Module", "Size")
	if c.sh.cfg.Machine != nil {
		for _, m := range c.sh.cfg.Machine.Modules() {
			c.Printf("%-19s %8d  %d\n", m.Name, moduleBytes, m.Refs)
		}
	}
	return 0
}

// moduleBytes is the size that modules are said to have.
const moduleBytes = 16384

// ring draws the ring buffers of an instance.
func ring(c *call) int {
	opts, words, ok := c.Options("i:")
	if !ok {
		return 2
	}
	instance := ""
	for _, o := range opts {
		instance = o.Arg
	}
	cpus := make([]int, c.sh.cfg.CPUs)
	for cpu := range cpus {
		cpus[cpu] = cpu
	}
	if len(words) > 0 {
		cpus = cpus[:0]
	}
	for _, word := range words {
		cpu := tool.ToInt(word)
		if cpu < 0 {
			return c.Usage("%q is no CPU", word)
		}
		cpus = append(cpus, cpu)
	}
	if c.sh.cfg.Machine == nil {
		c.Fail("ring buffer", errNoMachine)
		return 1
	}
	for _, cpu := range cpus {
		drawing, err := c.sh.cfg.Machine.Ring(instance, cpu)
		if err != nil {
			c.Fail(fmt.Sprintf("CPU %d", cpu), err)
			return 1
		}
		c.Printf("CPU %d\n%s", cpu, drawing)
	}
	return 0
}
