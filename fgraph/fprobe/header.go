package fprobe

// A word of a shadow stack says to whom the data behind it belongs:
//
//	 63   60 59                                  0
//	┌───────┬─────────────────────────────────────┐
//	│ words │ the probe's address without its     │ header
//	│       │ top four bits, which are all set    │
//	├───────┴─────────────────────────────────────┤
//	│ data of the probe, 0…15 words               │
//
// A header of 0 ends the list.
//
// Kernel: arch_encode_fprobe_header, arch/x86/include/asm/fprobe.h of 6.14.
const (
	sizeShift  = 60
	addrMask   = 1<<sizeShift - 1
	topNibble  = 0xf << sizeShift
	noProbe    = 0
	headerSize = 1 // in words
)

// MaxDataWords is how many words of data a probe can have: what fits into four bits.
//
// Kernel: MAX_FPROBE_DATA_SIZE_WORD of 6.14.
const MaxDataWords = 15

func header(addr uint64, words int) uint64 { return addr&addrMask | uint64(words)<<sizeShift }

// parseHeader is the opposite; ok is false at the end of the list.
func parseHeader(h uint64) (addr uint64, words int, ok bool) {
	if h == noProbe {
		return 0, 0, false
	}
	return h | topNibble, int(h >> sizeShift), true
}
