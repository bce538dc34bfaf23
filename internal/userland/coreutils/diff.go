package coreutils

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"ftracelab/internal/userland/tool"
)

// Diff compares two files and writes how the first becomes the second, in the
// form of commands (1,2c3).
func Diff(c *tool.Call) int {
	opts, files, ok := c.Options("q")
	if !ok || len(files) != 2 {
		return c.Usage("two files are needed")
	}
	var texts [2][]string
	var ends [2]bool // with a newline
	for n, name := range files {
		ends[n] = true
		status := c.EachFile([]string{name}, func(_ string, r io.Reader) error {
			return tool.ForLines(r, func(line string, newline bool) bool {
				texts[n] = append(texts[n], line)
				ends[n] = newline
				return c.Hold(line) && !c.Stopped()
			})
		})
		if status != 0 || c.Full() {
			return 2
		}
	}
	// A last line without its newline differs from one with it.
	for n := range texts {
		if last := len(texts[n]) - 1; !ends[n] {
			texts[n][last] += noNewline
		}
	}
	changes := compareLines(texts[0], texts[1])
	switch {
	case len(changes) == 0:
		return 0
	case len(opts) > 0:
		c.Printf("Files %s and %s differ\n", files[0], files[1])
		return 1
	}
	for _, ch := range changes {
		c.Printf("%s\n", ch)
		diffLines(c, "< ", texts[0][ch.a:ch.aEnd])
		if ch.aEnd > ch.a && ch.bEnd > ch.b {
			c.Printf("---\n")
		}
		diffLines(c, "> ", texts[1][ch.b:ch.bEnd])
	}
	return 1
}

// noNewline marks a last line that no newline ends.
const noNewline = "\n\\ No newline at end of file"

func diffLines(c *tool.Call, mark string, lines []string) {
	for _, line := range lines {
		c.Printf("%s%s\n", mark, line)
	}
}

// change says that lines a…aEnd of one text stand where lines b…bEnd of the
// other do; counted from 0, ends left out.
type change struct{ a, aEnd, b, bEnd int }

func (ch change) String() string {
	kind := byte('c')
	switch {
	case ch.a == ch.aEnd:
		kind = 'a'
	case ch.b == ch.bEnd:
		kind = 'd'
	}
	return fmt.Sprintf("%s%c%s", lineRange(ch.a, ch.aEnd), kind, lineRange(ch.b, ch.bEnd))
}

// lineRange is 3 or 3,5; of no lines, the line they would follow.
func lineRange(from, end int) string {
	if end-from <= 1 {
		return strconv.Itoa(end)
	}
	return fmt.Sprintf("%d,%d", from+1, end)
}

// maxEdits bounds the search for the shortest way from one text to the other;
// beyond it the texts are taken to differ as a whole.
const maxEdits = 2000

// compareLines gives the shortest list of changes that make b of a (Myers'
// greedy algorithm).
func compareLines(a, b []string) []change {
	first := 0
	for first < len(a) && first < len(b) && a[first] == b[first] {
		first++
	}
	endA, endB := len(a), len(b)
	for endA > first && endB > first && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	a, b = a[first:endA], b[first:endB]
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	whole := []change{{first, endA, first, endB}}
	if len(a) == 0 || len(b) == 0 {
		return whole
	}
	limit := min(len(a)+len(b), maxEdits)
	reach := make([]int, 2*limit+3) // by diagonal: how far along a
	var trace [][]int
	for d := 0; d <= limit; d++ {
		trace = append(trace, append([]int(nil), reach[limit-d:limit+d+3]...))
		for k := -d; k <= d; k += 2 {
			at := limit + 1 + k
			x := reach[at-1] + 1
			if k == -d || k != d && reach[at-1] < reach[at+1] {
				x = reach[at+1]
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			reach[at] = x
			if x >= len(a) && x-k >= len(b) {
				return walkBack(trace, len(a), len(b), first)
			}
		}
	}
	return whole
}

// walkBack follows the search from its end and joins single edits that touch.
func walkBack(trace [][]int, x, y, first int) []change {
	var changes []change
	for d := len(trace) - 1; d > 0; d-- {
		reach := trace[d] // of diagonals -d-1…d+1
		k := x - y
		at := k + d + 1
		prev := k - 1
		if k == -d || k != d && reach[at-1] < reach[at+1] {
			prev = k + 1
		}
		fromX := reach[prev+d+1]
		fromY := fromX - prev
		edit := change{first + fromX, first + fromX + 1, first + fromY, first + fromY}
		if prev > k {
			edit = change{first + fromX, first + fromX, first + fromY, first + fromY + 1}
		}
		if n := len(changes) - 1; n >= 0 && changes[n].a == edit.aEnd && changes[n].b == edit.bEnd {
			changes[n].a, changes[n].b = edit.a, edit.b
		} else {
			changes = append(changes, edit)
		}
		x, y = fromX, fromY
	}
	slices.Reverse(changes)
	return changes
}
