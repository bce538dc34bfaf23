package printfmt

import (
	"fmt"
	"strconv"
	"strings"
)

// maxField bounds widths and precisions: no text of the kernel is longer than
// its trace_seq of two pages.
const maxField = 8192

// conversion is one % of the format string with the text before it.
type conversion struct {
	before                       string
	verb                         byte   // d u x X o c s p
	ext                          string // what follows %p: "S", "I4", "hD"
	size                         int    // bytes of an integer
	left, plus, space, zero, alt bool
	plain                        bool // no flags, no width, no precision

	width, prec       int // prec -1: none
	widthArg, precArg *node
	arg               *node
}

// parseConversion parses what follows a %, taking arguments as needed. It
// returns the bytes used.
func parseConversion(s string, take func() (*node, error)) (c conversion, n int, err error) {
	c = conversion{prec: -1, size: 4}
	i := 0
flags:
	for ; i < len(s); i++ {
		switch s[i] {
		case '-':
			c.left = true
		case '+':
			c.plus = true
		case ' ':
			c.space = true
		case '0':
			c.zero = true
		case '#':
			c.alt = true
		default:
			break flags
		}
	}
	if c.width, c.widthArg, i, err = parseAmount(s, i, take); err != nil {
		return c, i, err
	}
	if i < len(s) && s[i] == '.' {
		if c.prec, c.precArg, i, err = parseAmount(s, i+1, take); err != nil {
			return c, i, err
		}
	}
	i = c.parseLength(s, i)
	if i >= len(s) {
		return c, i, fmt.Errorf("conversion cut off at the end")
	}
	c.verb = s[i]
	i++
	switch c.verb {
	case 'i':
		c.verb = 'd'
	case 'd', 'u', 'x', 'X', 'o', 'c', 's':
	case 'p':
		start := i
		for i < len(s) && (isLetter(s[i]) && s[i] != '_' || isDigit(s[i])) {
			i++
		}
		c.ext = s[start:i]
	default:
		return c, i, fmt.Errorf("unknown conversion %%%c", c.verb)
	}
	c.plain = !c.left && !c.plus && !c.space && !c.zero && !c.alt &&
		c.width == 0 && c.widthArg == nil && c.prec == -1 && c.precArg == nil
	if c.arg, err = take(); err != nil {
		return c, i, err
	}
	for _, n := range []*node{c.arg, c.widthArg, c.precArg} {
		settle(n)
	}
	return c, i, nil
}

// parseAmount reads a width or precision: digits, or a star and its argument.
func parseAmount(s string, i int, take func() (*node, error)) (v int, arg *node, next int, err error) {
	if i < len(s) && s[i] == '*' {
		arg, err = take()
		return 0, arg, i + 1, err
	}
	for ; i < len(s) && isDigit(s[i]); i++ {
		v = min(v*10+int(s[i]-'0'), maxField)
	}
	return v, nil, i, nil
}

func (c *conversion) parseLength(s string, i int) int {
	for ; i < len(s); i++ {
		switch s[i] {
		case 'h':
			c.size /= 2
		case 'l', 'L', 'q', 'z', 'Z', 'j', 't':
			c.size = 8
		default:
			c.size = max(c.size, 1)
			return i
		}
	}
	return i
}

// starred is the conversion with its width and precision from the record.
func (c *conversion) starred(data []byte, env *Env) conversion {
	f := *c
	if c.widthArg != nil {
		f.width = starAmount(eval(c.widthArg, data, env))
		if f.width < 0 {
			f.left, f.width = true, -f.width
		}
	}
	if c.precArg != nil {
		f.prec = starAmount(eval(c.precArg, data, env)) // a negative one counts as none
	}
	return f
}

// appendArg writes the conversion's text for a record.
func (c *conversion) appendArg(dst, data []byte, env *Env) []byte {
	arg := c.arg
	if arg.isNumber {
		switch c.verb {
		case 'p':
			n := evalNumber(arg, data)
			if c.ext == "S" && env != nil && env.AppendSymbol != nil && !env.Library {
				start := len(dst)
				return c.pad(env.AppendSymbol(dst, 'S', n), start)
			}
			return c.appendPointer(dst, value{n: n}, env)
		case 's', 'c':
		default:
			return c.appendInteger(dst, evalNumber(arg, data), env)
		}
	}
	for c.verb == 's' && arg.op == opCond && arg.b != nil && arg.a.isNumber {
		if evalNumber(arg.a, data) != 0 {
			arg = arg.b
		} else {
			arg = arg.c
		}
	}
	start := len(dst)
	if c.verb == 's' { // what eval would find, without its values
		switch {
		case arg.op == opString:
			return c.fit(append(dst, cString(arg.str)...), start)
		case arg.op == opLoc && arg.what != locLen, arg.op == opField && arg.field.Kind == Array:
			return c.fit(append(dst, cString(arg.field.Bytes(data))...), start)
		case arg.op == opFlags || arg.op == opSymbolic:
			return c.fit(appendText(dst, arg, data, env), start)
		}
	}
	v := eval(arg, data, env)
	switch {
	case c.verb == 'p' && (v.kind != vUnknown || env != nil && env.NoPtrKey && c.ext == ""):
		return c.appendPointer(dst, v, env)
	case v.kind == vUnknown:
		dst = appendUnknown(dst, v)
	case v.kind == vText:
		return c.fit(appendText(dst, v.node, data, env), start)
	case c.verb == 's':
		dst = c.appendString(dst, v, env)
	case c.verb == 'c':
		dst = append(dst, byte(v.num()))
	default:
		return c.appendInteger(dst, v.n, env)
	}
	return c.pad(dst, start)
}

