package main

import (
	"testing"

	"ftracelab/internal/testutil"
)

// promptBound is the most memory, in bytes of RSS, that a shell may take until it executes
// its first command. It is 30 MB on a quiet computer, and two thirds of that are pages of the
// program's own file. On a busy one it was 33.6 MB once, with the same program.
const promptBound = 36_000_000

// TestFirstPromptMemory starts a shell several times, because what a program shares with
// others counts as far as it happens to be in memory.
func TestFirstPromptMemory(t *testing.T) {
	command := buildCommand(t)
	least := int64(1 << 40)
	for range 5 {
		rss, stderr, err := peak(t, command, nil, "shell", "-c", ":")
		if err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}
		least = min(least, rss)
	}
	t.Logf("%.1f MB", float64(least)/1e6)
	if least > promptBound && !testutil.UnderRace { // the process that starts it is larger then
		t.Errorf("a shell takes %.1f MB before its first command, more than %.1f", float64(least)/1e6, promptBound/1e6)
	}
}
