//go:build !race

package testutil

// UnderRace says whether the race detector is on.
const UnderRace = false
