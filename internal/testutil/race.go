//go:build race

package testutil

// UnderRace says whether the race detector is on. The program then takes some ten times
// as long, and several times the memory.
const UnderRace = true
