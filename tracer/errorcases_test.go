package tracer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ftracelab/internal/tracefile"
	"ftracelab/tracer"
	"ftracelab/workload/machine"
)

// An errorCase is one command of the captured error cases: what was opened how,
// what was written, what the system calls said, and how the file began
// afterwards.
type errorCase struct {
	number int
	how    string // -t, -a, -w, -r, -R
	file   string
	text   string
	answer string // the line of results
	shown  bool   // the capture shows the file afterwards
	after  string
}

var (
	caseHead  = regexp.MustCompile(`^### (\d+): tw (-\w) (\S+) ?(.*)$`)
	otherHead = regexp.MustCompile(`^### (\d+): `)
)

// parseErrorCases reads a file of cases, those that are a plain write or read.
func parseErrorCases(t testing.TB, text string) []errorCase {
	t.Helper()
	var cases []errorCase
	var c *errorCase
	inAfter := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch m := caseHead.FindStringSubmatch(line); {
		case m != nil:
			number, _ := strconv.Atoi(m[1])
			cases = append(cases, errorCase{number: number, how: m[2], file: m[3], text: unquote(m[4])})
			c, inAfter = &cases[len(cases)-1], false
		case otherHead.MatchString(line):
			c = nil
		case c == nil:
		case strings.HasPrefix(line, "open("):
			c.answer = line
		case line == "--- first lines of file after:":
			inAfter, c.shown = true, true
		case strings.HasPrefix(line, "--- "):
			inAfter = false
		case inAfter:
			c.after += line + "\n"
		}
	}
	return cases
}

// unquote undoes the quoting of bash's printf %q.
func unquote(s string) string {
	if inner, ok := strings.CutPrefix(s, "$'"); ok {
		return strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(strings.TrimSuffix(inner, "'"))
	}
	if s == "''" {
		return ""
	}
	var plain strings.Builder
	for n := 0; n < len(s); n++ {
		if s[n] == '\\' && n+1 < len(s) {
			n++
		}
		plain.WriteByte(s[n])
	}
	return plain.String()
}

// openModes are the ways the cases open, as the capture spells them.
var openModes = map[string]struct {
	name  string
	flags tracefile.Flags
}{
	"-t": {"O_WRONLY|O_TRUNC", tracefile.Write | tracefile.Trunc},
	"-a": {"O_WRONLY|O_APPEND", tracefile.Write | tracefile.Append},
	"-w": {"O_WRONLY", tracefile.Write},
	"-r": {"O_RDONLY", tracefile.Read},
	"-R": {"O_RDWR", tracefile.Read | tracefile.Write},
	"-n": {"O_RDONLY|O_NONBLOCK", tracefile.Read | tracefile.NonBlock},
}

// errnoNames are the errnos the cases show.
var errnoNames = map[syscall.Errno]string{
	syscall.EINVAL: "EINVAL", syscall.EBUSY: "EBUSY", syscall.ENOENT: "ENOENT", syscall.ENOMEM: "ENOMEM",
	syscall.EOVERFLOW: "EOVERFLOW", syscall.EBADF: "EBADF", syscall.EAGAIN: "EAGAIN", syscall.ERANGE: "ERANGE",
	syscall.EACCES: "EACCES", syscall.EIO: "EIO", syscall.EPERM: "EPERM", syscall.ESRCH: "ESRCH",
}

func result(n int, err error) string {
	if err == nil || errors.Is(err, io.EOF) {
		return strconv.Itoa(n)
	}
	return "-1 " + errnoNames[tracefile.Errno(err)]
}

// do is one open, one write or read, one close, told as the capture tells it.
func (l *lab) do(how, file, text string) string {
	mode := openModes[how]
	answer := "open(" + mode.name + "): "
	ctx := context.Background()
	h, err := l.fs.OpenHandle(ctx, file, mode.flags)
	if err != nil {
		return answer + result(0, err)
	}
	defer h.Close()
	if mode.flags&tracefile.Write == 0 {
		n, err := h.Read(ctx, make([]byte, 4096))
		return answer + "ok; read: " + result(n, err)
	}
	n, err := h.Write(ctx, []byte(text))
	return answer + fmt.Sprintf("ok; write(%d bytes): %s; close: %s", len(text), result(n, err), result(0, h.Close()))
}

