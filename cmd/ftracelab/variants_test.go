package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"ftracelab/tracer/record"
)

// TestVariantsDocument: docs/variants.md has what the command prints, and a heading for
// each design with a map.
func TestVariantsDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/variants.md")
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if status := run(context.Background(), []string{"experiment", "variants"}, strings.NewReader(""), &out, &errs); status != 0 {
		t.Fatalf("status %d: %s", status, errs.String())
	}
	if !strings.Contains(string(text), "```text\n"+out.String()+"```\n") {
		t.Errorf("docs/variants.md does not have what the command prints:\n%s", out.String())
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
