package fusefs

import "testing"

func TestParseStat(t *testing.T) {
	const rest = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 6 0 0"
	for _, tt := range []struct {
		text, comm string
		cpu        int
	}{
		{"10 (sh)" + rest, "sh", 6},
		{"10 (a) (b c)" + rest, "a) (b c", 6},
		{"10 (sh) S 1 2", "", 0},
		{"10 sh" + rest, "", 0},
		{")(", "", 0},
		{"", "", 0},
	} {
		if comm, cpu := parseStat([]byte(tt.text)); comm != tt.comm || cpu != tt.cpu {
			t.Errorf("%q: %q on CPU %d, want %q on %d", tt.text, comm, cpu, tt.comm, tt.cpu)
		}
	}
}
