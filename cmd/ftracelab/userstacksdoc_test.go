package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// shownBlock is a block of a document with commands and what they print.
var shownBlock = regexp.MustCompile("(?ms)^```\n(\\$ ftracelab .*?)^```$")

// TestUserStacksDocument: docs/userstacks.md has what its commands print.
func TestUserStacksDocument(t *testing.T) {
	if testing.Short() {
		t.Skip("many machines are simulated")
	}
	name, err := filepath.Abs("../../docs/userstacks.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	blocks := 0
	now := shownBlock.ReplaceAllStringFunc(string(text), func(block string) string {
		blocks++
		var b strings.Builder
		b.WriteString("```\n")
		for line := range strings.Lines(block) {
			if command, ok := strings.CutPrefix(line, "$ ftracelab "); ok {
				b.WriteString(line)
				b.WriteString(printedBy(t, strings.TrimSpace(command)))
			}
		}
		return b.String() + "```"
	})
	if blocks != 2 {
		t.Errorf("the document shows %d blocks", blocks)
	}
	switch {
	case now == string(text):
	case *updateDecisions:
		if err := os.WriteFile(name, []byte(now), 0o666); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("docs/userstacks.md does not have what its commands print (go test -run TestUserStacksDocument -update-decisions writes it):\n%s", now)
	}
}

// commandWords are those of a command line: quoted ones may have blanks.
var commandWords = regexp.MustCompile(`'[^']*'|\S+`)

// printedBy runs a command line, which may end with | head -N.
func printedBy(t *testing.T, command string) string {
	t.Helper()
	command, head, cut := strings.Cut(command, " | head -")
	var args []string
	for _, w := range commandWords.FindAllString(command, -1) {
		args = append(args, strings.Trim(w, "'"))
	}
	var out, errs bytes.Buffer
	if status := run(context.Background(), args, strings.NewReader(""), &out, &errs); status != 0 {
		t.Fatalf("%s: status %d: %s", command, status, errs.String())
	}
	lines := strings.SplitAfter(out.String(), "\n")
	if cut {
		n, err := strconv.Atoi(head)
		if err != nil || n > len(lines) {
			t.Fatalf("%s: head -%s of %d lines", command, head, len(lines))
		}
		lines = lines[:n]
	}
	for i, line := range lines { // no blanks at the ends of lines
		if body, ok := strings.CutSuffix(line, "\n"); ok {
			lines[i] = strings.TrimRight(body, " ") + "\n"
		}
	}
	return strings.Join(lines, "")
}
