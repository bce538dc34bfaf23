package tracer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs/shell"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
	"ftracelab/tracer/dynevent"
)

// An errorCase is one command of the captured error cases: what was opened how
// and written, or a shell command; what the system calls said, what stood in
// error_log, and how the file began afterwards.
type errorCase struct {
	number int
	how    string // -t, -a, -w, -r, -R, -n; sh: for a shell command
	file   string
	text   string // written; the shell command
	answer string // the line of results; what the shell printed
	log    string // error_log, with [TIME] for the time
	shown  bool   // the capture shows the file afterwards
	after  string
}

var caseHead = regexp.MustCompile(`^### (\d+): (?:tw (-\w) (\S+) ?(.*)|(sh:) (.*))$`)

// parseErrorCases reads a file of cases.
func parseErrorCases(t testing.TB, text string) []errorCase {
	t.Helper()
	var cases []errorCase
	part := new(string)
	for line := range strings.Lines(text) {
		m := caseHead.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m != nil {
			number, _ := strconv.Atoi(m[1])
			cases = append(cases, errorCase{number: number, how: m[2] + m[5], file: m[3], text: unquote(m[4]) + m[6]})
			part = &cases[len(cases)-1].answer
			continue
		}
		switch line {
		case "--- error_log:\n":
			part = &cases[len(cases)-1].log
		case "--- first lines of file after:\n":
			part, cases[len(cases)-1].shown = &cases[len(cases)-1].after, true
		default:
			*part += line
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
	syscall.EDOM: "EDOM", syscall.EILSEQ: "EILSEQ", syscall.E2BIG: "E2BIG", syscall.EEXIST: "EEXIST", syscall.ENODEV: "ENODEV", syscall.ENOTDIR: "ENOTDIR",
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
	h, err := l.openAny(ctx, file, mode.flags)
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

// openAny opens a file of the tracefs or a sysctl.
func (l *lab) openAny(ctx context.Context, name string, flags tracefile.Flags) (tracefile.Handle, error) {
	if f := l.sysctls()[name]; f != nil {
		return f.Open(ctx, flags)
	}
	return l.fs.OpenHandle(ctx, name, flags)
}

func (l *lab) readAny(name string) ([]byte, error) {
	f := l.sysctls()[name]
	if f == nil {
		return l.fs.ReadFile(name)
	}
	h, err := f.Open(context.Background(), tracefile.Read)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	text, end := l.drain(h)
	if end != io.EOF {
		return nil, end
	}
	return []byte(text), nil
}

// firstLines is how the file begins, as the capture shows it.
func (l *lab) firstLines(file string, n int) string {
	text, err := l.readAny(file)
	if err != nil {
		return ""
	}
	lines := strings.SplitAfterN(string(text), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "")
}

// The parts of a case that may come out otherwise.
const (
	partAnswer = "answer"
	partLog    = "log"
	partAfter  = "after"
)

// replay does one case and names the parts that are not the kernel's, with what
// they are here. After a command to a trigger the machine runs for as long as
// pause, as it did in the capture.
func (l *lab) replay(c *errorCase, o *otherCases, pause machine.Time) (parts []string, here string) {
	ctx := context.Background()
	l.write("error_log", "")
	var answer string
	if c.how == "sh:" {
		command := c.text
		if other, ok := instead[c.number]; ok {
			command = strings.Replace(command, other.part, other.done, 1)
		}
		answer = l.shell(ctx, command)
	} else {
		answer = l.do(c.how, c.file, c.text) + "\n"
	}
	compare := func(part, got, want string) {
		got, want = entryCounts.ReplaceAllString(got, "N/N"), entryCounts.ReplaceAllString(want, "N/N")
		if got != want {
			parts = append(parts, part)
			here += fmt.Sprintf("%s:\n%swant\n%s", part, got, want)
		}
	}
	compare(partAnswer, answer, o.without(scriptName.ReplaceAllString(c.answer, "")))
	if c.how == "sh:" {
		return parts, here
	}
	compare(partLog, logTime.ReplaceAllString(l.read("error_log"), "[TIME]"), c.log)
	if strings.HasSuffix(c.file, "/trigger") {
		l.ft.Run(pause)
	}
	if pause > 0 && c.number < 150 && strings.Contains(l.read("set_ftrace_filter"), "vfs_read:enable_event") {
		l.ft.Run(8 * pause) // until somebody calls vfs_read; in the capture whoever looks at the file does
	}
	if c.shown {
		want := o.without(c.after)
		compare(partAfter, l.firstLines(c.file, strings.Count(want, "\n")), want)
	}
	return parts, here
}

var (
	scriptName = regexp.MustCompile(`/share/script\.sh: line 6: `)
	logTime    = regexp.MustCompile(`(?m)^\[ *\d+\.\d+\]`)

	// How much was recorded meanwhile depends on what the machine does.
	entryCounts = regexp.MustCompile(`\d+/\d+(   #P:2\n)`)
)

// instead is what is done here instead of a part of a command: what stands for a
// reader of trace_pipe, and what is left out because the file it also shows is
// empty in the capture and not there yet.
var instead = map[int]struct{ part, done string }{
	476: {"(timeout 2 cat trace_pipe > /dev/null) & sleep 0.5", "hold trace_pipe"},
	505: {"; cat kprobe_events", ""},
	506: {"events/sched/sched_switch/hist ", ""},
}

// shell runs a command of the capture and returns what it printed and its
// status. tw, which opens and writes once, fdhold, which holds a file open until
// wait, and hold, which does so and says nothing, are done here; with them a
// script is a list of simple commands.
func (l *lab) shell(ctx context.Context, script string) string {
	var out bytes.Buffer
	files := map[string]tracefile.Node{}
	for name, f := range l.sysctls() {
		files[name] = f
	}
	sh, err := shell.New(shell.Config{FS: l.fs, Stdout: &out, Stderr: &out, CPUs: 2, Files: files})
	if err != nil {
		l.t.Fatal(err)
	}
	status := 0
	commands := []string{script}
	if (strings.Contains(script, "tw -") || strings.Contains(script, "fdhold ")) && !strings.ContainsAny(script, "{(") {
		commands = strings.Split(strings.ReplaceAll(script, " & ", "; "), "; ")
	}
	var held tracefile.Handle
	for _, command := range commands {
		switch words := strings.Fields(command); words[0] {
		case "tw":
			status = 0
			fmt.Fprintln(&out, l.do(words[1], words[2], strings.Trim(strings.Join(words[3:], " "), `"`)))
		case "fdhold", "hold":
			if held, err = l.fs.OpenHandle(ctx, words[1], tracefile.Read); err != nil {
				l.t.Fatal(err)
			}
			if words[0] == "fdhold" {
				fmt.Fprintln(&out, "fd 3")
			}
		case "wait":
			status = 0
			held.Close()
		default:
			command = strings.ReplaceAll(strings.TrimPrefix(command, "timeout 1 "), "$?", strconv.Itoa(status))
			if status, err = sh.Run(ctx, strings.NewReader(command), "sh"); err != nil {
				l.t.Fatal(err)
			}
		}
	}
	return fmt.Sprintf("%src=%d\n", out.String(), status)
}

// otherCases is testdata/errorcases.txt: the cases that come out otherwise here,
// and why. Its lines are
//
//	absent FILE…: REASON             the files are not there; their cases are left out
//	without TEXT…: REASON            triggers of that command are left out
//	words WORD…: REASON              files that list names lack these
//	CAPTURE PART[,PART] NUMBERS: REASON
//
// where CAPTURE is sequential or isolated, a PART is answer, log or after, or
// all for a case that is not done, and NUMBERS are as in 3-5,7.
type otherCases struct {
	absent, triggers, words map[string]bool
	parts                   map[string]map[int][]string
}

// without is text without the words that are not listed here.
func (o *otherCases) without(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		listed := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		listed = slices.DeleteFunc(listed, func(word string) bool { return o.words[word] })
		kept.WriteString(strings.Join(listed, " ") + "\n")
	}
	return kept.String()
}

func readOtherCases(t *testing.T) otherCases {
	t.Helper()
	o := otherCases{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]map[int][]string{"sequential": {}, "isolated": {}}}
	for n, line := range strings.Split(golden(t, "errorcases.txt"), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		what, reason, ok := strings.Cut(line, ": ")
		words := strings.Fields(what)
		if !ok || reason == "" || len(words) < 2 {
			t.Fatalf("errorcases.txt:%d: %q has no reason", n+1, line)
		}
		switch words[0] {
		case "absent", "without", "words":
			for _, name := range words[1:] {
				map[string]map[string]bool{"absent": o.absent, "without": o.triggers, "words": o.words}[words[0]][name] = true
			}
		default:
			cases := o.parts[words[0]]
			if cases == nil || len(words) != 3 {
				t.Fatalf("errorcases.txt:%d: %q", n+1, line)
			}
			for _, number := range numbers(t, words[2]) {
				if cases[number] != nil {
					t.Errorf("errorcases.txt:%d: case %d stands there twice", n+1, number)
				}
				cases[number] = strings.Split(words[1], ",")
			}
		}
	}
	return o
}

// numbers reads 3-5,7.
func numbers(t *testing.T, s string) []int {
	t.Helper()
	var list []int
	for part := range strings.SplitSeq(s, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, errA := strconv.Atoi(from)
		b, errB := strconv.Atoi(to)
		if errA != nil || errB != nil || a > b {
			t.Fatalf("numbers %q", s)
		}
		for ; a <= b; a++ {
			list = append(list, a)
		}
	}
	return list
}

// TestErrorCases replays the captured cases on the files we have: the answers,
// error_log and what the files read afterwards are the kernel's, but for what
// testdata/errorcases.txt lists, which is exact both ways.
func TestErrorCases(t *testing.T) {
	t.Run("sequential", func(t *testing.T) {
		checkErrorCases(t, "sequential", oracle(t, "errors/errors_sequential.txt"), 408)
	})
	t.Run("isolated", func(t *testing.T) { checkErrorCases(t, "isolated", oracle(t, "errors/errors_isolated.txt"), 113) })
	t.Run("golden", func(t *testing.T) { checkErrorCases(t, "sequential", golden(t, "errors_sequential.txt"), 163) })
}

// capturedFiles are the files of the captured machine that the cases name.
type capturedFiles struct{}

func (capturedFiles) Stat(path string) (dynevent.UserFile, error) {
	switch path {
	case "/usr/bin/wl":
		return dynevent.UserFile{ID: 1 << 63, Regular: true, Size: 1 << 20}, nil
	case "/usr":
		return dynevent.UserFile{}, nil
	}
	return dynevent.UserFile{}, syscall.ENOENT
}

func checkErrorCases(t *testing.T, capture, text string, least int) {
	others := readOtherCases(t)
	l := newLabOn(t, machine.Config{CPUs: 2}, tracer.Config{NoStackmap: true, NoLatencyTracers: true, NoExt4: true, Files: capturedFiles{}})
	l.write("buffer_size_kb", "256")
	for name := range others.absent {
		if _, err := l.fs.Lookup(name); err == nil {
			t.Errorf("errorcases.txt: %s is there now", name)
		}
	}
	pause := 5 * machine.Millisecond
	if capture == "isolated" {
		pause = 0
	}
	before := map[int]func(){
		49:  func() { l.write("current_tracer", "function") },
		52:  func() { l.write("current_tracer", "nop") },
		312: func() { l.do("-t", "events/sched/sched_switch/trigger", "") },
		478: func() { l.write("current_tracer", "nop") },
		// By then the buffer of the capture was empty.
		464: func() { l.write("trace", "") },
	}
	done, same, all := 0, 0, 0
	for _, c := range parseErrorCases(t, text) {
		all++
		if capture == "isolated" {
			l.clear(c.file)
			if c.number >= 174 {
				l.write("synthetic_events", "lat u64 lat; pid_t pid")
				l.write("events/sched/sched_waking/trigger", "hist:keys=pid:ts0=common_timestamp.usecs")
				c.after = c.after[:len(c.after)/2] // the capture shows the file twice
			}
		} else if set := before[c.number]; set != nil {
			set()
		}
		listed := others.parts[capture][c.number]
		command, _, _ := strings.Cut(strings.TrimPrefix(c.text, "!"), ":")
		if others.absent[c.file] || strings.HasSuffix(c.file, "/trigger") && others.triggers[command] || slices.Equal(listed, []string{"all"}) {
			continue
		}
		done++
		pause := pause
		if capture == "isolated" && c.number == 128 {
			pause = 5 * machine.Millisecond // the trigger acted before the file was read
		}
		parts, here := l.replay(&c, &others, pause)
		switch {
		case !slices.Equal(parts, listed):
			t.Errorf("case %d: %s %s %q: %q are not the kernel's, errorcases.txt has %q\n%s", c.number, c.how, c.file, c.text, parts, listed, here)
		case len(parts) == 0:
			same++
		}
	}
	t.Logf("%s: %d of %d cases were done, %d of them as the kernel does", capture, done, all, same)
	if same < least {
		t.Errorf("only %d cases come out as the kernel's", same)
	}
}

// clear takes the triggers of a file and dynamic events away, as each case of the
// isolated capture began.
func (l *lab) clear(file string) {
	if strings.HasSuffix(file, "/trigger") {
		l.do("-t", file, "") // the hists
		for line := range strings.Lines(l.read(file)) {
			if line[0] != '#' {
				l.append(file, "!"+strings.TrimSpace(line))
			}
		}
		l.write("tracing_on", "1")
	}
	l.write("dynamic_events", "")
}
