package machine

import (
	"fmt"
	"syscall"

	"ftracelab/machine/klog"
)

// presence says how far a CPU is on its way offline.
type presence uint8

const (
	present presence = iota
	leaving          // gets no more tasks, and goes offline as soon as it halts
	absent           // offline: executes nothing, and tasks that are bound to it wait
)

// Online reports whether c is online.
func (c *CPU) Online() bool { return c.presence != absent }

// OnlineCPUs is the number of CPUs that are online.
func (m *Machine) OnlineCPUs() (n int) {
	for _, c := range m.cpus {
		if c.Online() {
			n++
		}
	}
	return n
}

// HotplugWorkload is a Workload that is told when a CPU comes back online. Such a CPU
// has lost all interrupts that it was to take.
type HotplugWorkload interface {
	Workload
	CPUOnline(c *CPU)
}

// SetOnline takes a CPU online or offline. A CPU goes offline only a few steps later,
// when its task has come to a place where it can be moved. Errors: EINVAL if there is
// no such CPU, EPERM for CPU 0, which has to stay online.
//
// Departure: no hotplug thread runs, so the functions and events of the hotplug states
// are missing.
//
// Kernel: cpu_device_up and cpu_device_down, kernel/cpu.c.
func (m *Machine) SetOnline(id int, on bool) error {
	if id < 0 || id >= len(m.cpus) {
		return fmt.Errorf("cpu%d: %w", id, syscall.EINVAL)
	}
	if id == 0 && !on {
		return fmt.Errorf("cpu%d cannot go offline: %w", id, syscall.EPERM)
	}
	c := m.cpus[id]
	m.touchAll()
	switch {
	case !on && c.presence == present:
		m.hotplug(c, false)
		c.presence = leaving
		c.moveQueue()
		if c.halted && len(c.rq) == 0 {
			c.vanish()
		}
	case on && c.presence == leaving:
		c.presence = present
		m.hotplug(c, true)
	case on && c.presence == absent:
		c.presence = present
		c.Time = m.now
		m.Printk(klog.Info, "smpboot: Booting Node 0 Processor %d APIC 0x%x", c.ID, c.ID)
		if w, ok := m.kernel.Workload.(HotplugWorkload); ok {
			w.CPUOnline(c)
		}
		if len(c.rq) > 0 {
			c.kick(c)
		}
		m.hotplug(c, true)
	}
	return nil
}

func (m *Machine) hotplug(c *CPU, online bool) {
	if m.Hooks.Hotplug != nil {
		m.Hooks.Hotplug(c, online)
	}
}

// moveQueue moves the tasks that wait for c to other CPUs.
//
// Kernel: balance_push, kernel/sched/core.c.
func (c *CPU) moveQueue() {
	queue := c.rq
	c.rq = nil
	for _, t := range queue {
		if t.bound {
			c.rq = append(c.rq, t)
		} else {
			c.moveAway(t)
		}
	}
}

func (c *CPU) moveAway(t *Task) {
	dst := c.target(t)
	c.reportMigrate(t, c, dst)
	dst.enqueue(t)
	dst.kick(c)
}

// pushAway moves the current task, which is not inside kernel code, off a CPU that is
// leaving.
func (c *CPU) pushAway() {
	t := c.Current
	c.NeedResched = false
	t.userLeft = 0
	c.pick(c.takeNext(), StatePreempted)
	c.switchNow()
	c.advance()
}

// vanish takes a CPU offline that has halted. Timers of tasks that may run elsewhere
// move to another CPU. So do the interrupts of block devices, because tasks wait for
// them.
func (c *CPU) vanish() {
	c.presence = absent
	c.m.Printk(klog.Info, "smpboot: CPU %d is now offline", c.ID)
	irqs := c.irqs
	c.irqs, c.kicked = nil, false
	for _, irq := range irqs {
		switch {
		case irq.budget != nil, irq.Request != nil:
			c.m.cpus[0].queue(irq) // CPU 0 never goes offline
		case irq.Task == nil:
		case irq.Task.bound && irq.Task.home == nil:
			c.irqs = append(c.irqs, irq)
		default:
			c.target(irq.Task).queue(irq)
		}
	}
}
