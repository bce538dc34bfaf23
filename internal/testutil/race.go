//go:build race

package testutil

// UnderRace says that the race detector watches: the program takes some ten times as
// long and several times the memory.
const UnderRace = true
