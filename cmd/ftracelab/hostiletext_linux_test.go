package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ftracelab/internal/testutil"
	"ftracelab/report"
)

// hostile is a name with all that a terminal obeys or does not show: escape
// sequences, C1 controls as characters and as bytes, marks of direction, separators
// of lines, what has no width, a stray byte; and with markup.
const hostile = "\x1b[31m\x1b]0;t\a\u009b1m\x9b1m\x7f\r\b\u202e\u2066\u200e\u061c\u2028\u200b\ufeff\xff</script><b>&"

var obeyed = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")

// doesNothing fails if text holds anything that a terminal would obey or hide.
func doesNothing(t *testing.T, text string) {
	t.Helper()
	if at := obeyed.FindStringIndex(text); at != nil {
		t.Errorf("%q reaches the terminal, in %q", text[at[0]:at[1]], text[max(0, at[0]-60):min(len(text), at[1]+20)])
	}
	if !utf8.ValidString(text) {
		t.Error("bytes that are no UTF-8 reach the terminal")
	}
}

// hostileFolder is a capture folder in which whatever can have a name has a hostile one.
func hostileFolder(t *testing.T) string {
	dir := simulated(t)
	edit(t, filepath.Join(dir, "kallsyms.txt"), func(s string) string {
		return regexp.MustCompile(`(?m) ([A-Za-z]) (\S+)`).ReplaceAllString(s, " $1 $2"+hostile)
	})
	edit(t, filepath.Join(dir, "saved_cmdlines"), func(s string) string {
		return regexp.MustCompile(`(?m)^(\d+) (.*)$`).ReplaceAllString(s, "$1 "+hostile)
	})
	edit(t, filepath.Join(dir, "formats_all.txt"), func(s string) string {
		return strings.ReplaceAll(s, `print fmt: "`, `print fmt: "`+strings.ReplaceAll(hostile, "%", ""))
	})
	comm := func(s string) string { return strings.ReplaceAll(s, "rcu_preempt\x00", "\x1b[31m\u202e\u009b\xff\x00") }
	edit(t, filepath.Join(dir, "cpu0.raw"), comm)
	edit(t, filepath.Join(dir, "cpu1.raw"), comm)
	return dir
}

