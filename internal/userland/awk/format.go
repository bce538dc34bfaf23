package awk

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// maxWidth bounds a field width or precision, so that a format cannot ask for
// all memory.
const maxWidth = 1 << 16

// sprintf formats as C's printf does, with %c of a number being that byte.
func sprintf(b *strings.Builder, format string, args []value) error {
	next := func() value {
		if len(args) == 0 {
			return value{}
		}
		v := args[0]
		args = args[1:]
		return v
	}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		spec := "%"
		for i++; i < len(format) && strings.IndexByte("-+ #0", format[i]) >= 0; i++ {
			spec += format[i : i+1]
		}
		width, err := starOrDigits(format, &i, next)
		if err != nil {
			return err
		}
		spec += width
		if i < len(format) && format[i] == '.' {
			i++
			precision, err := starOrDigits(format, &i, next)
			if err != nil {
				return err
			}
			spec += "." + precision
		}
		for i < len(format) && strings.IndexByte("hlLqjzt", format[i]) >= 0 {
			i++
		}
		if i == len(format) {
			b.WriteString(spec)
			return nil
		}
		if b.Len() > maxString {
			return errors.New("awk: printf: text is too long")
		}
		convert(b, spec, format[i], next)
	}
	return nil
}

func starOrDigits(format string, i *int, next func() value) (string, error) {
	if *i < len(format) && format[*i] == '*' {
		*i++
		n := next().number()
		if math.Abs(n) > maxWidth {
			return "", errors.New("awk: printf: width is too large")
		}
		return fmt.Sprint(int(n)), nil
	}
	start := *i
	for *i < len(format) && isDigit(format[*i]) {
		*i++
	}
	if toNumber(format[start:*i]) > maxWidth {
		return "", errors.New("awk: printf: width is too large")
	}
	return format[start:*i], nil
}

// convert writes one conversion.
func convert(b *strings.Builder, spec string, verb byte, next func() value) {
	switch verb {
	case '%':
		b.WriteByte('%')
	case 'd', 'i':
		n := next().number()
		switch {
		case math.IsNaN(n), math.IsInf(n, 0):
			fmt.Fprintf(b, strings.ReplaceAll(spec, "0", "")+"s", strings.ToLower(strings.TrimPrefix(fmt.Sprint(n), "+")))
		case math.Abs(n) < 1<<63:
			fmt.Fprintf(b, spec+"d", int64(n))
		default:
			fmt.Fprintf(b, spec+".0f", n)
		}
	case 'o', 'x', 'X', 'u':
		if verb == 'u' {
			verb = 'd'
		}
		n := next().number()
		if n < 0 {
			fmt.Fprintf(b, spec+string(verb), uint64(int64(n)))
		} else {
			fmt.Fprintf(b, spec+string(verb), uint64(n))
		}
	case 'e', 'E', 'f', 'F', 'g', 'G':
		floating(b, spec, verb, next().number())
	case 'c':
		v := next()
		s := v.s
		if v.kind == number {
			s = string([]byte{byte(int(v.n))})
		} else if len(s) > 1 {
			s = s[:1]
		}
		fmt.Fprintf(b, spec+"s", s)
	case 's':
		fmt.Fprintf(b, spec+"s", next().string("%.6g"))
	default:
		b.WriteString(spec)
		b.WriteByte(verb)
	}
}

// floating formats e, f and g; Go's %g without a precision is the shortest
// form, C's has six digits.
func floating(b *strings.Builder, spec string, verb byte, n float64) {
	if !strings.Contains(spec, ".") {
		spec += ".6"
	}
	if (verb == 'g' || verb == 'G') && strings.HasSuffix(spec, ".0") {
		spec = strings.TrimSuffix(spec, "0") + "1"
	}
	switch {
	case math.IsInf(n, 0), math.IsNaN(n):
		text := strings.ToLower(strings.TrimPrefix(fmt.Sprint(n), "+"))
		flags, _, _ := strings.Cut(spec, ".")
		fmt.Fprintf(b, strings.ReplaceAll(flags, "0", "")+"s", text)
	default:
		fmt.Fprintf(b, spec+string(verb), n)
	}
}
