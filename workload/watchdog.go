package workload

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
)

// Watchdog is the detector of hard lockups. Every CPU takes an NMI each time it has run
// for as many seconds as kernel.watchdog_thresh says.
//
// Departure: the watchdog is off until kernel.nmi_watchdog is set, as with the boot
// parameter nmi_watchdog=0. A kernel switches it on at boot if the CPUs can count their
// cycles. No lockup is ever detected.
//
// Kernel: kernel/watchdog.c.
type Watchdog struct {
	lab       Lab
	on        uint64
	threshold uint64 // in seconds
}

// NewWatchdog makes the watchdog of lab's machine, which is off.
func NewWatchdog(lab Lab) *Watchdog { return &Watchdog{lab: lab, threshold: 10} }

// maxWatchdogThreshold is the largest kernel.watchdog_thresh.
const maxWatchdogThreshold = 60

// Files gives nmi_watchdog and watchdog_thresh of /proc/sys/kernel.
//
// Kernel: proc_nmi_watchdog and proc_watchdog_thresh.
func (w *Watchdog) Files() []*tracefile.File {
	return []*tracefile.File{
		w.file("nmi_watchdog", &w.on, 1), w.file("watchdog_thresh", &w.threshold, maxWatchdogThreshold),
	}
}

func (w *Watchdog) file(name string, value *uint64, most uint64) *tracefile.File {
	return tracefile.Value(name, 0o644,
		func() (text string) {
			_ = w.lab.Do(func(*machine.Machine) error { text = strconv.FormatUint(*value, 10) + "\n"; return nil }) // returns no error
			return text
		},
		func(text string) error {
			n, err := tracefile.ParseUlong(strings.TrimLeft(text, " \t"), 0)
			if err != nil || n > most {
				return fmt.Errorf("%s: %q: want 0 to %d: %w", name, text, most, syscall.EINVAL)
			}
			return w.lab.Do(func(m *machine.Machine) error {
				if *value != n {
					*value = n
					m.SetNMIWatchdog(machine.Time(w.on*w.threshold) * machine.Second)
				}
				return nil
			})
		})
}
