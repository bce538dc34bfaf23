package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

// The pages docs/sessions/NAME.md are the sessions for readers: what is typed, what it
// prints, and why. They are made from the sessions when these run.
var updateSessions = flag.Bool("update-sessions", false, "write the pages of docs/sessions, and the files in the sessions with which output is compared")

// transcriptEnv names the file to which ftracelab's runs in a session are written, behind
// the process of the test and a colon: what a shell of the session starts is not written.
const transcriptEnv = "FTRACELAB_TRANSCRIPT"

// typedRun is one command of a session.
type typedRun struct {
	Args           []string
	Stdout, Stderr string
	Status         int
	Work           string // the session's folder
}

// transcribed is main, which writes down what it prints if a session asks for that.
func transcribed() {
	test, file, _ := strings.Cut(os.Getenv(transcriptEnv), ":")
	os.Unsetenv(transcriptEnv)
	if file == "" || test != strconv.Itoa(os.Getppid()) {
		main()
		return
	}
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	var out, errs strings.Builder
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, io.MultiWriter(os.Stdout, &out), io.MultiWriter(os.Stderr, &errs)
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		panic(err)
	}
	r := typedRun{Args: os.Args[1:], Stdout: out.String(), Stderr: errs.String(), Status: cmd.ProcessState.ExitCode(), Work: os.Getenv("WORK")}
	line, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		panic(err)
	}
	f.Close()
	os.Exit(r.Status)
}

// listedSession is a line of docs/sessions/README.md.
var listedSession = regexp.MustCompile(`(?m)^\* \[(\w+)\]\((\w+)\.md\): (.+)$`)

// sessionOrder gives the names of the sessions in the order in which they are read.
func sessionOrder(t *testing.T) (names []string) {
	t.Helper()
	readme, err := os.ReadFile("../../docs/sessions/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range listedSession.FindAllStringSubmatch(string(readme), -1) {
		names = append(names, m[1])
	}
	return names
}

