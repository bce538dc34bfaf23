package capture

import (
	"fmt"
	"strconv"
	"strings"

	"ftracelab/tracer/output"
)

// momentField is a line of state.txt whose value no file of a kernel tells.
type momentField struct {
	name  string
	value any // *uint64, *int64, *int32, *uint32, *int, *string
}

// momentFields gives the lines that [Moment] writes, with the variables that hold their
// values.
func momentFields(began *uint64, l *output.Latency) []momentField {
	return []momentField{
		{"time_start", began},
		{"latency_release", &l.Release},
		{"latency_model", &l.Model},
		{"latency_us", &l.Microseconds},
		{"latency_cpu", &l.CPU},
		{"latency_comm", &l.Comm},
		{"latency_pid", &l.PID},
		{"latency_uid", &l.UID},
		{"latency_nice", &l.Nice},
		{"latency_policy", &l.Policy},
		{"latency_rt_prio", &l.RTPriority},
		{"latency_start", &l.Start},
		{"latency_end", &l.End},
	}
}

// Moment makes the lines of state.txt for what only the latency format shows: when the
// buffer was reset, and what its header says about the latency.
func Moment(began uint64, l output.Latency) []byte {
	var text []byte
	for _, f := range momentFields(&began, &l) {
		switch v := f.value.(type) {
		case *uint64:
			text = fmt.Appendf(text, "%s: %d\n", f.name, *v)
		case *int64:
			text = fmt.Appendf(text, "%s: %d\n", f.name, *v)
		case *int32:
			text = fmt.Appendf(text, "%s: %d\n", f.name, *v)
		case *uint32:
			text = fmt.Appendf(text, "%s: %d\n", f.name, *v)
		case *int:
			text = fmt.Appendf(text, "%s: %d\n", f.name, *v)
		case *string:
			text = fmt.Appendf(text, "%s: %q\n", f.name, *v)
		}
	}
	return text
}

// readMoment reads what Moment wrote; shown is the file's name in errors.
func (t *Trace) readMoment(shown string) error {
	for _, f := range momentFields(&t.began, &t.latency) {
		text, ok := t.state[f.name]
		if !ok {
			continue
		}
		if s, is := f.value.(*string); is {
			if v, err := strconv.Unquote(text); err == nil {
				text = v
			}
			*s = strings.Clone(text)
			continue
		}
		if _, err := fmt.Sscan(text, f.value); err != nil {
			return fileError(shown, f.name+" "+excerpt([]byte(text)), cause(err))
		}
		t.beganKnown = t.beganKnown || f.name == "time_start"
	}
	return nil
}
