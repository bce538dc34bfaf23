package work

import "testing"

func TestLinesOf(t *testing.T) {
	for _, c := range []struct{ first, n, want int }{{0, 0, 0}, {0, 1, 1}, {0, 8, 1}, {7, 1, 1}, {7, 2, 2}, {0, 9, 2}, {5, 20, 4}} {
		if got := LinesOf(c.first, c.n); got != c.want {
			t.Errorf("%d words from %d on: %d lines, want %d", c.n, c.first, got, c.want)
		}
	}
}

func TestCount(t *testing.T) {
	var none *Count
	none.Add(1, 2, 3, 4)
	var c Count
	c.Add(1, 2, 3, 4)
	c.Add(1, 0, 0, 0)
	if want := (Count{Atomic: 2, Words: 2, Lines: 3, Lookups: 4}); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
}
