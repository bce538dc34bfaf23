package tracer_test

import (
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
)

// FuzzFunctionFilter writes words to the files that select functions, of the top
// instance and of another. Whatever is written, errors have an errno, what the
// file then shows can be taken back line by line, and the machine runs on.
func FuzzFunctionFilter(f *testing.F) {
	for _, text := range []string{
		"vfs_read\n", "*lock* !*unlock*\n", "1 0x10 99999999 5x\n", "vfs_[rw]*:traceoff:3\n", "!schedule:traceon\n",
		"a*:mod:x :mod: !*:mod:x\n", "schedule:enable_event:sched:sched_switch:2 !schedule:enable_event:sched:sched_switch\n",
		"schedule:snapshot:1\n", "schedule:dump schedule:cpudump schedule:stacktrace:\n", "[a-\\*?\n", ":::\n", "!\n", "schedule:disable_event:sched:nope\n",
	} {
		f.Add(uint8(0), []byte(text))
	}
	f.Add(uint8(7), []byte("vfs_read vfs_write"))
	f.Fuzz(func(t *testing.T, how uint8, data []byte) {
		if len(data) > 300 {
			t.Skip("each word looks at all functions")
		}
		l := newFuzzLab(t, tracer.Config{BufferSizeKB: 64})
		name := []string{"set_ftrace_filter", "set_ftrace_notrace", "set_graph_function", "stack_trace_filter", "instances/foo/set_ftrace_filter"}[how/4%5]
		writeAnything(l, name, how, data)
		if strings.Contains(name, "foo") {
			l.write("instances/foo/current_tracer", "function")
		}
		l.write("current_tracer", "function_graph")
		l.ft.Run(300 * machine.Microsecond)
		shown := l.read(name)
		if strings.Count(shown, "\n") > 200 {
			return
		}
		for line := range strings.Lines(shown) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "####") {
				continue
			}
			line = strings.TrimSuffix(strings.Replace(line, ":count=", ":", 1), ":unlimited")
			function, _, isModule := strings.Cut(line, " [")
			if isModule {
				line = function
			}
			if err := appendWord(l, name, "!"+line); err != nil && strings.Contains(line, ":") {
				t.Errorf("%s: %q cannot be taken back: %v", name, line, err)
			}
		}
		if left := l.read(name); !strings.HasPrefix(left, "####") || strings.Count(left, "\n") != 1 {
			t.Errorf("%s: %q is left of %q", name, left, shown)
		}
		l.ft.Run(100 * machine.Microsecond)
	})
}

// appendWord is echo WORD >> NAME with the errno.
func appendWord(l *lab, name, word string) error {
	h := l.open(name, tracefile.Write|tracefile.Append)
	defer h.Close()
	_, err := h.Write(l.t.Context(), []byte(word+"\n"))
	if err != nil {
		return tracefile.Errno(err)
	}
	return nil
}

// FuzzFunctionGlob compares globs with regular expressions that say the same.
func FuzzFunctionGlob(f *testing.F) {
	for _, glob := range []string{"*schedule", "*pin*lock", "mutex*unl*", "mutex*try*", "?utex_l*", "vfs_[!r-z]*", "[a-cx-z]_*", "*", "**", "a[", "x\\*"} {
		f.Add(glob)
	}
	l := newFuzzLab(f, tracer.Config{BufferSizeKB: 64})
	names := strings.Split(strings.TrimSpace(l.read("available_filter_functions")), "\n")
	names = names[:len(names)/8]
	f.Fuzz(func(t *testing.T, glob string) {
		l.t = t
		re, ok := globRegexp(glob)
		if !ok || len(glob) > 40 {
			t.Skip()
		}
		want := 0
		for _, name := range names {
			if re.MatchString(name) {
				want++
			}
		}
		err := l.errno("set_ftrace_filter", glob)
		got := 0
		if shown := l.read("set_ftrace_filter"); !strings.HasPrefix(shown, "####") {
			last := names[len(names)-1]
			for line := range strings.Lines(shown) {
				if re.MatchString(strings.Fields(line)[0]) {
					got++
				} else {
					t.Fatalf("%q took %q", glob, line)
				}
				if strings.TrimSpace(line) == last {
					break
				}
			}
		}
		if want > 0 && (err != nil || got < want) || err != nil && err != syscall.EINVAL {
			t.Errorf("%q: %d functions, want at least %d, %v", glob, got, want, err)
		}
	})
}

// globRegexp is the regular expression of a glob without the rarer forms.
func globRegexp(glob string) (*regexp.Regexp, bool) {
	var re strings.Builder
	re.WriteString("^")
	for n := 0; n < len(glob); n++ {
		switch c := glob[n]; {
		case c == '*':
			re.WriteString(".*")
		case c == '?':
			re.WriteString(".")
		case c == '[':
			end := strings.IndexByte(glob[n:], ']')
			if end < 2 || !regexp.MustCompile(`^\[!?[a-z]-[a-z]\]$`).MatchString(glob[n:n+end+1]) {
				return nil, false
			}
			re.WriteString(strings.Replace(glob[n:n+end+1], "!", "^", 1))
			n += end
		case c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' && n > 0:
			re.WriteByte(c)
		default:
			return nil, false
		}
	}
	compiled, err := regexp.Compile(re.String() + "$")
	return compiled, err == nil && glob != ""
}
