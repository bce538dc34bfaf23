package shell

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"ftracelab/tracefsfs/tracefile"
)

// Actions of syslog(2), for Machine.Syslog.
const (
	SyslogClear        = 5
	SyslogConsoleOff   = 6
	SyslogConsoleOn    = 7
	SyslogConsoleLevel = 8
)

// The names of levels and facilities, by their numbers.
var (
	logLevels     = []string{"emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"}
	logFacilities = []string{"kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp"}
)

// dmesgOptions are the long options with the letters that mean the same.
var dmesgOptions = map[string]string{
	"clear": "-C", "read-clear": "-c", "console-off": "-D", "console-on": "-E", "console-level": "-n", "level": "-l", "facility": "-f",
	"kernel": "-k", "userspace": "-u", "decode": "-x", "raw": "-r", "notime": "-t", "ctime": "-T", "show-delta": "-d", "follow": "-w",
	"follow-new": "-W", "syslog": "-S", "nopager": "-P",
}

// logView is how dmesg shows records, and which.
type logView struct {
	levels, facilities         []int // nil: all
	decode, raw, notime, ctime bool
	delta                      bool
	last                       time.Duration // when the record before was written
	any                        bool          // there was one
}

// dmesg prints the kernel's log, or does something to it, like util-linux's.
func dmesg(c *call) int {
	c.Args = slices.Clone(c.Args)
	for n, arg := range c.Args {
		if name, value, _ := strings.Cut(arg, "="); strings.HasPrefix(arg, "--") && dmesgOptions[name[2:]] != "" {
			c.Args[n] = dmesgOptions[name[2:]] + value
		}
	}
	opts, words, ok := c.Options("CcDEPSTWdf:kl:n:rtuwx")
	if !ok {
		return 1
	}
	if len(words) > 0 {
		return c.Usage("%q is no option", words[0])
	}
	v, clears, follow, onlyNew := logView{}, false, false, false
	for _, o := range opts {
		err := error(nil)
		switch o.Flag {
		case 'C':
			return c.syslog("clear kernel buffer failed", SyslogClear, 0)
		case 'D':
			return c.syslog("klogctl failed", SyslogConsoleOff, 0)
		case 'E':
			return c.syslog("klogctl failed", SyslogConsoleOn, 0)
		case 'n':
			level, err := consoleLevel(o.Arg)
			if err != nil {
				return c.Usage("%v", err)
			}
			return c.syslog("klogctl failed", SyslogConsoleLevel, level)
		case 'c':
			clears = true
		case 'w':
			follow = true
		case 'W':
			follow, onlyNew = true, true
		case 'k':
			v.facilities = []int{0}
		case 'u':
			for f := range logFacilities[1:] {
				v.facilities = append(v.facilities, f+1)
			}
		case 'f':
			v.facilities, err = numbersOf("facility", logFacilities, o.Arg)
		case 'l':
			v.levels, err = numbersOf("level", logLevels, o.Arg)
		case 'x':
			v.decode = true
		case 'r':
			v.raw = true
		case 't':
			v.notime = true
		case 'T':
			v.ctime = true
		case 'd':
			v.delta = true
		}
		if err != nil {
			return c.Usage("%v", err)
		}
	}
	if status := c.showLog(&v, follow, onlyNew); status != 0 || !clears {
		return status
	}
	return c.syslog("clear kernel buffer failed", SyslogClear, 0)
}

// consoleLevel is the number that -n LEVEL sets: messages up to that level appear.
func consoleLevel(text string) (int, error) {
	if n, err := strconv.Atoi(text); err == nil {
		if n < 1 || n > len(logLevels) {
			return 0, fmt.Errorf("unknown level '%s'", text)
		}
		return n, nil
	}
	levels, err := numbersOf("level", logLevels, text)
	if err != nil || len(levels) != 1 {
		return 0, fmt.Errorf("unknown level '%s'", text)
	}
	return levels[0] + 1, nil
}

