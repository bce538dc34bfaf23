package hist

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event/events"
)

var errorCase = regexp.MustCompile(`(?ms)^### (\d+): tw -\w events/sched/sched_switch/trigger (\S.*?)\nopen\(\S+\): ok; write\(\d+ bytes\): (\S+(?: E\w+)?); close: 0\n(.*?)(?:\z|^### )`)

// What the captured commands bring: the errno, error_log, the file afterwards.
func TestErrorCases(t *testing.T) {
	root := testutil.Oracle(t)
	for _, c := range []struct {
		name string
		want int // hist commands in it
	}{{"isolated", 60}, {"sequential", 40}} {
		t.Run(c.name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, "errors", "errors_"+c.name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			l, n := newLab(t), 0
			for rest := string(text); ; {
				at := errorCase.FindStringSubmatchIndex(rest)
				if at == nil {
					break
				}
				part := func(k int) string { return rest[at[2*k]:at[2*k+1]] }
				number, command, result, after := part(1), strings.ReplaceAll(part(2), `\`, ""), part(3), part(4)
				rest = rest[at[8]:]
				// The last two remove what a shell command made.
				if !strings.HasPrefix(strings.TrimPrefix(command, "!"), "hist") || len(number) == 3 && number > "450" {
					continue
				}
				n++
				if c.name == "isolated" {
					l = newLab(t)
					// Before the last ones these two were written.
					if strings.HasPrefix(command, "hist:keys=next_pid:") {
						l.define("lat", u64Field, pidField)
						l.must(events.SchedWaking.Type, "hist:keys=pid:ts0=common_timestamp.usecs")
					}
				}
				l.check(number, command, result, after)
			}
			if n != c.want {
				t.Errorf("%d commands, want %d", n, c.want)
			}
		})
	}
}

// check compares one case.
func (l *lab) check(number, command, result, after string) {
	logged := len(l.log)
	got := fmt.Sprint(len(command))
	if err := l.write(events.SchedSwitch.Type, command); err != nil {
		got = "-1 " + map[syscall.Errno]string{
			syscall.EINVAL: "EINVAL", syscall.ENOENT: "ENOENT", syscall.EEXIST: "EEXIST", syscall.EDOM: "EDOM",
			syscall.EBUSY: "EBUSY", syscall.ENOMEM: "ENOMEM", syscall.EPERM: "EPERM", syscall.ERANGE: "ERANGE",
		}[tracefile.Errno(err)]
	}
	log, file, _ := strings.Cut(after, "--- first lines of file after:\n")
	log = strings.TrimPrefix(log, "--- error_log:\n")
	if log != "" && !strings.HasSuffix(log, strings.Join(l.log[logged:], "")) || log == "" && len(l.log) > logged {
		l.t.Errorf("%s: %s: error_log has\n%swant\n%s", number, command, strings.Join(l.log[logged:], ""), log)
	}
	lines := l.lines(events.SchedSwitch.Type)
	if lines == "" {
		lines = "# Available triggers:\n# traceon traceoff snapshot stacktrace enable_event disable_event enable_hist disable_hist hist\n"
	}
	if strings.HasPrefix(file, lines) && len(file) == 2*len(lines) {
		file = lines // it was shown twice
	}
	if n := strings.Count(file, "\n"); n == 3 { // more was not shown
		lines = strings.Join(strings.SplitAfter(lines, "\n")[:n], "")
	}
	if got != result || lines != file {
		l.t.Errorf("%s: %s: %s, want %s; the file reads\n%swant\n%s", number, command, got, result, lines, file)
	}
}
