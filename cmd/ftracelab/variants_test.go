package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ftracelab/tracer/record"
)

var variantsTable = regexp.MustCompile("(?s)```text\n.*?```\n")

// TestVariantsDocument: docs/variants.md has what the command prints, and a heading for
// each design that writes kernel stacks in a way of its own. With -update-decisions it is
// written.
func TestVariantsDocument(t *testing.T) {
	const name = "../../docs/variants.md"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if status := run(context.Background(), []string{"experiment", "variants"}, strings.NewReader(""), &out, &errs); status != 0 {
		t.Fatalf("status %d: %s", status, errs.String())
	}
	table := "```text\n" + out.String() + "```\n"
	if *updateDecisions {
		at := variantsTable.FindIndex(text)
		if at == nil {
			t.Fatal("there is no table to replace")
		}
		text = slices.Concat(text[:at[0]], []byte(table), text[at[1]:])
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(string(text), table) {
		t.Errorf("docs/variants.md does not have what the command prints (go test -run TestVariantsDocument -update-decisions writes it):\n%s", out.String())
	}
	headings := ""
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "### ") {
			headings += line
		}
	}
	for _, name := range record.DesignNames() {
		if d, _ := record.NamedDesign(name, 0, 0); (d.Kernel == record.StackID || d.Kernel == record.CodedStack) && d.User != record.DeferredStack && !strings.Contains(headings, "`"+name+"`") {
			t.Errorf("docs/variants.md has no heading for %s", name)
		}
	}
}
