package main

import (
	"os"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
)

// TestStackTables: the tables of stacks in docs/calibration.md are what captures and
// machine give.
func TestStackTables(t *testing.T) {
	subsystems := testutil.FromEnv(t, "FTRACELAB_SUBSYSTEMS", "the folder with the captures of subsystems")
	tables, err := varietyTables(testutil.Oracle(t), subsystems)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/calibration.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), tableBegin+"\n"+tables+"\n"+tableEnd) {
		t.Errorf("run go run ./internal/learn -stacks docs/calibration.md; want\n%s", tables)
	}
}
