//go:build !amd64

package cell

// forbiddenHere are forbidden calls that only this architecture has.
var forbiddenHere []uint32

var openingHere []uint32
