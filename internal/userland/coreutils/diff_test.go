package coreutils

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// The changes make one text of the other, do not touch, and a shortest list of
// single edits is no longer than theirs.
func TestDiffMakesTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 3), strconv.Itoa), 0, 12)
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		var made []string
		at, edits := 0, 0
		for n, ch := range compareLines(a, b) {
			if ch.a == ch.aEnd && ch.b == ch.bEnd || n > 0 && ch.a == at {
				t.Fatalf("change %d: %+v", n, ch)
			}
			made = append(append(made, a[at:ch.a]...), b[ch.b:ch.bEnd]...)
			edits += ch.aEnd - ch.a + ch.bEnd - ch.b
			at = ch.aEnd
		}
		if made = append(made, a[at:]...); !slices.Equal(made, b) {
			t.Fatalf("%q, want %q", made, b)
		}
		if best := len(a) + len(b) - 2*common(a, b); edits != best {
			t.Fatalf("%d edits, %d will do", edits, best)
		}
	})
}

// common is the length of the longest common subsequence.
func common(a, b []string) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for n, y := range b {
			diagonal, row[n+1] = row[n+1], max(row[n], map[bool]int{true: diagonal + 1, false: row[n+1]}[x == y])
		}
	}
	return row[len(b)]
}
