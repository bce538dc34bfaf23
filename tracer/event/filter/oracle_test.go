package filter_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ftracelab/internal/testutil"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
)

// An errorCase is one command of the captured error cases.
type errorCase struct {
	number  int
	command string
	result  string // how open, write and close ended; of a shell, what it printed
	log     string // error_log afterwards
	after   string // the file's first lines afterwards
}

var caseHead = regexp.MustCompile(`^### (\d+): (.*)$`)

// parseErrorCases reads a file of cases.
func parseErrorCases(text string) []errorCase {
	var cases []errorCase
	var part *string
	for line := range strings.Lines(text) {
		if m := caseHead.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			number, _ := strconv.Atoi(m[1])
			cases = append(cases, errorCase{number: number, command: m[2]})
			part = &cases[len(cases)-1].result
			continue
		}
		if len(cases) == 0 {
			continue
		}
		c := &cases[len(cases)-1]
		switch line {
		case "--- error_log:\n":
			part = &c.log
		case "--- first lines of file after:\n":
			part = &c.after
		default:
			*part += line
		}
	}
	return cases
}

// unquote undoes the quoting of bash's printf %q.
func unquote(s string) string {
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

var errnoNames = map[syscall.Errno]string{
	syscall.EINVAL: "EINVAL", syscall.EPERM: "EPERM", syscall.ENOENT: "ENOENT", syscall.ESRCH: "ESRCH",
	syscall.ENOMEM: "ENOMEM", syscall.ENODEV: "ENODEV",
}

// kernel is the filter files of all events and error_log.
type kernel struct {
	table *event.Table
	files map[*event.Type]*filter.File
	log   []*filter.Error
}

func newKernel(t *testing.T) *kernel {
	table, err := kernelTypes()
	if err != nil {
		t.Fatal(err)
	}
	k := &kernel{table: table, files: map[*event.Type]*filter.File{}}
	for _, typ := range table.All() {
		k.files[typ] = new(filter.File)
	}
	return k
}

// write writes to events/SYSTEM/filter, or to EVENT's if it is not "".
func (k *kernel) write(system, name, text string) error {
	if name == "" {
		var members []filter.Member
		for _, typ := range k.table.All() {
			if typ.System == system {
				members = append(members, filter.Member{Type: typ, File: k.files[typ]})
			}
		}
		faults, err := filter.WriteSystem(members, text, testEnv())
		k.log = append(k.log, faults...)
		return err
	}
	typ := k.table.ByName(system, name)
	return k.logged(k.files[typ].Write(typ, text, testEnv()))
}

func (k *kernel) logged(err error) error {
	var fault *filter.Error
	if errors.As(err, &fault) {
		k.log = append(k.log, fault)
	}
	return err
}

func (k *kernel) read(system, name string) string {
	if name == "" {
		return filter.SystemText
	}
	return k.files[k.table.ByName(system, name)].Show()
}

// errorLog is the text of error_log: the latest 8 entries, the time blotted out.
func (k *kernel) errorLog() string {
	var text strings.Builder
	for _, e := range k.log[max(len(k.log)-8, 0):] {
		fmt.Fprintf(&text, "[TIME] %s: error: %s\n  Command: %s\n", filter.Location, e.Msg, e.Command)
		fmt.Fprintf(&text, "%s^\n", strings.Repeat(" ", len("  Command: ")+e.Pos))
	}
	return text.String()
}

var (
	writeCommand   = regexp.MustCompile(`^tw -t events/(\w+)(?:/(\w+))?/filter (.*)$`)
	triggerCommand = regexp.MustCompile(`^tw -w events/(\w+)/(\w+)/trigger (.*)$`)
	catFilters     = regexp.MustCompile(`events/(\w+)(?:/(\w+))?/filter`)
)

// replay does one case and tells it as the capture does. ok is false if it is
// not about filters.
func (k *kernel) replay(c errorCase) (got errorCase, ok bool) {
	got = errorCase{number: c.number, command: c.command}
	k.log = nil
	switch {
	case strings.HasPrefix(c.command, "sh: for i in $(seq 1 12); do echo bad$i > events/sched/sched_switch/filter"):
		for i := range 12 {
			_ = k.write("sched", "sched_switch", fmt.Sprintf("bad%d\n", i+1))
		}
		got.result = k.errorLog() + "rc=0\n"
		return got, true
	case strings.HasPrefix(c.command, "sh: cat events/") && strings.Contains(c.command, "/filter"):
		for _, m := range catFilters.FindAllStringSubmatch(c.command, -1) {
			got.result += k.read(m[1], m[2])
		}
		got.result += "rc=0\n"
		return got, true
	}
	if m := writeCommand.FindStringSubmatch(c.command); m != nil {
		text := unquote(m[3])
		err := k.write(m[1], m[2], text)
		got.result = told("O_WRONLY|O_TRUNC", text, err)
		got.log = k.errorLog()
		got.after = firstLines(k.read(m[1], m[2]), 3)
		return got, true
	}
	m := triggerCommand.FindStringSubmatch(c.command)
	if m == nil {
		return got, false
	}
	text := unquote(m[3])
	_, condition, ok := strings.Cut(text, " if ")
	if !ok || !strings.Contains(c.log, filter.Location) {
		return got, false
	}
	_, err := filter.Parse(k.table.ByName(m[1], m[2]), condition, testEnv())
	got.result = told("O_WRONLY", text, k.logged(err))
	got.log = k.errorLog()
	got.after = c.after // the trigger file is not this package's
	return got, true
}

func told(mode, text string, err error) string {
	end := strconv.Itoa(len(text))
	var errno syscall.Errno
	if errors.As(err, &errno) {
		end = "-1 " + errnoNames[errno]
	}
	return fmt.Sprintf("open(%s): ok; write(%d bytes): %s; close: 0\n", mode, len(text), end)
}

func firstLines(text string, n int) string {
	lines := strings.SplitAfterN(text, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "")
}

// otherCases are the cases that end otherwise here.
var otherCases = map[string]map[int]string{
	"errors_sequential.txt": {152: "the kernel's ftrace events have no filter file to open, which is for the tree to say"},
	"errors_isolated.txt":   {},
}

// TestErrorCases replays the captured cases about filters in their order: errno,
// error_log and the file's text are the kernel's, but for an exact list.
func TestErrorCases(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(otherCases)) {
		t.Run("golden/"+name, func(t *testing.T) { checkErrorCases(t, "testdata", name) })
		t.Run("all/"+name, func(t *testing.T) {
			checkErrorCases(t, filepath.Join(testutil.Oracle(t), "errors"), name)
		})
	}
}

