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
			inAfter = true
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
	syscall.EACCES: "EACCES", syscall.EIO: "EIO",
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

// replay does the cases whose files exist here and names those that came out
// otherwise. before holds what other commands of the capture changed meanwhile.
func replay(l *lab, cases []errorCase, before map[int]func()) (equal int, differ map[int]string) {
	differ = map[int]string{}
	for _, c := range cases {
		if set := before[c.number]; set != nil {
			set()
		}
		_, err := l.fs.Lookup(c.file)
		if err != nil && !strings.Contains(c.answer, "ENOENT") {
			continue
		}
		got := l.do(c.how, c.file, c.text) + "\n"
		want := c.answer + "\n"
		if c.after != "" {
			got += l.firstLines(c.file, strings.Count(c.after, "\n"))
			want += c.after
		}
		if got != want {
			differ[c.number] = fmt.Sprintf("%s %s %q\n%s", c.how, c.file, c.text, got)
			continue
		}
		equal++
	}
	return equal, differ
}

// What our answers to the captured error cases differ in, and why.
const (
	notACommand = "function commands are refused; the kernel takes them at close and goes on showing them"
	notLoaded   = "mod: of a module that is not loaded is not kept"
	softEnabled = "a function command of the capture keeps sched_switch enabled softly, and its system X"
	otherSet    = "the catalogue and the symbol table are not the whole kernel's"
	ownText     = "README is our own"
	fewTracers  = "blk and mmiotrace are not there"
	contents    = "the file shows what was recorded"
)

var differingCases = map[int]string{
	94: notACommand, 95: notACommand, 96: notACommand, 97: notLoaded, 98: notLoaded, 99: notACommand,
}

// TestErrorCases replays the captured cases on files we have: same errno, same
// count, same content afterwards. The table of differences is exact both ways.
func TestErrorCases(t *testing.T) {
	t.Run("all", func(t *testing.T) { checkErrorCases(t, oracle(t, "errors/errors_sequential.txt"), 100) })
	t.Run("golden", func(t *testing.T) { checkErrorCases(t, golden(t, "errors_sequential.txt"), 100) })
}

func checkErrorCases(t *testing.T, text string, least int) {
	l := newLabOn(t, machine.Config{CPUs: 2}, tracer.Config{NoStackmap: true})
	l.write("buffer_size_kb", "256")
	cases := parseErrorCases(t, text)
	equal, differ := replay(l, cases, map[int]func(){
		49:  func() { l.write("current_tracer", "function") },
		52:  func() { l.write("current_tracer", "nop") },
		490: func() { l.write("tracing_on", "0") }, // a traceoff trigger of the capture fired
		499: func() { l.write("tracing_on", "1") },
	})
	for number, got := range differ {
		if differingCases[number] == "" {
			t.Errorf("case %d: %s", number, got)
		}
	}
	for _, c := range cases {
		if differingCases[c.number] != "" && differ[c.number] == "" {
			t.Errorf("case %d does not differ any more", c.number)
		}
	}
	t.Logf("%d cases equal, %d differ", equal, len(differ))
	if equal < least {
		t.Errorf("only %d cases were equal", equal)
	}
}
