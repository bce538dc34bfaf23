package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestHistoriesBesideEachOther: sessions that begin and type at the same time lose no line,
// also when the file is so large that it becomes the older one.
func TestHistoriesBesideEachOther(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "history")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Repeat("old line\n", historyBytes/9)), 0o600); err != nil {
		t.Fatal(err)
	}
	const sessions, each = 8, 100
	var all sync.WaitGroup
	for s := range sessions {
		all.Go(func() {
			for n := range each {
				_, keep := keptLines(file)
				keep(fmt.Sprintf("session %d line %d", s, n))
			}
		})
	}
	all.Wait()
	lines, _ := keptLines(file)
	seen := map[string]int{}
	for _, line := range lines {
		seen[line]++
	}
	for s := range sessions {
		for n := range each {
			if line := fmt.Sprintf("session %d line %d", s, n); seen[line] != 1 {
				t.Errorf("%q is there %d times", line, seen[line])
			}
		}
	}
	if _, err := os.Stat(file + ".old"); err != nil {
		t.Error(err)
	}
	if !slices.Contains(lines, "old line") {
		t.Error("the older lines are gone")
	}
}
