package output

import "strconv"

// appendBinaryPrintf appends the text of a trace_printk, of which the kernel has saved
// the format and the unformatted arguments. Numbers have 4 bytes, or 8 if the format
// says so, and lie on 4-byte boundaries. Strings lie between them, with their NUL.
// Pointers with an extension, except for symbols, were formatted when they were
// recorded, so they are strings as well.
//
// Kernel: bstr_printf, lib/vsprintf.c.
func (p *Printer) appendBinaryPrintf(dst []byte, format string, args []byte) []byte {
	a := argReader{buf: args}
	for i := 0; i < len(format); {
		if format[i] != '%' {
			dst = append(dst, format[i])
			i++
			continue
		}
		var v verb
		v, i = parseVerb(format, i+1, &a)
		dst = p.appendVerb(dst, v, &a)
	}
	return dst
}

// argReader takes the arguments out of a bprint entry, one after the other. Behind the
// entry's end all of them are zero.
type argReader struct {
	buf []byte
	off int
}

func (a *argReader) number(size int) uint64 {
	if align := min(size, 4); a.off%align != 0 {
		a.off += align - a.off%align
	}
	v := le(a.buf, a.off, size)
	a.off += size
	return v
}

func (a *argReader) str() []byte {
	s := text(a.buf, a.off)
	a.off += len(s) + 1
	return s
}

// verb is one conversion of a format, such as %5d.
type verb struct {
	letter               byte // 0 at the end of the format
	left, zero, alt, pos bool
	blank                bool
	width, precision     int // precision -1: none given
	size                 int // bytes of a number
	ext                  byte
}

// maxWidth limits the width of a conversion: a damaged one could be huge.
const maxWidth = lineSize

// parseVerb reads the conversion after a percent sign. It also returns where the format
// goes on. A width given as * is taken from a.
func parseVerb(f string, i int, a *argReader) (verb, int) {
	v := verb{precision: -1, size: 4}
flags:
	for ; i < len(f); i++ {
		switch f[i] {
		case '-':
			v.left = true
		case '0':
			v.zero = true
		case '#':
			v.alt = true
		case '+':
			v.pos = true
		case ' ':
			v.blank = true
		default:
			break flags
		}
	}
	v.width, i = parseWidth(f, i, a)
	if v.width < 0 {
		v.left, v.width = true, min(-v.width, maxWidth)
	}
	if i < len(f) && f[i] == '.' {
		v.precision, i = parseWidth(f, i+1, a)
		v.precision = max(0, v.precision)
	}
	for ; i < len(f); i++ {
		switch f[i] {
		case 'l', 'z', 't', 'L', 'q', 'j':
			v.size = 8
			continue
		case 'h':
			v.size /= 2
			continue
		}
		break
	}
	if i >= len(f) {
		return v, i
	}
	v.letter = f[i]
	i++
	if v.letter == 'p' {
		start := i
		for i < len(f) && isAlnum(f[i]) {
			i++
		}
		if i > start {
			v.ext = f[start]
		}
	}
	return v, i
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func parseWidth(f string, i int, a *argReader) (int, int) {
	if i < len(f) && f[i] == '*' {
		n := int(int32(a.number(4)))
		return max(-maxWidth, min(n, maxWidth)), i + 1
	}
	n := 0
	for ; i < len(f) && f[i] >= '0' && f[i] <= '9'; i++ {
		n = min(n*10+int(f[i]-'0'), maxWidth)
	}
	return n, i
}

// appendVerb appends one conversion.
func (p *Printer) appendVerb(dst []byte, v verb, a *argReader) []byte {
	start := len(dst)
	switch v.letter {
	case 0:
		return append(dst, '%')
	case '%':
		return append(dst, '%')
	case 'c':
		dst = append(dst, byte(a.number(1)))
	case 's':
		s := a.str()
		if v.precision >= 0 && v.precision < len(s) {
			s = s[:v.precision]
		}
		dst = append(dst, s...)
	case 'd', 'i', 'u', 'x', 'X', 'o':
		dst = appendNumber(dst, v, a.number(max(1, v.size)))
	case 'p':
		dst = p.appendPointer(dst, v, a)
	default:
		dst = append(dst, '%', v.letter)
	}
	return pad(dst, start, v)
}

// pad pads dst[start:] to the verb's width.
func pad(dst []byte, start int, v verb) []byte {
	n := v.width - (len(dst) - start)
	if n <= 0 {
		return dst
	}
	end := len(dst)
	for range n {
		dst = append(dst, ' ')
	}
	if v.left {
		return dst
	}
	copy(dst[start+n:], dst[start:end])
	for i := range n {
		dst[start+i] = ' '
	}
	return dst
}

func appendNumber(dst []byte, v verb, n uint64) []byte {
	var digits [24]byte
	var num []byte
	sign := ""
	switch v.letter {
	case 'd', 'i':
		shift := 64 - 8*max(1, v.size)
		s := int64(n<<shift) >> shift
		n = uint64(s)
		if s < 0 {
			sign, n = "-", -n
		} else if v.pos {
			sign = "+"
		} else if v.blank {
			sign = " "
		}
		num = strconv.AppendUint(digits[:0], n, 10)
	case 'x', 'X':
		num = strconv.AppendUint(digits[:0], n, 16)
		if v.alt {
			sign = "0x"
		}
	case 'o':
		num = strconv.AppendUint(digits[:0], n, 8)
	default:
		num = strconv.AppendUint(digits[:0], n, 10)
	}
	if v.letter == 'X' {
		for i, c := range num {
			if c >= 'a' {
				num[i] = c - 'a' + 'A'
			}
		}
	}
	dst = append(dst, sign...)
	fill := v.precision
	if v.zero && !v.left && v.precision < 0 {
		fill = v.width - len(sign)
	}
	for i := len(num); i < fill; i++ {
		dst = append(dst, '0')
	}
	return append(dst, num...)
}

// appendPointer appends a pointer argument.
func (p *Printer) appendPointer(dst []byte, v verb, a *argReader) []byte {
	switch v.ext {
	case 'S', 's', 'B', 'F', 'f':
		addr := a.number(8)
		if v.ext == 's' || v.ext == 'f' {
			return p.appendFunc(dst, addr)
		}
		return appendSymbol(dst, p.cfg.Symbols, addr, true)
	case 'x':
		return strconv.AppendUint(dst, a.number(8), 16)
	case 0, 'K', 'e':
		return p.env.AppendPointer(dst, a.number(8))
	}
	return append(dst, a.str()...)
}
