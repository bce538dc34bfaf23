package rv

import (
	"fmt"
	"strings"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
)

// Files gives the folder rv. As in a kernel, numbers and the description end with a
// NUL.
//
// Kernel: rv_init_interface and create_monitor_dir, kernel/trace/rv/rv.c;
// init_rv_reactors, rv_reactors.c.
func (r *RV) Files() tracefile.Node {
	text := func(name, s string) tracefile.Node {
		return r.ft.Value(name, 0o440, func() string { return s }, nil)
	}
	return &tracefile.Dir{Name: "rv", Mode: 0o750, Children: func() []tracefile.Node {
		return []tracefile.Node{
			text("available_monitors", "wwnr\n"),
			text("available_reactors", "nop\n"),
			r.ft.Seq("enabled_monitors", 0o640, func() ([]byte, error) {
				if r.enabled {
					return []byte("wwnr\n"), nil
				}
				return nil, nil
			}).OnTrunc(func() error {
				return r.ft.Locked(func() error { r.enable(false); return nil })
			}).OnWrite(func(p []byte) error { return r.ft.Locked(func() error { return r.writeMonitors(string(p)) }) }),
			r.boolean("monitoring_on", func() bool { return !r.off }, func(on bool) {
				if on && r.off {
					r.reset()
				}
				r.off = !on
			}),
			r.boolean("reacting_on", func() bool { return !r.quiet }, func(on bool) { r.quiet = !on }),
			&tracefile.Dir{Name: "monitors", Mode: 0o750, Children: func() []tracefile.Node {
				return []tracefile.Node{&tracefile.Dir{Name: "wwnr", Mode: 0o750, Children: func() []tracefile.Node {
					return []tracefile.Node{
						r.boolean("enable", func() bool { return r.enabled }, r.enable),
						text("desc", "wakeup while not running per-task testing model.\n\x00"),
						r.ft.Seq("reactors", 0o640, func() ([]byte, error) { return []byte("[nop]\n"), nil }).OnWrite(writeReactor),
					}
				}}}
			}},
		}
	}}
}

// boolean makes a file that holds 1 or 0.
func (r *RV) boolean(name string, get func() bool, set func(bool)) tracefile.Node {
	show := func() string {
		if get() {
			return "1\n\x00"
		}
		return "0\n\x00"
	}
	return r.ft.Value(name, 0o640, show, func(text string) error {
		on, err := tracefile.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		set(on)
		return nil
	})
}

// The longest name of a monitor or reactor.
//
// Kernel: MAX_RV_MONITOR_NAME_SIZE and MAX_RV_REACTOR_NAME_SIZE, kernel/trace/rv/rv.h.
const maxRVName = 32

// writeMonitors takes the name of a monitor and enables it, or disables it if the name
// follows a !.
//
// Kernel: enabled_monitors_write.
func (r *RV) writeMonitors(text string) error {
	name, off := strings.CutPrefix(tracefile.Stripped(text), "!")
	switch {
	case text == "" || len(text) > maxRVName+1:
	case name == "":
		return nil
	case name == "wwnr":
		r.enable(!off)
		return nil
	}
	return fmt.Errorf("rv/enabled_monitors: no monitor %q: %w", text, syscall.EINVAL)
}

// Kernel: monitor_reactors_write.
func writeReactor(p []byte) error {
	name := tracefile.Stripped(string(p))
	if len(p) == 0 || len(p) > maxRVName+1 || name != "" && name != "nop" {
		return fmt.Errorf("rv/monitors/wwnr/reactors: no reactor %q: %w", p, syscall.EINVAL)
	}
	return nil
}
