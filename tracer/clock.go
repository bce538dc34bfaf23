package tracer

import (
	"fmt"
	"strings"
	"syscall"
)

// clock is one row of trace_clock: a view of simulated time.
//
// Kernel: trace_clocks, kernel/trace/trace.c.
type clock struct {
	name string
	// inNS says that its unit is the nanosecond; text prints others as they are.
	inNS bool
	// read turns a CPU's simulated nanoseconds into the clock's value. calls
	// counts the readings (the counter clock is nothing else).
	read func(ns uint64, calls *uint64) uint64
}

// The simulated machine's constants behind its clocks.
const (
	tickNS     = 4_000_000     // HZ=250, as Debian builds
	userTickNS = 10_000_000    // USER_HZ=100, the unit of uptime
	tscPerUS   = 2_100         // a 2.1 GHz time stamp counter
	bootEpoch  = 1_780_000_000 // seconds of CLOCK_TAI at boot
)

// taiOffset is how far TAI is ahead of UTC, in seconds.
const taiOffset = 37

// realTime is CLOCK_REALTIME at a time since boot, in ns.
func realTime(ns uint64) uint64 { return (bootEpoch-taiOffset)*1_000_000_000 + ns }

func asNS(ns uint64, _ *uint64) uint64 { return ns }

// clocks lists them in the order of trace_clock. All but tai, counter, uptime
// and x86-tsc read the same simulated nanoseconds: a simulated machine has no
// drift between CPUs and no clock adjustment.
//
// Departure: the mono, mono_raw, boot, perf, local and global clocks agree to
// the nanosecond; on real hardware they differ by drift and by time asleep.
var clocks = []clock{
	{"local", true, asNS},
	{"global", true, asNS},
	{"counter", false, func(_ uint64, calls *uint64) uint64 { *calls++; return *calls }},
	{"uptime", false, func(ns uint64, _ *uint64) uint64 { return ns / tickNS * tickNS / userTickNS }},
	{"perf", true, asNS},
	{"mono", true, asNS},
	{"mono_raw", true, asNS},
	{"boot", true, asNS},
	{"tai", true, func(ns uint64, _ *uint64) uint64 { return bootEpoch*1_000_000_000 + ns }},
	{"x86-tsc", false, func(ns uint64, _ *uint64) uint64 { return ns/1000*tscPerUS + ns%1000*tscPerUS/1000 }},
}

// showClock is the text of trace_clock.
func (tr *Instance) showClock() string {
	words := make([]string, len(clocks))
	for n := range clocks {
		words[n] = clocks[n].name
		if &clocks[n] == tr.clock {
			words[n] = "[" + words[n] + "]"
		}
	}
	return strings.Join(words, " ") + "\n"
}

// clockWord bounds a write to trace_clock.
const clockWord = 64

// writeClock is a write to trace_clock, blanks around the name allowed.
//
// Kernel: tracing_clock_write, kernel/trace/trace.c.
func (tr *Instance) writeClock(s string) error {
	if len(s) >= clockWord {
		return fmt.Errorf("trace_clock: %d bytes: %w", len(s), syscall.EINVAL)
	}
	return tr.setClock(strings.TrimSpace(s))
}

// setClock switches to another clock. Old stamps would make no sense beside
// new ones, so the buffer is emptied.
//
// Kernel: tracing_set_clock, kernel/trace/trace.c.
func (tr *Instance) setClock(name string) error {
	for n := range clocks {
		if clocks[n].name == name {
			tr.clock = &clocks[n]
			tr.clockCalls = 0
			tr.resetBuffer()
			tr.resetSnapshot()
			return nil
		}
	}
	return fmt.Errorf("trace_clock %q: %w", name, syscall.EINVAL)
}

// now is the buffer's clock on cpu.
func (tr *Instance) now(cpu int) uint64 {
	return tr.clock.read(tr.ft.cpuTime(cpu), &tr.clockCalls)
}