// checkSessionPages compares the pages of sessions that have run with those in docs.
func checkSessionPages(t *testing.T, transcripts string, names []string) {
	order := sessionOrder(t)
	for _, name := range names {
		file, err := os.ReadFile("../../docs/sessions/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(transcripts, name))
		if err != nil {
			t.Errorf("%s has no transcript: %v", name, err)
			continue
		}
		var runs []typedRun
		for line := range strings.Lines(string(text)) {
			var r typedRun
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			runs = append(runs, r)
		}
		page, err := sessionPage(name, string(file), runs, order)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		at := "../../docs/sessions/" + name + ".md"
		if *updateSessions {
			if err := os.WriteFile(at, []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		is, err := os.ReadFile(at)
		if err != nil || string(is) != page {
			t.Errorf("docs/sessions/%s.md is not what the session prints (%v): go test ./cmd/ftracelab -run TestSessions -update-sessions writes the pages", name, err)
		}
	}
}

// sessionPage writes a session as Markdown.
func sessionPage(name, text string, runs []typedRun, order []string) (string, error) {
	archive := txtar.Parse([]byte(text))
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	p := sessionText{files: files, shown: map[string]bool{}}
	fmt.Fprintf(&p.out, "<!-- Made from %s.txtar by go test ./cmd/ftracelab -run TestSessions -update-sessions. -->\n\n# %s\n",
		name, strings.ToUpper(name[:1])+name[1:])
	script := string(archive.Comment)
	var prose []string
	stdin := ""
	for line := range strings.SplitSeq(script, "\n") {
		if comment, ok := strings.CutPrefix(line, "#"); ok {
			if comment = strings.TrimPrefix(comment, " "); comment == "" {
				p.paragraph(&prose)
				continue
			}
			prose = append(prose, comment)
			continue
		}
		p.paragraph(&prose)
		line = strings.TrimSpace(strings.TrimPrefix(line, "! "))
		verb, rest, _ := strings.Cut(line, " ")
		if verb == "status" {
			_, rest, _ = strings.Cut(rest, " ")
			verb = "exec"
		}
		switch verb {
		case "stdin":
			stdin = rest
		case "exec":
			var r *typedRun
			if program, _, _ := strings.Cut(rest, " "); program == "ftracelab" {
				if len(runs) == 0 {
					return "", fmt.Errorf("no run of %q", rest)
				}
				r, runs = &runs[0], runs[1:]
			}
			p.command(strings.ReplaceAll(rest, "''", `'\''`), stdin, r)
			stdin = ""
		case "cp", "mkdir", "rm":
			if rest := strings.Fields(rest); len(rest) < 2 || rest[0] != "stdout" {
				p.block("sh", verb+" "+strings.Join(rest, " ")+"\n")
			} else {
				fmt.Fprintf(&p.out, "\nWhat it prints is kept as `%s`.\n", rest[1])
			}
		case "damage":
			fmt.Fprintf(&p.out, "\nNow a byte of `%s` is damaged.\n", strings.Fields(rest)[0])
		}
	}
	if len(runs) > 0 {
		return "", fmt.Errorf("%d runs are in no line: %q", len(runs), runs[0].Args)
	}
	p.paragraph(&prose)
	p.out.WriteString("\n")
	if at := slices.Index(order, name); at >= 0 && at+1 < len(order) {
		fmt.Fprintf(&p.out, "Next: [%s](%s.md). ", order[at+1], order[at+1])
	}
	p.out.WriteString("All sessions: [in their order](README.md).\n")
	return p.out.String(), nil
}

// sessionText is a page that is being written.
type sessionText struct {
	out   strings.Builder
	files map[string]string
	shown map[string]bool
}

func (p *sessionText) paragraph(lines *[]string) {
	if len(*lines) > 0 {
		fmt.Fprintf(&p.out, "\n%s\n", markdown(strings.Join(*lines, "\n")))
	}
	*lines = nil
}

// special are characters with a meaning in Markdown or HTML.
var special = regexp.MustCompile("[<>*_\\[\\]`|]")

// markdown is text that Markdown shows as it is.
func markdown(text string) string { return special.ReplaceAllString(text, `\$0`) }

// pageLines is how many lines of a file or an output a page shows.
const pageLines = 40

// block shows a text as it is.
func (p *sessionText) block(lang, text string) {
	lines := strings.SplitAfter(strings.TrimRight(text, "\n"), "\n")
	more := ""
	if len(lines) > pageLines+5 {
		more = fmt.Sprintf("\n… and %d lines more", len(lines)-pageLines)
		lines = lines[:pageLines]
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	for i, line := range lines {
		if r := []rune(strings.TrimRight(line, "\n")); len(r) > 200 {
			lines[i] = string(r[:200]) + " …\n"
		}
	}
	fmt.Fprintf(&p.out, "\n%s%s\n%s%s\n%s\n", fence, lang, strings.TrimRight(strings.Join(lines, ""), "\n"), more, fence)
}

// words are those of a command line, roughly.
var words = regexp.MustCompile(`[\w.,:/-]+`)

// command shows what is typed, the files that it reads, and what it prints.
func (p *sessionText) command(line, stdin string, r *typedRun) {
	shell := regexp.MustCompile(`^(ftracelab shell(?: --?\w+(?:[ =][\w.:=-]+)?)*) (\w+\.sh)((?: \w+)*)$`).FindStringSubmatch(line)
	typed := shell != nil && shell[3] == "" && p.files[shell[2]] != ""
	for _, word := range words.FindAllString(line+" "+stdin, -1) {
		text, ok := p.files[word]
		if !ok || p.shown[word] || typed && word == shell[2] {
			continue
		}
		p.shown[word] = true
		fmt.Fprintf(&p.out, "\n`%s` is\n", word)
		p.block("", text)
	}
	switch {
	case typed:
		fmt.Fprintf(&p.out, "\nIn `%s`:\n", shell[1])
		p.block("sh", p.files[shell[2]])
	case stdin != "" && stdin != "stdout":
		p.block("sh", line+" < "+stdin)
	case stdin == "stdout":
		p.block("sh", "… | "+line)
	default:
		p.block("sh", line)
	}
	if r == nil {
		return
	}
	clean := func(text string) string {
		if r.Work != "" {
			text = strings.ReplaceAll(text, r.Work+"/", "")
		}
		return text
	}
	if out := clean(r.Stdout); out != "" {
		if strings.ContainsFunc(out, func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0xfffd }) {
			p.out.WriteString("\nIt prints bytes that are not text.\n")
		} else {
			p.out.WriteString("\nIt prints\n")
			p.block("", out)
		}
	}
	if errs := clean(r.Stderr); errs != "" {
		p.out.WriteString("\nOn standard error it says\n")
		p.block("", errs)
	}
	if r.Status != 0 {
		fmt.Fprintf(&p.out, "\nIts exit status is %d.\n", r.Status)
	}
}

// transcripts collects what the sessions that run have printed; see TestSessions.
type transcripts struct {
	dir string
	mu  sync.Mutex
	ran []string
}

// setup lets a session be written down.
func (tr *transcripts) setup(env *testscript.Env) error {
	name := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
	tr.mu.Lock()
	tr.ran = append(tr.ran, name)
	tr.mu.Unlock()
	env.Setenv(transcriptEnv, strconv.Itoa(os.Getpid())+":"+filepath.Join(tr.dir, name))
	return nil
}
