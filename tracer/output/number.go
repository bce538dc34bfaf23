package output

// le reads n bytes at offset off as a little-endian number. Bytes outside the record
// are 0, so a record that is too short prints as zeros, as it would from the kernel's
// zeroed pages.
func le(data []byte, off, n int) uint64 {
	if off < 0 || n < 0 || off+n > len(data) {
		return 0
	}
	var v uint64
	for i := n - 1; i >= 0; i-- {
		v = v<<8 | uint64(data[off+i])
	}
	return v
}

func le32(data []byte, off int) uint32 {
	if off < 0 || off+4 > len(data) {
		return 0
	}
	b := data[off : off+4]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

func le64(data []byte, off int) uint64 {
	if off < 0 || off+8 > len(data) {
		return 0
	}
	b := data[off : off+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// appendLE appends the low n bytes of v, lowest first.
func appendLE(dst []byte, v uint64, n int) []byte {
	for ; n > 0; n-- {
		dst = append(dst, byte(v))
		v >>= 8
	}
	return dst
}

// padded appends v in at least width columns, with blanks in front of it.
func padded(dst []byte, v uint64, width int) []byte {
	if v < 10 && width > 0 {
		return append(append(dst, blankText[:width-1]...), byte('0'+v))
	}
	var digits [20]byte
	i := len(digits)
	for {
		i--
		digits[i] = byte('0' + v%10)
		if v /= 10; v == 0 {
			break
		}
	}
	if n := width - (len(digits) - i); n > 0 {
		dst = append(dst, blankText[:n]...)
	}
	return append(dst, digits[i:]...)
}

// paddedInt is padded for a signed number.
func paddedInt(dst []byte, v int64, width int) []byte {
	if v >= 0 {
		return padded(dst, uint64(v), width)
	}
	start := len(dst)
	dst = append(dst, blankText[:width]...)
	dst = padded(append(dst[:start], '-'), uint64(-v), 0)
	if n := width - (len(dst) - start); n > 0 {
		dst = append(dst, blankText[:n]...)
		copy(dst[start+n:], dst[start:len(dst)-n])
		copy(dst[start:], blankText[:n])
	}
	return dst
}

// left appends v in at least width columns, with blanks behind it.
func left(dst []byte, v int64, width int) []byte {
	start := len(dst)
	dst = paddedInt(dst, v, 0)
	if n := width - (len(dst) - start); n > 0 {
		dst = append(dst, blankText[:n]...)
	}
	return dst
}

// zeros appends exactly width digits: the lowest ones of v.
func zeros(dst []byte, v uint64, width int) []byte {
	dst = append(dst, "00000000000000000000"[:width]...)
	i := len(dst)
	for ; width >= 2; width -= 2 {
		i -= 2
		pair := 2 * (v % 100)
		v /= 100
		dst[i], dst[i+1] = digitPairs[pair], digitPairs[pair+1]
	}
	if width > 0 {
		dst[i-1] = byte('0' + v%10)
	}
	return dst
}

const digitPairs = "" +
	"00010203040506070809" + "10111213141516171819" + "20212223242526272829" + "30313233343536373839" +
	"40414243444546474849" + "50515253545556575859" + "60616263646566676869" + "70717273747576777879" +
	"80818283848586878889" + "90919293949596979899"

const hexDigits = "0123456789abcdef"

// hexPadded appends v in hexadecimal with at least width digits, zeros in front.
func hexPadded(dst []byte, v uint64, width int) []byte {
	n := 1
	for x := v >> 4; x != 0; x >>= 4 {
		n++
	}
	for n = max(n, width); n > 0; n-- {
		dst = append(dst, hexDigits[v>>(4*(n-1))&15])
	}
	return dst
}

// right appends s in at least width columns, with blanks in front of it.
func right(dst []byte, s string, width int) []byte {
	if n := width - len(s); n > 0 {
		dst = append(dst, blankText[:n]...)
	}
	return append(dst, s...)
}

const blankText = "                                                                "

// microseconds rounds ns to the nearest microsecond.
//
// Kernel: ns2usecs, kernel/trace/trace.c.
func microseconds(ns uint64) uint64 { return (ns + 500) / 1000 }

// text reads a string that ends at a NUL or at the end of the record.
func text(data []byte, off int) []byte {
	if off < 0 || off >= len(data) {
		return nil
	}
	data = data[off:]
	for i, c := range data {
		if c == 0 {
			return data[:i]
		}
	}
	return data
}
