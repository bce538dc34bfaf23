package capture

import (
	"bytes"
	"sync"

	"github.com/cespare/xxhash/v2"
)

// Frames that come as names get addresses that neither a kernel nor a process uses:
// kernel frames in a hole of the upper half of the address space, user frames beyond
// the end of the lower half. An address is made from a 44-bit hash of the text, so the
// same text has the same address in every capture. With 10,000 different frames, two of
// them share an address in one of 350,000 captures.
const (
	pseudoKernel = 0xffff_1000_0000_0000
	pseudoUser   = 0x0010_0000_0000_0000
	pseudoBits   = 44
)

// kernelStart is where the upper half of a 48-bit address space begins.
const kernelStart = 0xffff_8000_0000_0000

// maxFrameTexts is how many texts are kept for display, counted separately for kernel
// and user frames: the many user frames must not displace the names of the few kernel
// frames.
const (
	maxFrameTexts = 1 << 16
	maxFrameText  = 256     // bytes kept of one text
	maxFrameBytes = 4 << 20 // bytes kept of all texts
)

// frames keeps the texts of a capture's frames for display. One goroutine fills it,
// others read it.
type frames struct {
	mu                   sync.RWMutex
	kernel               map[uint64]string
	user                 map[uint64]string
	kernelFull, userFull bool
	kernelSize, userSize int // how many bytes the texts have
}

func newFrames() *frames {
	return &frames{kernel: map[uint64]string{}, user: map[uint64]string{}}
}

// text gives the text of a frame.
func (f *frames) text(addr uint64) (string, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if s, ok := f.kernel[addr]; ok {
		return s, true
	}
	s, ok := f.user[addr]
	return s, ok
}

// keep remembers a text for addr, unless there is one already.
func (f *frames) keep(addr uint64, kernel bool, text []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	table, full, size := f.user, &f.userFull, &f.userSize
	if kernel {
		table, full, size = f.kernel, &f.kernelFull, &f.kernelSize
	}
	if *full {
		return
	}
	if _, ok := table[addr]; !ok {
		s := string(text[:min(len(text), maxFrameText)])
		table[addr] = s
		*size += len(s)
		*full = len(table) == maxFrameTexts || *size >= maxFrameBytes
	}
}

// pseudoAddress makes the address of a frame of which only a text is known.
func pseudoAddress(text []byte, kernel bool) uint64 {
	h := xxhash.Sum64(text) >> (64 - pseudoBits)
	if kernel {
		return pseudoKernel | h
	}
	return pseudoUser | h
}

// parseHex reads a hexadecimal number that fills b.
func parseHex(b []byte) (uint64, bool) {
	if len(b) == 0 || len(b) > 16 {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		d := hexDigit[c]
		if d > 15 {
			return 0, false
		}
		v = v<<4 | uint64(d)
	}
	return v, true
}

// hexDigit gives the value of a hexadecimal digit, and 0xff for any other character.
var hexDigit = hexDigits()

func hexDigits() (t [256]uint8) {
	for c := range t {
		t[c] = 0xff
	}
	for i, c := range "0123456789abcdef" {
		t[c] = uint8(i)
	}
	for i, c := range "ABCDEF" {
		t[c] = uint8(10 + i)
	}
	return t
}

// parseUint reads a decimal number that fills b.
func parseUint(b []byte) (uint64, bool) {
	if len(b) == 0 || len(b) > 19 {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	return v, true
}

// parseSeconds reads seconds with a fraction of up to nine digits, and gives
// nanoseconds. A number without a fraction is given as it is: it comes from a clock
// that counts something else.
func parseSeconds(b []byte) (v uint64, fraction, ok bool) {
	dot := bytes.IndexByte(b, '.')
	if dot < 0 {
		v, ok = parseUint(b)
		return v, false, ok
	}
	seconds, ok := parseUint(b[:dot])
	digits := b[dot+1:]
	part, ok2 := parseUint(digits)
	if !ok || !ok2 || len(digits) > 9 || seconds > 1<<33 {
		return 0, false, false
	}
	for range 9 - len(digits) {
		part *= 10
	}
	return seconds*1e9 + part, true, true
}

// full reports whether a table is full. Only the goroutine that fills the tables may
// ask.
func (f *frames) full(kernel bool) bool {
	if kernel {
		return f.kernelFull
	}
	return f.userFull
}
