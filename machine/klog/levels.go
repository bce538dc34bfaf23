package klog

import (
	"fmt"
	"syscall"
)

// Levels are the numbers of /proc/sys/kernel/printk: messages with a level below the first
// appear on the console, messages without a level get the second, the console's level is
// never set below the third, and the fourth is its level at boot.
func (l *Log) Levels() [4]int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.levels
}

// SetLevels sets them. Any numbers are taken.
//
// Kernel: printk_sysctls, kernel/printk/sysctl.c.
func (l *Log) SetLevels(levels [4]int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.levels = levels
}

// SetConsoleLevel sets the console's level, and switches the console on. Errors: EINVAL
// unless it is 1 to 8.
//
// Kernel: SYSLOG_ACTION_CONSOLE_LEVEL, do_syslog.
func (l *Log) SetConsoleLevel(level int) error {
	if level < 1 || level > 8 {
		return fmt.Errorf("a console has no level %d: %w", level, syscall.EINVAL)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.levels[consoleLevel] = max(int32(level), l.levels[leastConsoleLevel])
	l.saved = -1
	return nil
}

// SetConsole switches the console off, so that only the most urgent messages appear there,
// or on again.
//
// Kernel: SYSLOG_ACTION_CONSOLE_OFF and SYSLOG_ACTION_CONSOLE_ON, do_syslog.
func (l *Log) SetConsole(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !on:
		if l.saved == -1 {
			l.saved = l.levels[consoleLevel]
		}
		l.levels[consoleLevel] = l.levels[leastConsoleLevel]
	case l.saved != -1:
		l.levels[consoleLevel], l.saved = l.saved, -1
	}
}
