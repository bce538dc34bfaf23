package klog

import (
	"fmt"
	"strings"
	"syscall"
)

// maxWrite is how much can be written to /dev/kmsg at once.
//
// Kernel: PRINTKRB_RECORD_MAX, kernel/printk/internal.h.
const maxWrite = 1024

// Limit is the limit on what one open /dev/kmsg writes: 10 messages in 5 seconds. Its zero
// value has seen no message.
//
// Kernel: ratelimit_default_init and ___ratelimit, lib/ratelimit.c.
type Limit struct {
	begun           bool
	begin           uint64
	printed, missed int
}

const (
	limitInterval = 5e9 // ns
	limitBurst    = 10
)

// allows reports whether another message may be written now.
func (m *Limit) allows(now uint64) bool {
	if !m.begun || now > m.begin+limitInterval {
		m.begun, m.begin, m.printed = true, now, 0
	}
	if m.printed == limitBurst {
		m.missed++
		return false
	}
	m.printed++
	return true
}

// Write adds what a process writes to /dev/kmsg in one write(2): a priority in angle
// brackets, if there is one, and the message, which ends at a NUL. What exceeds the limit is
// taken and dropped. Errors: EINVAL for more than 1024 bytes.
//
// Kernel: devkmsg_write.
func (l *Log) Write(by Source, time uint64, m *Limit, p []byte) error {
	if len(p) > maxWrite {
		return fmt.Errorf("kmsg: a message of %d bytes: %w", len(p), syscall.EINVAL)
	}
	if !m.allows(time) {
		return nil
	}
	text, _, _ := strings.Cut(string(p), "\x00")
	f, level, text := parsePriority(text)
	l.Print(by, time, f, level, text)
	return nil
}

// Release says how many messages of a /dev/kmsg that is closed were dropped.
//
// Kernel: ratelimit_state_exit, include/linux/ratelimit.h.
func (l *Log) Release(by Source, time uint64, m *Limit) {
	if m.missed > 0 {
		l.Print(by, time, Kern, Warning, fmt.Sprintf("printk: %s: %d output lines suppressed due to ratelimiting\n", by.Comm, m.missed))
	}
	m.missed = 0
}

// parsePriority takes the priority in angle brackets from the beginning of a message. It is
// a decimal number: its lowest three bits are the level, the next eight the facility, which is
// User if they are 0. No digits are 0, and a number that is too large keeps its lowest 32
// bits. A message that does not begin in this way is taken as it is.
//
// Kernel: devkmsg_write, simple_strtoul (lib/vsprintf.c).
func parsePriority(text string) (f Facility, level Level, rest string) {
	after, ok := strings.CutPrefix(text, "<")
	number, digits := uint32(0), 0
	for ; digits < len(after) && after[digits]-'0' < 10; digits++ {
		number = number*10 + uint32(after[digits]-'0')
	}
	if !ok || digits == len(after) || after[digits] != '>' {
		return User, Default, text
	}
	if f = Facility(number >> 3 & 0xff); f == 0 {
		f = User
	}
	return f, Level(number & 7), after[digits+1:]
}