// fit cuts dst[start:] to the precision and pads it.
func (c *conversion) fit(dst []byte, start int) []byte {
	if c.plain {
		return dst
	}
	return c.pad(c.cut(dst, start), start)
}

// cut shortens dst[start:] to the precision.
func (c *conversion) cut(dst []byte, start int) []byte {
	if c.prec >= 0 && len(dst)-start > c.prec {
		return dst[:start+c.prec]
	}
	return dst
}

// appendInteger is appendNumber, except that with Env.Library it follows C's printf,
// which puts no 0x before zero.
func (c *conversion) appendInteger(dst []byte, n uint64, env *Env) []byte {
	if c.alt && n == 0 && env.library() {
		f := *c
		f.alt = false
		return f.appendNumber(dst, 0)
	}
	return c.appendNumber(dst, n)
}

func starAmount(v value) int {
	n := int64(int32(v.num()))
	return int(max(min(n, maxField), -maxField))
}

// appendString writes %s of bytes, or of a pointer that Env knows.
func (c *conversion) appendString(dst []byte, v value, env *Env) []byte {
	start := len(dst)
	switch {
	case v.kind == vBytes:
		dst = append(dst, cString(v.s)...)
	case v.n == 0 && !env.library():
		dst = append(dst, "(null)"...)
	default:
		s, ok := "", false
		if env != nil && env.Strings != nil {
			s, ok = env.Strings(v.n)
		}
		if !ok {
			if !env.library() {
				dst = append(dst, "0x"...)
			}
			return strconv.AppendUint(dst, v.n, 16)
		}
		dst = append(dst, s...)
	}
	return c.cut(dst, start)
}

// pad widens dst[start:] to the field width with blanks.
func (c *conversion) pad(dst []byte, start int) []byte {
	n := c.width - (len(dst) - start)
	if n <= 0 {
		return dst
	}
	dst = appendRepeat(dst, ' ', n)
	if !c.left {
		copy(dst[start+n:], dst[start:len(dst)-n])
		for i := range n {
			dst[start+i] = ' '
		}
	}
	return dst
}

func appendRepeat(dst []byte, c byte, n int) []byte {
	for range n {
		dst = append(dst, c)
	}
	return dst
}

// appendNumber writes an integer conversion.
//
// Kernel: number, lib/vsprintf.c. Unlike C's printf, %#x of 0 is 0x0.
func (c *conversion) appendNumber(dst []byte, n uint64) []byte {
	if c.plain {
		switch c.verb {
		case 'd':
			return strconv.AppendInt(dst, int64(extend(n, c.size, true)), 10)
		case 'u':
			return strconv.AppendUint(dst, extend(n, c.size, false), 10)
		case 'x':
			return strconv.AppendUint(dst, extend(n, c.size, false), 16)
		}
	}
	sign := byte(0)
	if c.verb == 'd' {
		n = extend(n, c.size, true)
		switch {
		case int64(n) < 0:
			n, sign = -n, '-'
		case c.plus:
			sign = '+'
		case c.space:
			sign = ' '
		}
	} else {
		n = extend(n, c.size, false)
	}
	var buf [24]byte
	base, prefix := 10, ""
	switch c.verb {
	case 'x', 'X':
		base = 16
		if c.alt {
			prefix = "0" + string(c.verb)
		}
	case 'o':
		base = 8
		if c.alt && n != 0 {
			prefix = "0"
		}
	}
	digits := strconv.AppendUint(buf[:0], n, base)
	if c.verb == 'X' {
		for i, d := range digits {
			if d >= 'a' {
				digits[i] = d - 'a' + 'A'
			}
		}
	}
	return c.layOut(dst, sign, prefix, digits)
}

// layOut puts blanks, sign, prefix, zeros and digits in their order.
func (c *conversion) layOut(dst []byte, sign byte, prefix string, digits []byte) []byte {
	zeros := max(c.prec-len(digits), 0)
	fill := c.width - zeros - len(digits) - len(prefix)
	if sign != 0 {
		fill--
	}
	if c.zero && !c.left {
		zeros += max(fill, 0)
		fill = 0
	}
	if !c.left {
		dst = appendRepeat(dst, ' ', fill)
	}
	if sign != 0 {
		dst = append(dst, sign)
	}
	dst = append(dst, prefix...)
	dst = appendRepeat(dst, '0', zeros)
	dst = append(dst, digits...)
	if c.left {
		dst = appendRepeat(dst, ' ', fill)
	}
	return dst
}

// hasFlag reports whether a %p extension has the letter flag after its first n
// letters.
func hasFlag(ext string, n int, flag byte) bool {
	return len(ext) > n && strings.IndexByte(ext[n:], flag) >= 0
}
