package capture

import (
	"bytes"
	"sync"

	"github.com/cespare/xxhash/v2"
)

// Frames that come as names get addresses of their own, where no kernel and no
// process has any: kernel frames in a hole of the upper half, user frames beyond
// the lower one. The same text has the same address in every capture, for it is
// made from a 44-bit hash of the text: with 10,000 different frames two of them
// share an address once in 350,000 captures.
const (
	pseudoKernel = 0xffff_1000_0000_0000
	pseudoUser   = 0x0010_0000_0000_0000
	pseudoBits   = 44
)

// kernelStart is where the upper half of a 48-bit address space begins.
const kernelStart = 0xffff_8000_0000_0000

// maxFrameTexts bounds the texts kept for display, for each of kernel and user;
// kernel frames are few, and user frames must not displace their names.
const (
	maxFrameTexts = 1 << 16
	maxFrameText  = 256     // bytes kept of one
	maxFrameBytes = 4 << 20 // of all
)

// frames keeps what the frames of a capture looked like, for display. It is filled
// by one goroutine and read by others.
type frames struct {
	mu                   sync.RWMutex
	kernel               map[uint64]string
	user                 map[uint64]string
	kernelFull, userFull bool
	kernelSize, userSize int // bytes of the texts
}

func newFrames() *frames {
	return &frames{kernel: map[uint64]string{}, user: map[uint64]string{}}
}

// text is the text of a frame.
func (f *frames) text(addr uint64) (string, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if s, ok := f.kernel[addr]; ok {
		return s, true
	}
	s, ok := f.user[addr]
	return s, ok
}

// keep remembers the text of addr. The first text stays.
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

// pseudoAddress is the address of a frame that is only a text.
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

// hexDigit is the value of a digit, 0xff of anything else.
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

// parseSeconds reads seconds with a fraction of up to nine digits as nanoseconds;
// without a fraction the number itself, the unit of a clock that counts.
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

// full reports whether a table takes no more texts. Only the goroutine that fills
// the tables may ask.
func (f *frames) full(kernel bool) bool {
	if kernel {
		return f.kernelFull
	}
	return f.userFull
}
