//go:build !race

package testutil

// UnderRace says that the race detector watches.
const UnderRace = false
