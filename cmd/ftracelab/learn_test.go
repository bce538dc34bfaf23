package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/shell"

	"ftracelab/lab/lessons"
)

const lessonDocs = "../../docs/lessons"

// TestTenQuestions runs the command of each question: what is quoted stands there.
func TestTenQuestions(t *testing.T) {
	index, err := lessons.Index()
	if err != nil || len(index) != 10 {
		t.Fatal(len(index), err)
	}
	for _, e := range index {
		var out, said strings.Builder
		if status := run(t.Context(), []string{"step", "--url", e.Place, "--view", e.View}, strings.NewReader(""), &out, &said); status != 0 {
			t.Errorf("%s: %s", e.Place, said.String())
		}
		if words := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(words, e.Quote) {
			t.Errorf("%s does not show %q but\n%s", e.Place, e.Quote, words)
		}
	}
}

// What each lesson claims is what the engine does: its pictures and answers, its solution,
// and that its typical mistakes are refused with the words that it names.
func TestLessons(t *testing.T) {
	for _, l := range lessons.All() {
		t.Run(l.Title, func(t *testing.T) {
			if err := l.Verify(t.Context(), bootLesson); err != nil {
				t.Error(err)
			}
		})
	}
	if n := len(lessons.All()); n != 10 {
		t.Errorf("there are %d lessons", n)
	}
}

// docs/lessons is what learn --documents writes.
func TestLessonDocuments(t *testing.T) {
	made := t.TempDir()
	must(t, "learn", "--documents", made)
	docs := map[string]string{}
	for _, name := range ls(t, made) {
		text, err := os.ReadFile(filepath.Join(made, name))
		if err != nil {
			t.Fatal(err)
		}
		docs[name] = string(text)
	}
	if got, want := ls(t, lessonDocs), ls(t, made); !slices.Equal(got, want) {
		t.Errorf("there are %q, not %q", got, want)
	}
	for name, want := range docs {
		got, err := os.ReadFile(filepath.Join(lessonDocs, name))
		if err != nil || string(got) != want {
			t.Errorf("docs/lessons/%s is not current (%v): go generate ./lab/lessons", name, err)
		}
	}
}

