package probe

import (
	"strings"
	"syscall"
)

// maxEventName is the room for the name of a group or event, its NUL included.
const maxEventName = 64

// maxArgs is how many arguments a probe may have.
const maxArgs = 128

// words splits a definition at its blanks; it ends at a NUL.
//
// Kernel: argv_split, lib/argv_split.c.
func words(text string) []string {
	text, _, _ = strings.Cut(text, "\x00")
	var argv []string
	for i := 0; i < len(text); {
		if isSpace(text[i]) {
			i++
			continue
		}
		start := i
		for i < len(text) && !isSpace(text[i]) {
			i++
		}
		argv = append(argv, text[start:i])
	}
	return argv
}

// Characters are bytes of Latin-1, as in the kernel.
//
// Kernel: _ctype, lib/ctype.c.

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' || c == 0xa0 }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isAlpha(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0xc0 && c != 0xd7 && c != 0xf7
}

// isName reports whether s can name an event, a group or a field. also is a character
// that is allowed besides letters, digits and _.
//
// Kernel: is_good_name, is_good_system_name, kernel/trace/trace.h.
func isName(s string, also byte) bool {
	for i := range len(s) {
		c := s[i]
		if !isAlpha(c) && c != '_' && (also == 0 || c != also) && (i == 0 || !isDigit(c)) {
			return false
		}
	}
	return s != ""
}

// sanitize makes the name of an event from the name of a function.
//
// Kernel: sanitize_event_name, kernel/trace/trace.h, leaves the first character as it
// is.
func sanitize(name string) string {
	if name == "" {
		return ""
	}
	name = clipName(name)
	return name[:1] + strings.NewReplacer(":", "_", ".", "_", "*", "_").Replace(name[1:])
}

// clipName cuts a name to the length for which there is room.
func clipName(name string) string { return name[:min(len(name), maxEventName-1)] }

// eventName splits "GROUP/EVENT", "GROUP.EVENT" or "EVENT", which stands at an offset
// of the present word. The group is "" if none is given; the event is "" if only a
// group is given.
//
// Kernel: traceprobe_parse_event_name, kernel/trace/trace_probe.c.
func (l *faultLog) eventName(s string, offset int) (group, name string, err error) {
	slash := strings.IndexByte(s, '/')
	if slash < 0 {
		slash = strings.IndexByte(s, '.')
	}
	if slash >= 0 {
		switch {
		case slash == 0:
			return "", "", l.fail(offset, errNoGroupName)
		case slash+1 > maxEventName:
			return "", "", l.fail(offset, errGroupTooLong)
		case !isName(s[:slash], '-'):
			return "", "", l.fail(offset, errBadGroupName)
		}
		group, s = s[:slash], s[slash+1:]
		offset += slash + 1
	}
	switch {
	case s == "" && slash >= 0:
		return group, "", nil
	case s == "":
		return "", "", l.fail(offset, errNoEventName)
	case len(s) >= maxEventName:
		return "", "", l.fail(offset, errEventTooLong)
	case !isName(s, 0):
		return "", "", l.fail(offset, errBadEventName)
	}
	return group, s, nil
}

// nameOf reads the group and the event's name, which follow a colon in the first word
// of a definition. Before, d has the default group of its kind.
func (l *faultLog) nameOf(d *Definition, colon int) error {
	if colon < 0 {
		return nil
	}
	group, name, err := l.eventName(l.argv[0][colon+1:], colon+1)
	if err != nil {
		return err
	}
	if group != "" {
		d.Group = group
	}
	d.Event = name
	return nil
}

// colonOf gives the place of the colon in the first word; -1 if there is none.
func colonOf(word string) int {
	if i := strings.IndexByte(word[1:], ':'); i >= 0 {
		return i + 1
	}
	return -1
}

// maxMaxActive is the most calls that can be followed at a time.
//
// Kernel: KRETPROBE_MAXACTIVE_MAX, RETHOOK_MAXACTIVE_MAX.
const maxMaxActive = 4096

// maxActive reads the number after the letter of the first word; 0 if there is none.
func (l *faultLog) maxActive(colon int) (int, error) {
	word := l.argv[0]
	if len(word) < 2 || !isDigit(word[1]) {
		return 0, nil
	}
	digits := word[1:]
	if colon >= 0 {
		digits = word[1:colon]
	}
	n, err := parseUint32(digits)
	switch {
	case len(digits) > maxEventName-1, err != nil, n == 0:
		return 0, l.fail(1, errBadMaxActive)
	case n > maxMaxActive:
		return 0, l.fail(1, errMaxActiveTooBig)
	}
	return int(n), nil
}

// limit gives the error if there are more arguments than a probe may have.
func limit(args []string) error {
	if len(args) > maxArgs {
		return syscall.E2BIG
	}
	return nil
}
