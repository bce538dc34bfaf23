package machine

import (
	"fmt"
	"strings"

	"ftracelab/machine/klog"
)

// Log is the kernel's log. Its messages are the machine's own, never the host's.
func (m *Machine) Log() *klog.Log { return m.log }

// Printk writes a message of the kernel, to which it adds a newline, to its log: the
// current task of c says it.
//
// Kernel: _printk, kernel/printk/printk.c.
func (c *CPU) Printk(level klog.Level, format string, args ...any) {
	c.m.print(klog.Source{CPU: c.ID}, max(c.m.now, c.Time), level, format, args)
}

// Printk writes a message of the kernel that somebody outside the machine causes.
func (m *Machine) Printk(level klog.Level, format string, args ...any) {
	m.print(klog.Shell, m.now, level, format, args)
}

func (m *Machine) print(by klog.Source, now Time, level klog.Level, format string, args []any) {
	m.log.Print(by, now, klog.Kern, level, fmt.Sprintf(format, args...)+"\n")
}

// logBoot writes what the kernel says of itself when it boots. The parameters that nobody
// knows are those that a boot loader adds.
//
// Departure: most messages of a boot are about hardware, which the machine does not have.
// All messages have the time at which the machine begins.
//
// Kernel: start_kernel, init/main.c.
func (m *Machine) logBoot() {
	by := klog.Source{}
	say := func(level klog.Level, format string, args ...any) { m.print(by, m.now, level, format, args) }
	say(klog.Notice, "%s", strings.TrimSuffix(Banner, "\n"))
	say(klog.Info, "Command line: %s", m.cfg.Cmdline)
	for _, name := range m.cfg.Malformed {
		say(klog.Warning, "Malformed early option '%s'", name)
	}
	say(klog.Notice, "Kernel command line: %s", m.cfg.Cmdline)
	var unknown []string
	for word := range strings.FieldsSeq(m.cfg.Cmdline) {
		if strings.HasPrefix(word, "BOOT_IMAGE=") {
			unknown = append(unknown, word)
		}
	}
	if len(unknown) > 0 {
		say(klog.Notice, "Unknown kernel command line parameters \"%s\", will be passed to user space.", strings.Join(unknown, " "))
	}
}