// TestHostileText gives hostile names through every importer to every command: on a
// terminal they do nothing, and what is the kernel's text keeps its bytes elsewhere.
func TestHostileText(t *testing.T) {
	work := t.TempDir()
	words := strings.ToValidUTF8(hostile, "") // a script is UTF-8
	folder := hostileFolder(t)
	dat := filepath.Join(work, "x.dat")
	must(t, "convert", folder, dat)
	perf := put(t, filepath.Join(work, "perf.txt"), "co"+hostile+" 12/34 [003] 1.5: cycles"+hostile+":ppp:\n\tffffffff81000010 sym"+hostile+"+0x1 ([kernel.kallsyms])\n\t7f0000000010 user"+hostile+"+0x1 (/lib/"+hostile+")\n\n")
	ftrace := put(t, filepath.Join(work, "ftrace.txt"), "# tracer: nop\n#\n"+
		"            "+hostile+"-235     [001] .....    26.449670: thing"+hostile+": a="+hostile+"\n"+
		"            "+hostile+"-235     [001] .....    26.455318: <stack trace>\n => sym"+hostile+"+0x5e/0xc0\n => do_pipe2\n")
	folded := put(t, filepath.Join(work, "folded.txt"), "a"+hostile+";b"+hostile+"_[k] 3\n")
	script := put(t, filepath.Join(work, "script.sh"), "printf '%s\\n' '"+words+"'; cat '/"+words+"'\n")
	bad := filepath.Join(work, "no"+hostile)

	const (
		keeps = 1 << iota // elsewhere the output has the bytes
		fails             // the names stand in an error, which is harmless everywhere
		silent
	)
	for name, tt := range map[string]struct {
		args []string
		is   int
	}{
		"estimate perf":          {[]string{"estimate", perf}, 0},
		"estimate ftrace":        {[]string{"estimate", ftrace}, 0},
		"estimate folded":        {[]string{"estimate", folded}, 0},
		"estimate folder":        {[]string{"estimate", folder}, 0},
		"estimate trace.dat":     {[]string{"estimate", dat}, 0},
		"estimate no file":       {[]string{"estimate", bad}, fails},
		"estimate bad kernel":    {[]string{"estimate", "--kernel", bad, ftrace}, fails},
		"estimate bad design":    {[]string{"estimate", "--designs", hostile, ftrace}, fails},
		"report folder":          {[]string{"report", folder}, keeps},
		"report options":         {[]string{"report", "--trace-option", "sym-offset", "--cpu", "1", folder}, keeps},
		"report bad option":      {[]string{"report", "--trace-option", hostile, folder}, fails},
		"report trace.dat":       {[]string{"report", dat}, keeps},
		"report as trace":        {[]string{"report", "--as", "trace", dat}, keeps},
		"report no file":         {[]string{"report", bad}, fails},
		"report bad instance":    {[]string{"report", "--as", "trace", "--instance", hostile, dat}, fails},
		"convert no file":        {[]string{"convert", bad, dat}, fails},
		"convert bad target":     {[]string{"convert", "--compression", hostile, folder, dat}, fails},
		"run":                    {[]string{"run", "--cpus", "1", "--duration", "0s", "--set", "trace_marker=" + hostile}, keeps},
		"run bad file":           {[]string{"run", "--set", hostile + "=1"}, fails},
		"run bad value":          {[]string{"run", "--set", "current_tracer=" + hostile}, fails},
		"run bad scenario":       {[]string{"run", hostile}, fails},
		"shell -c":               {[]string{"shell", "-c", "echo '" + words + "' > trace_marker; cat trace"}, keeps},
		"shell -c, errors":       {[]string{"shell", "-c", "echo '" + words + "' >&2"}, keeps},
		"shell script":           {[]string{"shell", script}, keeps},
		"shell no script":        {[]string{"shell", bad}, fails},
		"stackmap-dump no file":  {[]string{"stackmap-dump", bad}, fails},
		"stackmap-dump no stack": {[]string{"stackmap-dump", perf}, silent},
		"stackmap-dump vmlinux":  {[]string{"stackmap-dump", "--vmlinux", bad, perf}, fails},
		"bad flag":               {[]string{"report", "--" + hostile}, fails},
		"bad command":            {[]string{hostile}, fails | silent},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			run(t.Context(), tt.args, strings.NewReader(""), &out, &errs)
			seen := testutil.OnTerminal(t, func(terminal *os.File) {
				run(t.Context(), tt.args, strings.NewReader(""), terminal, terminal)
			})
			doesNothing(t, seen)
			if tt.is&silent == 0 && !strings.Contains(seen, `\x1b[31m`) {
				t.Errorf("the name is not to be seen in %q", seen)
			}
			switch both := out.String() + errs.String(); {
			case tt.is&fails != 0:
				doesNothing(t, errs.String())
			case tt.is&keeps != 0 && !strings.Contains(both, hostile[:10]):
				t.Errorf("elsewhere the bytes are not kept: %q", both[:min(len(both), 2000)])
			case tt.is&keeps == 0:
				doesNothing(t, both)
			}
		})
	}

	t.Run("json", func(t *testing.T) {
		for _, capture := range []string{perf, ftrace, folded, folder, dat} {
			text := must(t, "estimate", "--json", capture)
			doesNothing(t, text)
			list, err := report.ReadJSON(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			r := list[0]
			found := false
			for _, s := range r.TopStacks {
				found = found || strings.Contains(strings.Join(s.Frames, ";"), "\x1b[31m\x1b]0;t\a\u009b1m")
			}
			if !found {
				t.Errorf("%s: no frame has its name in JSON", capture)
			}
		}
	})
	t.Run("html", func(t *testing.T) {
		page := filepath.Join(t.TempDir(), "x.html")
		must(t, "estimate", "--html", page, perf, ftrace, folded, folder, dat)
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		doesNothing(t, string(text))
		if n := bytes.Count(text, []byte("</script")); n != 2+5 {
			t.Errorf("%d scripts end on the page, want 2 and the numbers of 5 reports", n)
		}
		if !bytes.Contains(text, []byte(`<bdi>sym\x1b[31m`)) || !bytes.Contains(text, []byte("&lt;/script&gt;&lt;b&gt;&amp;")) {
			t.Error("the page does not show the names")
		}
	})
}

// TestHostileSession: a session on a terminal shows names of the tree as escapes, in
// the prompt too, and can still draw the line that is edited.
func TestHostileSession(t *testing.T) {
	person, terminal := testutil.PTY(t)
	seen := make(chan string)
	go func() {
		text, _ := io.ReadAll(person)
		seen <- string(text)
	}()
	done := make(chan int)
	go func() {
		done <- run(context.Background(), []string{"shell", "--cpus", "1"}, terminal, terminal, terminal)
	}()
	for _, line := range []string{
		`mkdir instances/$(printf '\033[31m\342\200\256')`, "cd instances/*31m*", "ls ..", "cat nothing",
		`printf '\033[35m\n'`, "exit",
	} {
		if _, err := person.WriteString(line + "\r"); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the session does not end")
	}
	terminal.Close()
	text := <-seen
	if strings.Contains(text, "\x1b[31m") || strings.Contains(text, "\x1b[35m") || strings.Contains(text, "\u202e") {
		t.Errorf("a name acts: %q", text)
	}
	if !strings.Contains(text, `/instances/\x1b[31m\u202e # `) || !strings.Contains(text, "\n"+`\x1b[31m\u202e`) || !strings.Contains(text, `\x1b[35m`) {
		t.Errorf("no names in %q", text)
	}
}
