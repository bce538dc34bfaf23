package klog

import (
	"fmt"
	"strings"
)

// AppendLines appends the record as the console shows it: each line of its text with the
// time in front.
//
// Kernel: record_print_text and print_time.
func (r *Record) AppendLines(dst []byte) []byte { return r.appendLines(dst, "") }

// AppendSyslog appends the record as syslog(2) gives it, where the priority is in front of
// the time.
//
// Kernel: print_syslog.
func (r *Record) AppendSyslog(dst []byte) []byte {
	return r.appendLines(dst, fmt.Sprintf("<%d>", r.Priority()))
}

func (r *Record) appendLines(dst []byte, prefix string) []byte {
	for line := range strings.SplitSeq(r.Text, "\n") {
		dst = append(dst, prefix...)
		dst = append(r.AppendTime(dst), ' ')
		dst = append(dst, line...)
		dst = append(dst, '\n')
	}
	return dst
}

// AppendTime appends the time in brackets: seconds with six places.
//
// Kernel: print_time.
func (r *Record) AppendTime(dst []byte) []byte {
	return fmt.Appendf(dst, "[%5d.%06d]", r.Time/1e9, r.Time%1e9/1e3)
}

// Priority is facility and level in one number.
func (r *Record) Priority() uint32 { return uint32(r.Facility)<<3 | uint32(r.Level) }

// AppendKmsg appends the record as /dev/kmsg gives it: priority, number, time in
// microseconds and flags, then the text, in which every byte that is not printable, and the
// backslash, is \xNN.
//
// Departure: the flag is always "-". The simulated kernel continues no line.
//
// Kernel: info_print_ext_header, msg_print_ext_body.
func (r *Record) AppendKmsg(dst []byte) []byte {
	dst = fmt.Appendf(dst, "%d,%d,%d,-;", r.Priority(), r.Seq, r.Time/1e3)
	for n := range len(r.Text) {
		if c := r.Text[n]; c < ' ' || c >= 127 || c == '\\' {
			dst = fmt.Appendf(dst, `\x%02x`, c)
		} else {
			dst = append(dst, c)
		}
	}
	return append(dst, '\n')
}
