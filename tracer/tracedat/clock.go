package tracedat

import (
	"strconv"
	"strings"
)

// ChosenClock gives the word in brackets in a text such as that of trace_clock.
func ChosenClock(text string) string {
	_, rest, ok := strings.Cut(text, "[")
	if !ok {
		return ""
	}
	word, _, _ := strings.Cut(rest, "]")
	return strings.TrimSpace(word)
}

// CounterClock reports whether the times count something other than nanoseconds.
func (f *File) CounterClock() bool {
	clock := ""
	if o, ok := f.Option(OptionTraceClock); ok {
		clock = ChosenClock(o.Text())
	}
	if f.Version == Version6 && len(f.Buffers) > 0 && f.Buffers[0].Clock != "" {
		clock = f.Buffers[0].Clock
	}
	switch clock {
	case "", "local", "global", "uptime", "perf", "tai", "tsc2nsec":
		return false
	}
	return !strings.HasPrefix(clock, "mono")
}

// TimeOffset is the number of nanoseconds that the options add to all times.
func (f *File) TimeOffset() int64 {
	var sum int64
	for _, o := range f.Options {
		unit := int64(0)
		switch o.ID {
		case OptionDate:
			unit = 1000
		case OptionOffset:
			unit = 1
		default:
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(o.Text()), 0, 64); err == nil {
			sum += unit * n
		}
	}
	return sum
}