func checkErrorCases(t *testing.T, dir, name string) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	k := newKernel(t)
	done, other := 0, otherCases[name]
	for _, want := range parseErrorCases(string(text)) {
		got, ok := k.replay(want)
		if !ok {
			continue
		}
		done++
		diff := cmp.Diff(want, got, cmp.AllowUnexported(errorCase{}))
		switch {
		case diff != "" && other[want.number] == "":
			t.Errorf("case %d: -want +got\n%s", want.number, diff)
		case diff == "" && other[want.number] != "":
			t.Errorf("case %d ends as the kernel's does, though %s", want.number, other[want.number])
		}
	}
	t.Logf("%d cases, %d end otherwise", done, len(other))
	if least := map[string]int{"errors_sequential.txt": 103, "errors_isolated.txt": 3}[name]; done != least {
		t.Errorf("%d cases were done, want %d", done, least)
	}
}

var switchLine = regexp.MustCompile(`sched_switch: prev_comm=(.*) prev_pid=(\d+) prev_prio=\d+ prev_state=\S+ ==> next_comm=(.*) next_pid=(\d+) next_prio=\d+$`)

// A capture with a filter holds what the filter keeps and nothing else; one
// without it holds both kinds, told apart by what the kernel printed of them.
func TestCaptures(t *testing.T) {
	dir := filepath.Join(testutil.Oracle(t), "full/events")
	shown, err := os.ReadFile(filepath.Join(dir, "ev_filter/filter"))
	if err != nil {
		t.Fatal(err)
	}
	typ := kernelType(t, "sched", "sched_switch")
	var file filter.File
	if err := file.Write(typ, string(shown), testEnv()); err != nil {
		t.Fatal(err)
	}
	if got := file.Show(); got != string(shown) {
		t.Errorf("shows %q, want %q", got, shown)
	}
	kept, dropped := sift(t, filepath.Join(dir, "ev_filter/trace.txt"), file.Filter(),
		func(prev, next string, nextPID int) bool { return prev == "wl" })
	if kept != 41 || dropped != 0 {
		t.Errorf("ev_filter: %d records are kept, %d are not", kept, dropped)
	}
	f := parse(t, typ, `prev_comm == "wl" && (next_pid == 0 || next_comm ~ "k*/1:*")`)
	kept, dropped = sift(t, filepath.Join(dir, "ev_sched_switch_waking/trace.txt"), f,
		func(prev, next string, nextPID int) bool {
			return prev == "wl" && (nextPID == 0 || strings.HasPrefix(next, "k") && strings.Contains(next, "/1:"))
		})
	if kept != 412 || dropped != 427 {
		t.Errorf("ev_sched_switch_waking: %d records are kept, %d are not", kept, dropped)
	}
}

// sift gives the sched_switch events of a capture's text to f and compares what
// f keeps with want.
func sift(t *testing.T, name string, f *filter.Filter, want func(prev, next string, nextPID int) bool) (kept, dropped int) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	typ := kernelType(t, "sched", "sched_switch")
	for line := range strings.Lines(string(text)) {
		m := switchLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			continue
		}
		prev, _ := strconv.Atoi(m[2])
		next, _ := strconv.Atoi(m[4])
		data := record(t, typ, map[string]any{"prev_comm": m[1], "prev_pid": prev, "next_comm": m[3], "next_pid": next})
		got := f.Match(data, filter.Context{})
		if got != want(m[1], m[3], next) {
			t.Errorf("%s: %v for %s", f, got, line)
		}
		if got {
			kept++
		} else {
			dropped++
		}
	}
	return kept, dropped
}
