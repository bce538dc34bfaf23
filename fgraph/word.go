package fgraph

// A word of a shadow stack that is not part of a frame or of reserved data
// leads back to the frame it belongs to:
//
//	 63        28 27      21 20  17 16    12 11  10 9         0
//	┌────────────┬──────────┬──────┬────────┬──────┬───────────┐
//	│     0      │    0     │ user │ size-1 │  2   │ words back│ data
//	├────────────┼──────────┴──────┴────────┼──────┼───────────┤
//	│ not for 0  │ bitmap of users (27–12)  │  1   │ words back│ bitmap
//	├────────────┼──────────────────────────┼──────┼───────────┤
//	│     0      │            0             │  0   │ words back│ reserved
//	└────────────┴──────────────────────────┴──────┴───────────┘
//
// Kernel: FGRAPH_* constants, kernel/trace/fgraph.c (the constants, not the
// comment above them, which gives other positions for data words).
//
// Departure: the kernel sets the bit of user 0 in the bitmap of every frame, because the
// mark of a tail call needs a bit, and so user 0 gets every return. Here bit 28, which
// the kernel leaves 0, says where user 0 did not want it; the other words are the
// kernel's. With Config.AlwaysReturnZero bit 28 is never set.
const (
	offsetMask = 1<<10 - 1

	typeShift    = 10
	typeMask     = 3
	typeReserved = 0
	typeBitmap   = 1
	typeData     = 2

	bitmapShift = 12
	bitmapMask  = 1<<16 - 1
	// notZeroBit says that user 0 did not want the return, although its bit is set.
	notZeroBit = 1 << 28

	dataSizeShift = 12
	dataSizeMask  = 1<<5 - 1
	dataUserShift = 17
	dataUserMask  = 1<<4 - 1
)

func wordBack(w uint64) int     { return int(w & offsetMask) }
func wordType(w uint64) int     { return int(w >> typeShift & typeMask) }
func wordDataUser(w uint64) int { return int(w >> dataUserShift & dataUserMask) }
func wordDataSize(w uint64) int { return int(w>>dataSizeShift&dataSizeMask) + 1 }
func wordBitmap(w uint64) uint16 {
	return uint16(w >> bitmapShift & bitmapMask)
}

func reservedWord(back int) uint64 {
	return typeReserved<<typeShift | uint64(back)
}

func bitmapWord(bits uint16, back int) uint64 {
	return uint64(bits)<<bitmapShift | typeBitmap<<typeShift | uint64(back)
}

func dataWord(user, size, back int) uint64 {
	return uint64(user)<<dataUserShift | uint64(size-1)<<dataSizeShift | typeData<<typeShift | uint64(back)
}
