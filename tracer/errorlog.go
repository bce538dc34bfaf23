package tracer

import (
	"fmt"
	"strings"
)

// errorLog keeps the latest faults of commands written to an instance's files,
// as error_log shows them.
//
// Kernel: tracing_log_err, kernel/trace/trace.c.
type errorLog struct {
	entries []errorEntry
}

// errorEntry is one fault: where, in which command, at which column.
type errorEntry struct {
	ns       uint64
	location string // "event filter parse error", "hist:sched:sched_switch", …
	message  string
	command  string
	pos      int
}

const errorLogLength = 8

// add appends an entry. If the log is full, the oldest entry is dropped.
func (l *errorLog) add(e errorEntry) {
	if len(l.entries) == errorLogLength {
		l.entries = append(l.entries[:0], l.entries[1:]...)
	}
	l.entries = append(l.entries, e)
}

func (l *errorLog) clear() { l.entries = nil }

// show is the text of error_log.
//
// Kernel: tracing_err_log_seq_show, kernel/trace/trace.c.
func (l *errorLog) show() string {
	var text strings.Builder
	for _, e := range l.entries {
		us := (e.ns + 500) / 1000
		fmt.Fprintf(&text, "[%5d.%06d] %s: error: %s\n  Command: %s\n", us/1e6, us%1e6, e.location, e.message, e.command)
		fmt.Fprintf(&text, "%s^\n", strings.Repeat(" ", len("  Command: ")+e.pos))
	}
	return text.String()
}
