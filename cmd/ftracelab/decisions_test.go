package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"ftracelab/report/experiment"
)

var updateDecisions = flag.Bool("update-decisions", false, "write the answers that the command gives into docs/stackmap-decisions.md")

const decisions = "../../docs/stackmap-decisions.md"

// answered is a line that names an experiment, and the quotation below it.
var answered = regexp.MustCompile("(?m)^`ftracelab experiment ([a-z-]+)`:\n\n((?:> .*\n)+)")

// TestDecisionsDocument: docs/stackmap-decisions.md quotes the answer of each experiment
// that comes with the program, as the command gives it, and has no number of its own.
func TestDecisionsDocument(t *testing.T) {
	if testing.Short() {
		t.Skip("many machines are simulated")
	}
	text, err := os.ReadFile(decisions)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	now := answered.ReplaceAllStringFunc(string(text), func(part string) string {
		m := answered.FindStringSubmatch(part)
		name, quoted := m[1], strings.Join(strings.Fields(strings.ReplaceAll("\n"+m[2], "\n> ", "\n")), " ")
		times[name]++
		answer := answerOf(t, name)
		if quoted == answer {
			return part
		}
		if !*updateDecisions {
			t.Errorf("%s answers\n%s\nand the document says\n%s\n(go test -run TestDecisionsDocument -update-decisions writes it)", name, answer, quoted)
		}
		return strings.Replace(part, m[2], quotation(answer), 1)
	})
	if *updateDecisions && now != string(text) {
		if err := os.WriteFile(decisions, []byte(now), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range experiment.BuiltinNames() {
		if times[name] != 1 {
			t.Errorf("the document quotes %s %d times, want once", name, times[name])
		}
	}
	own := regexp.MustCompile("(?s)```.*?```|`[^`]*`").ReplaceAllString(answered.ReplaceAllString(string(text), ""), "")
	if numbers := regexp.MustCompile(`\b\d.*`).FindAllString(own, -1); numbers != nil {
		t.Errorf("no command gives these numbers: %q", numbers)
	}
}

// answerOf runs an experiment.
func answerOf(t *testing.T, name string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(context.Background(), []string{"experiment", name, "--format", "json"}, strings.NewReader(""), &out, &errs); status != 0 {
		t.Fatalf("%s: status %d: %s", name, status, errs.String())
	}
	var table struct{ Answer string }
	if err := json.Unmarshal(out.Bytes(), &table); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return table.Answer
}

// quotation is a text as a quotation of Markdown.
func quotation(text string) string {
	var b strings.Builder
	line := ">"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > 118 {
			b.WriteString(line + "\n")
			line = ">"
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}
