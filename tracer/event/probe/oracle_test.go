package probe_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/probe"
)

// registerErrnos are what putting a probe there gave when the cases were captured.
var registerErrnos = map[string]syscall.Errno{
	"vfs_read+268435455":       syscall.ENOENT,
	"vfs_read+1":               syscall.EILSEQ,
	"exc_int3":                 syscall.EINVAL,
	"__x86_indirect_thunk_rax": syscall.EINVAL,
	"0":                        syscall.EINVAL,
	"0xffffffff81000000":       syscall.EINVAL,
	"f nosuch":                 syscall.EINVAL,
	"f vfs_read+4":             syscall.EINVAL,
	// Of the kernel's own tests.
	"vfs_read+3":       syscall.EILSEQ,
	"f non_exist_func": syscall.EINVAL,
	"f vfs_read+10":    syscall.EINVAL,
}

func registerAsCaptured(d *probe.Definition) syscall.Errno {
	switch {
	case d.Kind == probe.Fprobe:
		return registerErrnos["f "+d.Symbol]
	case d.Kind == probe.Kprobe && d.Symbol == "" && d.Addr == 0:
		return registerErrnos["0"]
	case d.Kind == probe.Kprobe && d.Symbol == "":
		return registerErrnos[fmt.Sprintf("%#x", d.Addr)]
	case d.Kind == probe.Kprobe && d.Offset != 0:
		return registerErrnos[fmt.Sprintf("%s+%d", d.Symbol, d.Offset)]
	case d.Kind == probe.Kprobe:
		return registerErrnos[d.Symbol]
	}
	return 0
}

var errorCase = regexp.MustCompile(`(?m)^### (\d+): tw (-[atw]) (kprobe_events|uprobe_events|dynamic_events) ?(.*)\n((?:[^#].*\n|#[^#].*\n)*)`)

// TestErrorCases writes the captured cases: errno, error_log with its caret, and the
// file afterwards are the kernel's.
func TestErrorCases(t *testing.T) {
	for _, capture := range []string{"isolated", "sequential"} {
		t.Run(capture, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(testutil.Oracle(t), "errors", "errors_"+capture+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			r := &registry{env: kernel{}, register: registerAsCaptured}
			n := 0
			for _, m := range errorCase.FindAllStringSubmatch(string(text), -1) {
				number, _ := strconv.Atoi(m[1])
				if strings.HasPrefix(m[4], "s:") || capture == "sequential" && (number >= 375 && number <= 377 || number > 440) {
					continue // synthetic events; what a shell does in between
				}
				if capture == "isolated" || m[2] == "-t" {
					r.defs = nil
				}
				line := strings.ReplaceAll(strings.ReplaceAll(m[4], `\\`, "\x01"), `\`, "")
				line = strings.ReplaceAll(line, "\x01", `\`)
				if line == "''" {
					line = ""
				}
				n++
				t.Run(m[1], func(t *testing.T) { r.check(t, m[3], line, m[5]) })
			}
			if n < 80 {
				t.Errorf("%d cases", n)
			}
		})
	}
}

// check writes a line and compares with what was captured.
func (r *registry) check(t *testing.T, file, line, want string) {
	t.Helper()
	answer := strconv.Itoa(len(line))
	var err error
	if line != "" {
		err = r.write(file, line)
	}
	if err != nil {
		var e *probe.Error
		if !errors.As(err, &e) {
			t.Fatal(err)
		}
		answer = "-1 " + errnoName(e.Errno)
	}
	result, rest, _ := strings.Cut(want, "\n")
	if !strings.Contains(result, "): "+answer+"; close") {
		t.Errorf("%q: %s: %v, want %s", line, answer, err, result)
	}
	log, after, _ := strings.Cut(rest, "--- first lines of file after:\n")
	log = strings.TrimPrefix(log, "--- error_log:\n")
	if got := logText(err); got != log {
		t.Errorf("%q: error_log:\n%swant\n%s", line, got, log)
	}
	if got := r.show(file); got != after {
		t.Errorf("%q: %s:\n%swant\n%s", line, file, got, after)
	}
}

func errnoName(e syscall.Errno) string {
	return map[syscall.Errno]string{
		syscall.EINVAL: "EINVAL", syscall.ENOENT: "ENOENT", syscall.EEXIST: "EEXIST", syscall.E2BIG: "E2BIG",
		syscall.EILSEQ: "EILSEQ", syscall.ENODEV: "ENODEV", syscall.EOPNOTSUPP: "EOPNOTSUPP",
	}[e]
}

// TestCapturedDefinitions parses what dynamic_events showed: it shows the same again,
// and the format files are the kernel's.
func TestCapturedDefinitions(t *testing.T) {
	dir := testutil.Oracle(t)
	captures, err := filepath.Glob(filepath.Join(dir, "*", "dynamic_hist_misc", "?probes", "dynamic_events"))
	if err != nil || len(captures) < 4 {
		t.Fatalf("%d captures: %v", len(captures), err)
	}
	for _, name := range captures {
		rel, _ := filepath.Rel(dir, filepath.Dir(name))
		t.Run(filepath.ToSlash(rel), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			r := &registry{env: kernel{untyped: strings.HasPrefix(rel, "full")}}
			for line := range strings.Lines(string(text)) {
				if err := r.write("dynamic_events", strings.TrimSuffix(line, "\n")); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
			if got := r.show("dynamic_events"); got != string(text) {
				t.Errorf("shown:\n%swant\n%s", got, text)
			}
			n := 0
			for _, d := range r.defs {
				format, err := os.ReadFile(filepath.Join(filepath.Dir(name), "events", d.Group, d.Event, "format"))
				if errors.Is(err, os.ErrNotExist) {
					continue // not kept
				}
				if err != nil {
					t.Fatal(err)
				}
				n++
				checkFormat(t, d, format)
			}
			if n == 0 {
				t.Error("no format file")
			}
		})
	}
}

// checkFormat compares a format file, and the type that is parsed from it with ours.
func checkFormat(t *testing.T, d *probe.Definition, format []byte) {
	t.Helper()
	captured, err := event.ParseFormat(d.Group, format)
	if err != nil {
		t.Fatal(err)
	}
	typ, err := d.NewType(captured.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(typ.Format()); got != string(format) {
		t.Errorf("%s: format:\n%swant\n%s", d.Show(), got, format)
	}
	if err := typ.PrintErr(); err != nil {
		t.Error(err)
	}
}
