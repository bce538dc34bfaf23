// Package clock has the clocks of trace_clock: views of simulated time.
package clock

// Clock is one row of trace_clock.
//
// Kernel: trace_clocks, kernel/trace/trace.c.
type Clock struct {
	Name string
	// InNS says that its unit is the nanosecond; text prints others as they are.
	InNS bool
	read func(ns uint64, calls *uint64) uint64 // nil: it is the simulated nanoseconds
}

// Read turns a CPU's simulated nanoseconds into the clock's value. calls counts the
// readings; the counter clock is nothing else.
func (c *Clock) Read(ns uint64, calls *uint64) uint64 {
	if c.read == nil {
		return ns
	}
	return c.read(ns, calls)
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

// RealTime is CLOCK_REALTIME at a time since boot, in ns.
func RealTime(ns uint64) uint64 { return (bootEpoch-taiOffset)*1_000_000_000 + ns }

// All lists them in the order of trace_clock. All but tai, counter, uptime
// and x86-tsc read the same simulated nanoseconds: a simulated machine has no
// drift between CPUs and no clock adjustment.
//
// Departure: the mono, mono_raw, boot, perf, local and global clocks agree to
// the nanosecond; on real hardware they differ by drift and by time asleep.
var All = []Clock{
	{"local", true, nil},
	{"global", true, nil},
	{"counter", false, func(_ uint64, calls *uint64) uint64 { *calls++; return *calls }},
	{"uptime", false, func(ns uint64, _ *uint64) uint64 { return ns / tickNS * tickNS / userTickNS }},
	{"perf", true, nil},
	{"mono", true, nil},
	{"mono_raw", true, nil},
	{"boot", true, nil},
	{"tai", true, func(ns uint64, _ *uint64) uint64 { return bootEpoch*1_000_000_000 + ns }},
	{"x86-tsc", false, func(ns uint64, _ *uint64) uint64 { return ns/1000*tscPerUS + ns%1000*tscPerUS/1000 }},
}

// ByName gives the clock of that name, or nil.
func ByName(name string) *Clock {
	for n := range All {
		if All[n].Name == name {
			return &All[n]
		}
	}
	return nil
}