// ls are the names in a folder.
func ls(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Each ftracelab command in the lessons of docs/lessons prints the block of text that
// stands below it. TestTenQuestions runs those of the index.
func TestLessonCommands(t *testing.T) {
	files, err := filepath.Glob(lessonDocs + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, file := range files {
		if filepath.Base(file) == "README.md" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for n, line := range lines {
			line = strings.Trim(line, " `")
			if !strings.HasPrefix(line, "ftracelab step --url ") {
				continue
			}
			ran++
			args, err := shell.Fields(line, nil)
			if err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			if status := run(context.Background(), args[1:], strings.NewReader(""), &out, &errs); status != 0 {
				t.Fatalf("%s:%d: status %d: %s", file, n+1, status, errs.String())
			}
			if below := strings.Join(lines[n+3:], "\n"); !strings.HasPrefix(below, "```text\n"+out.String()+"```\n") {
				t.Errorf("%s:%d: the command prints\n%s", file, n+1, out.String())
			}
		}
	}
	if ran < 20 {
		t.Errorf("%d commands", ran)
	}
}

// right are the right answers to a lesson: what its document says.
func rightAnswers(l *lessons.Lesson) lessons.Answers {
	a := lessons.Answers{}
	for _, b := range l.Blocks {
		if q := b.Question; q != nil {
			a[q.ID], _, _ = strings.Cut(q.Answer, "|")
			for i, c := range q.Choices {
				if c.Right {
					a[q.ID] = string(rune('a' + i))
				}
			}
		}
		if b.Exercise != nil {
			a["exercise"] = b.Exercise.Solution
		}
	}
	return a
}

// Right answers are all right. Each wrong one that a lesson knows is refused, with the
// explanation that stands there, and so is one that it does not know.
func TestLessonAnswers(t *testing.T) {
	grade := func(l *lessons.Lesson, a lessons.Answers) lessons.Grade {
		t.Helper()
		g, err := l.Grade(t.Context(), bootLesson, "test", a)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	refused := func(l *lessons.Lesson, id, given, say string) {
		t.Helper()
		for _, a := range grade(l, lessons.Answers{id: given}).Answers {
			if a.ID == id && (a.Right || !a.Answered || a.Say == "" || !strings.Contains(a.Say, say)) {
				t.Errorf("lesson %d, %s: %q gets %+v, not %q", l.Number, id, given, a, say)
			}
		}
	}
	for _, l := range lessons.All() {
		if g := grade(l, rightAnswers(l)); g.Right != g.Of || g.Of < 4 {
			t.Errorf("lesson %d: %d of %d are right: %+v", l.Number, g.Right, g.Of, g.Answers)
		}
		if g := grade(l, nil); g.Right != 0 || g.Answers[0].Answered {
			t.Errorf("lesson %d: nothing is worth %d", l.Number, g.Right)
		}
		for _, b := range l.Blocks {
			q := b.Question
			if q == nil {
				continue
			}
			refused(l, q.ID, "nonsense", "")
			refused(l, q.ID, "-987654321", q.Otherwise)
			for given, say := range q.Wrong {
				refused(l, q.ID, given, say)
			}
			for i, c := range q.Choices {
				if !c.Right {
					refused(l, q.ID, string(rune('A'+i)), c.Say)
				}
			}
		}
	}
	if _, err := lessons.All()[0].Grade(t.Context(), bootLesson, "test", lessons.Answers{"other": "1"}); err == nil || !strings.Contains(err.Error(), `no question "other"`) {
		t.Errorf("an answer to no question: %v", err)
	}
}

// A learner at a pipe, who is wrong first, and a teacher with two files.
func TestLearn(t *testing.T) {
	var out, errs bytes.Buffer
	learn := func(input string, args ...string) string {
		t.Helper()
		out.Reset()
		errs.Reset()
		if status := run(context.Background(), append([]string{"learn"}, args...), strings.NewReader(input), &out, &errs); status != 0 {
			t.Fatalf("%v: status %d: %s", args, status, errs.String())
		}
		return out.String()
	}
	has := func(text string, all ...string) {
		t.Helper()
		text = strings.Join(strings.Fields(text), " ") // lines are wrapped
		for _, s := range all {
			if !strings.Contains(text, s) {
				t.Errorf("%q is missing in\n%s", s, text)
			}
		}
	}
	has(learn("", "--list"), "1 The bytes of an event", "10 Four ways")
	has(learn("", "1"), "0 of 5 right at the first try; 5 not answered.")
	typed := "323\n10\nskip\nb\nx\nc\necho short > trace_marker\ncheck\nagain\nhint\nprintf '%0120d' 0 > trace_marker\ncheck\n"
	first := learn(typed, "1")
	has(first, "No. That is 0x143 as a whole.", "Yes. 0x143 is 1010 00011", "The answer is 12.", "Answer with one letter from a to c",
		"It is too short.", "Up to 112 bytes", "Yes. A long event costs", "2 of 5 right at the first try; 1 not answered.")
	if again := learn(typed, "1"); again != first {
		t.Error("the same answers are answered in another way")
	}

	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	for name, text := range map[string]string{
		good: "half: 0\nmoment: 9\nreader: b\nexercise: reserve-commit?step=18\n",
		bad:  "half: 16\nexercise: |\n  nothing\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	has(learn("", "2", "--answers", good), "4 of 4 right")
	var report lessons.Report
	if err := json.Unmarshal([]byte(learn("", "2", "--json", "--answers", good, "--answers", bad)), &report); err != nil {
		t.Fatal(err)
	}
	if g := report.Grades; len(g) != 2 || g[0].Right != 4 || g[1].Right != 0 || g[1].Answers[1].Answered {
		t.Errorf("%+v", report)
	}
	has(learn("exercise: |\n  while :; do :; done\n", "1", "--answers", "-"), "more than 5000 commands")
	has(learn("exercise: |\n  cat trace_pipe\n", "1", "--answers", "-"), "longer than")

	for _, c := range []struct {
		input, say string
		args       []string
	}{
		{"", "no lesson 11; there are 1 to 10", []string{"11"}},
		{"", `"first" is not the number of a lesson`, []string{"first"}},
		{"", "--json needs --answers", []string{"1", "--json"}},
		{"", "no such file", []string{"1", "--answers", filepath.Join(dir, "none")}},
		{"- a\n", "line 1", []string{"1", "--answers", "-"}},
		{"delta: 10\nother: 1\n", `no question "other"`, []string{"1", "--answers", "-"}},
	} {
		errs.Reset()
		if status := run(context.Background(), append([]string{"learn"}, c.args...), strings.NewReader(c.input), &out, &errs); status == 0 || !strings.Contains(errs.String(), c.say) {
			t.Errorf("%v: status %d, %s", c.args, status, errs.String())
		}
	}
}
