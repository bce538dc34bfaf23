package printfmt

import "testing"

// A time in jiffies is printed in milliseconds if it is known how many jiffies a second
// has. A part of a millisecond counts as one.
func TestJiffiesToMsecs(t *testing.T) {
	p, err := Compile(`"%u %u", jiffies_to_msecs(1), jiffies_to_msecs(7)`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if u := p.Unknown(); len(u) != 0 {
		t.Errorf("unknown: %q", u)
	}
	for hz, want := range map[uint64]string{
		100: "10 70", 250: "4 28", 300: "4 24", 1000: "1 7", 2000: "1 4",
		0: "[unknown jiffies_to_msecs] [unknown jiffies_to_msecs]",
	} {
		if got := string(p.Append(nil, nil, &Env{HZ: hz})); got != want {
			t.Errorf("HZ %d: %q, want %q", hz, got, want)
		}
	}
}