// numbersOf reads a list of names. A name with a plus in front or behind stands for all that
// come before it, or after it, as well.
func numbersOf(what string, names []string, list string) (numbers []int, err error) {
	for word := range strings.SplitSeq(list, ",") {
		name := strings.Trim(word, "+")
		n := slices.Index(names, name)
		if n < 0 {
			return nil, fmt.Errorf("unknown %s '%s'", what, word)
		}
		first, last := n, n
		if strings.HasPrefix(word, "+") {
			first = 0
		}
		if strings.HasSuffix(word, "+") {
			last = len(names) - 1
		}
		for n := first; n <= last; n++ {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

// syslog does something to the kernel's log.
func (c *call) syslog(what string, action, level int) int {
	err := errNoMachine
	if c.sh.cfg.Machine != nil {
		err = c.sh.cfg.Machine.Syslog(action, level)
	}
	if err != nil {
		c.Fail(what, err)
		return 1
	}
	return 0
}

// showLog prints what /dev/kmsg has, and with follow what comes then, until it is ended. With
// onlyNew it does not print what is there already.
func (c *call) showLog(v *logView, follow, onlyNew bool) int {
	const path = "/dev/kmsg"
	next := uint64(0) // the number of the first record that was not seen yet
	for _, flags := range []tracefile.Flags{tracefile.Read | tracefile.NonBlock, tracefile.Read} {
		h, err := c.sh.ns.virtual.OpenHandle(c.Ctx, path, flags)
		if err == nil {
			err = c.showRecords(h, &next, func(r *logRecord) {
				if !onlyNew || flags&tracefile.NonBlock == 0 {
					v.print(c, r)
				}
			})
			_ = h.Close() // it was only read
		}
		if err != nil {
			c.Fail(path, err)
			return 1
		}
		if !follow {
			break
		}
		c.Stdout.Flush()
	}
	return 0
}

// showRecords calls show with each record from the number next on, until there are no more
// or the command is ended. Records that were dropped are passed over.
func (c *call) showRecords(h tracefile.Handle, next *uint64, show func(*logRecord)) error {
	buf := make([]byte, 8192)
	for !c.Stopped() {
		n, err := h.Read(c.Ctx, buf)
		switch {
		case errors.Is(err, syscall.EPIPE):
			continue
		case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR), errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		r, ok := parseLogRecord(string(buf[:n]))
		if !ok {
			return tracefile.Errorf(syscall.EIO, "%q is no record", buf[:n])
		}
		if r.seq < *next {
			continue
		}
		*next = r.seq + 1
		show(&r)
		if h.Poll()&tracefile.PollIn == 0 {
			c.Stdout.Flush() // who follows wants to see it now
		}
	}
	return nil
}

// logRecord is a record as /dev/kmsg gives it.
type logRecord struct {
	priority int
	seq      uint64
	time     time.Duration
	text     string
}

// parseLogRecord reads a line of /dev/kmsg: PRIORITY,NUMBER,MICROSECONDS,FLAGS;TEXT. In the
// text, \xNN is a byte.
func parseLogRecord(line string) (r logRecord, ok bool) {
	head, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ";")
	fields := strings.Split(head, ",")
	if !ok || len(fields) < 4 {
		return r, false
	}
	priority, err := strconv.ParseUint(fields[0], 10, 31)
	seq, serr := strconv.ParseUint(fields[1], 10, 64)
	us, terr := strconv.ParseInt(fields[2], 10, 53)
	if errors.Join(err, serr, terr) != nil || us < 0 {
		return r, false
	}
	var b strings.Builder
	for ; text != ""; text = text[1:] {
		if c, err := strconv.ParseUint(text[min(2, len(text)):min(4, len(text))], 16, 8); strings.HasPrefix(text, `\x`) && len(text) >= 4 && err == nil {
			b.WriteByte(byte(c))
			text = text[3:]
			continue
		}
		b.WriteByte(text[0])
	}
	return logRecord{int(priority), seq, time.Duration(us) * time.Microsecond, b.String()}, true
}

// print prints a record, if it is to be seen. A record without a text is an empty line.
func (v *logView) print(c *call, r *logRecord) {
	level, facility := r.priority&7, r.priority>>3
	if v.levels != nil && !slices.Contains(v.levels, level) || v.facilities != nil && !slices.Contains(v.facilities, facility) {
		return
	}
	since := r.time - v.last
	if !v.any {
		since = 0
	}
	v.last, v.any = r.time, true
	if r.text == "" {
		c.Printf("\n")
		return
	}
	seconds := fmt.Sprintf("%5d.%06d", r.time/time.Second, r.time%time.Second/time.Microsecond)
	prefix := ""
	if v.decode && !v.raw {
		name := strconv.Itoa(facility)
		if facility < len(logFacilities) {
			name = logFacilities[facility]
		}
		prefix = fmt.Sprintf("%-6s:%-6s: ", name, logLevels[level])
	}
	at := ""
	switch {
	case v.raw:
		prefix = fmt.Sprintf("<%d>[%s] ", r.priority, seconds)
	case v.ctime:
		at = time.Unix(0, int64(r.time)).UTC().Format("[Mon Jan _2 15:04:05 2006] ")
	case v.delta && v.notime:
		at = fmt.Sprintf("[<%12.6f>] ", since.Seconds())
	case v.delta:
		at = fmt.Sprintf("[%s <%12.6f>] ", seconds, since.Seconds())
	case !v.notime:
		at = "[" + seconds + "] "
	}
	prefix += at
	text := printable(strings.TrimSuffix(r.text, "\n"))
	c.Printf("%s%s\n", prefix, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", len(prefix))))
}

// printable shows what no terminal shows as \xNN.
func printable(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && size == 1 || !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			for _, c := range []byte(text[:size]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		} else {
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}
