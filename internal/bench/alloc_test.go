package bench

import (
	"strings"
	"testing"
)

// Nothing is allocated per event: not by a writer, nor by a reader beside it.
// What starting two goroutines takes is the same for any number of events.
func TestNoAllocations(t *testing.T) {
	for _, c := range comparisons(new(traces), new(cMaps)) { // the maps in C are not asked
		if c.missing != "" && c.id[0] != 'S' || c.counted != nil {
			continue
		}
		t.Run(strings.ReplaceAll(c.id, "/", "-"), func(t *testing.T) {
			run, err := c.ours()
			if err != nil {
				t.Fatal(err)
			}
			const n = 100_000
			if _, _, err := run(n); err != nil { // takes the pages that are used from now on
				t.Fatal(err)
			}
			most := 0.0
			if c.rounds == pairRounds {
				most = n / 100
			}
			if got := testing.AllocsPerRun(3, func() { _, _, _ = run(n) }); got > most {
				t.Errorf("%v allocations for %d events", got, n)
			}
		})
	}
}
