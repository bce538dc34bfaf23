package probe_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/tracer/event/probe"
)

// checkError is a line of the kernel's tests that expects a fault at the caret.
var checkError = regexp.MustCompile(`(?m)^\s*check_error (?:'([^']*)'(\$REG)?|"(.*)")\s*(?:#.*)?$`)

// TestSyntaxErrors does what the kernel's own tests of the parsers do: each command is
// refused, and the last entry of error_log points where the caret is.
func TestSyntaxErrors(t *testing.T) {
	dir := filepath.Join(testutil.FromEnv(t, "FTRACELAB_SELFTESTS", "the folder of the kernel's ftrace tests"), "test.d")
	for name, file := range map[string]string{
		"kprobe/kprobe_syntax_errors.tc":    "kprobe_events",
		"kprobe/uprobe_syntax_errors.tc":    "uprobe_events",
		"dynevent/fprobe_syntax_errors.tc":  "dynamic_events",
		"dynevent/tprobe_syntax_errors.tc":  "dynamic_events",
		"dynevent/eprobes_syntax_errors.tc": "dynamic_events",
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			cases := checkError.FindAllStringSubmatch(string(text), -1)
			if len(cases) < 10 {
				t.Fatalf("%d cases", len(cases))
			}
			for _, m := range cases {
				command := m[1] + strings.Replace(m[2], "$REG", "%ax", 1)
				if m[3] != "" {
					command = strings.NewReplacer(`\\`, `\`, `\"`, `"`, "$FUNCTION_FORK", "kernel_clone").Replace(m[3])
				}
				checkCaret(t, file, command)
			}
		})
	}
}

// unreachable are commands that 6.12 takes, or refuses elsewhere: its tests ask README
// before, or lack a blank that lets them.
var unreachable = map[string]bool{
	"r vfs_read ^$arg*": true, "f vfs_read%return ^$arg*": true, "f vfs_read $retval ^$arg1": true,
	"t kfree ^$arg*": true, "p vfs_read ^$arg*": true, "f vfs_read ^$arg*": true,
}

func checkCaret(t *testing.T, file, command string) {
	t.Helper()
	if unreachable[command] {
		return
	}
	r := &registry{env: kernel{}, register: registerAsCaptured}
	for _, line := range prepared(command) {
		if err := r.write(file, line); err != nil {
			t.Fatal(err)
		}
	}
	want := strings.IndexByte(command, '^')
	err := r.write(file, strings.Replace(command, "^", "", 1))
	var e *probe.Error
	if !errors.As(err, &e) || len(e.Log) == 0 {
		t.Errorf("%s: %v", command, err)
		return
	}
	// The test's shell takes the blanks from the end, the kernel puts the caret behind one.
	if got := e.Log[len(e.Log)-1]; got.Pos != want {
		t.Errorf("%s: column %d: %s, want %d", command, got.Pos, got.Msg, want)
	}
}

// prepared is what the tests define before a command.
func prepared(command string) []string {
	kind := strings.TrimPrefix(command, "^")[:1]
	symbol := map[string]string{"t": "kfree"}[kind]
	if symbol == "" {
		symbol = "kernel_clone"
	}
	switch {
	case strings.HasPrefix(command, "^r:kprobes/testevent"):
		return []string{"p:kprobes/testevent kernel_clone"}
	case strings.HasPrefix(command, "^f:fprobes/testevent do_exit"):
		return []string{"f:fprobes/testevent kernel_clone"}
	case strings.HasPrefix(command, "^f:tracepoint/testevent"):
		return []string{"t:tracepoint/testevent kfree"}
	case strings.Contains(command, "testevent"):
		name, _, _ := strings.Cut(strings.TrimPrefix(command, "^"), " ")
		return []string{name + " " + symbol + ` abcd=\1`}
	case strings.HasPrefix(command, "p ^vfs_read+3"):
		return nil
	}
	return nil
}
