//go:build race

package ringbuf_test

// underRace: the race detector watches. It has nothing to see where all is one
// goroutine, and makes that ten times slower.
const underRace = true