// firstLines is how the file begins, as the capture shows it.
func (l *lab) firstLines(file string, n int) string {
	text, err := l.fs.ReadFile(file)
	if err != nil {
		return ""
	}
	lines := strings.SplitAfterN(string(text), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "")
}

// replay does the cases whose files exist here. It names those of another
// answer, which none should have, and those after which the file reads
// otherwise. before holds what other commands of the capture changed meanwhile.
func replay(l *lab, cases []errorCase, before map[int]func()) (done int, answers, contents map[int]string) {
	answers, contents = map[int]string{}, map[int]string{}
	for _, c := range cases {
		if set := before[c.number]; set != nil {
			set()
		}
		_, err := l.fs.Lookup(c.file)
		if err != nil && !strings.HasSuffix(c.answer, "): -1 ENOENT") {
			continue
		}
		done++
		what := fmt.Sprintf("%s %s %q", c.how, c.file, c.text)
		if got := l.do(c.how, c.file, c.text); got != c.answer {
			answers[c.number] = fmt.Sprintf("%s\n%s\nwant\n%s", what, got, c.answer)
		}
		if !c.shown {
			continue
		}
		want := functionCommand.ReplaceAllString(c.after, "")
		if got := l.firstLines(c.file, strings.Count(want, "\n")); got != want {
			contents[c.number] = fmt.Sprintf("%s\n%s\nwant\n%s", what, got, want)
		}
	}
	return done, answers, contents
}

// functionCommand is a line of set_ftrace_filter that shows a command which is
// refused here.
var functionCommand = regexp.MustCompile(`(?m)^vfs_read:enable_event:.*\n`)

// Why some files read otherwise after a case.
const (
	softEnabled = "a function command of the capture keeps sched_switch enabled softly, and its system X"
	otherEvents = "the catalogue has fewer events"
	ownText     = "README is our own"
	fewTracers  = "blk and mmiotrace are not there"
	recorded    = "the file shows what was recorded meanwhile"
)

// otherContents are the cases after which a file reads otherwise.
var otherContents = map[int]string{
	128: softEnabled, 129: softEnabled, 130: softEnabled, 132: softEnabled, 134: softEnabled, 135: softEnabled,
	136: softEnabled, 137: softEnabled, 138: softEnabled, 139: softEnabled, 140: softEnabled, 141: softEnabled,
	142: softEnabled, 143: softEnabled, 144: softEnabled, 145: softEnabled, 147: softEnabled,
	133: otherEvents, 482: otherEvents, 480: ownText, 481: fewTracers,
	484: recorded, 499: recorded, 500: recorded, 501: recorded,
}

// TestErrorCases replays the captured cases on the files we have: all answers
// are the kernel's, and so is what the files read afterwards but for a table of
// cases, which is exact both ways.
func TestErrorCases(t *testing.T) {
	t.Run("all", func(t *testing.T) { checkErrorCases(t, oracle(t, "errors/errors_sequential.txt")) })
	t.Run("golden", func(t *testing.T) { checkErrorCases(t, golden(t, "errors_sequential.txt")) })
}

func checkErrorCases(t *testing.T, text string) {
	l := newLabOn(t, machine.Config{CPUs: 2}, tracer.Config{NoStackmap: true})
	l.write("buffer_size_kb", "256")
	cases := parseErrorCases(t, text)
	done, answers, contents := replay(l, cases, map[int]func(){
		49:  func() { l.write("current_tracer", "function") },
		52:  func() { l.write("current_tracer", "nop") },
		490: func() { l.write("tracing_on", "0") }, // a traceoff trigger of the capture fired
		499: func() { l.write("tracing_on", "1") },
	})
	for number, got := range answers {
		t.Errorf("case %d: %s", number, got)
	}
	for number, got := range contents {
		if otherContents[number] == "" {
			t.Errorf("case %d: %s", number, got)
		}
	}
	for number, why := range otherContents {
		if contents[number] == "" {
			t.Errorf("case %d reads as the kernel's does, though %s", number, why)
		}
	}
	t.Logf("%d cases, %d other answers, %d other contents", done, len(answers), len(contents))
	if done < 110 {
		t.Errorf("only %d cases were done", done)
	}
}
