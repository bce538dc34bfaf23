package coreutils

import (
	"fmt"
	"io"
	"strings"

	"ftracelab/internal/userland/tool"
)

// Tr translates, squeezes or deletes bytes.
func Tr(c *tool.Call) int {
	opts, sets, ok := c.Options("dscCt")
	if !ok {
		return 1
	}
	var remove, squeeze, complement, truncate bool
	for _, o := range opts {
		remove, squeeze = remove || o.Flag == 'd', squeeze || o.Flag == 's'
		complement, truncate = complement || o.Flag|0x20 == 'c', truncate || o.Flag == 't'
	}
	if len(sets) < 1 || len(sets) > 2 || len(sets) == 1 && !remove && !squeeze {
		return c.Usage("usage: tr [-dsc] set [set]")
	}
	first, err := expandSet(sets[0], 0)
	if err != nil {
		return c.Usage("%v", err)
	}
	if complement {
		first = complementSet(first)
	}
	var second []byte
	if len(sets) == 2 {
		if second, err = expandSet(sets[1], len(first)); err != nil {
			return c.Usage("%v", err)
		}
	}
	t := translation{squeeze: squeeze}
	for i := range t.table {
		t.table[i] = byte(i)
	}
	switch {
	case remove:
		t.remove = member(first)
		t.squeezed = member(second)
	case len(sets) == 1:
		t.squeezed = member(first)
	default:
		if len(second) == 0 {
			return c.Usage("the second set must not be empty")
		}
		for i, b := range first {
			switch {
			case i < len(second):
				t.table[b] = second[i]
			case !truncate:
				t.table[b] = second[len(second)-1]
			}
		}
		t.squeezed = member(second)
	}
	return c.EachFile(nil, func(_ string, r io.Reader) error { return t.run(r, c.Stdout) })
}

type translation struct {
	table            [256]byte
	remove, squeezed [256]bool
	squeeze          bool
}

func (t *translation) run(r io.Reader, w io.Writer) error {
	buf := make([]byte, 32<<10)
	last := -1
	for {
		n, err := r.Read(buf)
		out := buf[:0:n]
		for _, b := range buf[:n] {
			if t.remove[b] {
				continue
			}
			b = t.table[b]
			if t.squeeze && t.squeezed[b] && last == int(b) {
				continue
			}
			last = int(b)
			out = append(out, b)
		}
		if _, werr := w.Write(out); werr != nil {
			return nil // told at the end
		}
		if err != nil {
			return tool.EOFIsNil(err)
		}
	}
}

func member(set []byte) (m [256]bool) {
	for _, b := range set {
		m[b] = true
	}
	return m
}

func complementSet(set []byte) []byte {
	m := member(set)
	var out []byte
	for i := range 256 {
		if !m[i] {
			out = append(out, byte(i))
		}
	}
	return out
}

// expandSet expands a-z, [:class:], [x*n] and escapes; [x*] fills up to size.
func expandSet(s string, size int) ([]byte, error) {
	var set []byte
	for i := 0; i < len(s); {
		if rest := s[i:]; strings.HasPrefix(rest, "[:") {
			name, _, ok := strings.Cut(rest[2:], ":]")
			class, known := classBytes(name)
			if !ok || !known {
				return nil, fmt.Errorf("invalid character class %q", rest)
			}
			set = append(set, class...)
			i += len(name) + 4
			continue
		} else if len(rest) > 3 && rest[0] == '[' && rest[2] == '*' {
			if body, _, ok := strings.Cut(rest[3:], "]"); ok && strings.Trim(body, "0123456789") == "" {
				n := max(size-len(set), 0)
				if body != "" {
					n = min(tool.ToInt(body), 1<<16)
				}
				set = append(set, strings.Repeat(rest[1:2], max(n, 0))...)
				i += len(body) + 4
				continue
			}
		}
		from, n := setByte(s[i:])
		i += n
		if len(s) > i+1 && s[i] == '-' {
			to, n := setByte(s[i+1:])
			if to < from {
				return nil, fmt.Errorf("range-endpoints of %q are in reverse order", s)
			}
			for b := int(from); b <= int(to); b++ {
				set = append(set, byte(b))
			}
			i += n + 1
			continue
		}
		set = append(set, from)
	}
	return set, nil
}

// setByte reads one byte of a set, or an escape, and its length.
func setByte(s string) (byte, int) {
	if s[0] != '\\' || len(s) == 1 {
		return s[0], 1
	}
	const from, to = "abfnrtv\\", "\a\b\f\n\r\t\v\\"
	if at := strings.IndexByte(from, s[1]); at >= 0 {
		return to[at], 2
	}
	n, v := 1, 0
	for n < len(s) && n < 4 && s[n] >= '0' && s[n] <= '7' {
		v = v<<3 | int(s[n]-'0')
		n++
	}
	if n > 1 {
		return byte(v), n
	}
	return s[1], 2
}

// classBytes are the members of a character class of the C locale.
func classBytes(name string) ([]byte, bool) {
	var in func(b byte) bool
	letter := func(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
	digit := func(b byte) bool { return b >= '0' && b <= '9' }
	switch name {
	case "alpha":
		in = letter
	case "digit":
		in = digit
	case "alnum":
		in = func(b byte) bool { return letter(b) || digit(b) }
	case "upper":
		in = func(b byte) bool { return b >= 'A' && b <= 'Z' }
	case "lower":
		in = func(b byte) bool { return b >= 'a' && b <= 'z' }
	case "space":
		in = func(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' }
	case "blank":
		in = func(b byte) bool { return b == ' ' || b == '\t' }
	case "punct":
		in = func(b byte) bool { return b > ' ' && b < 0x7f && !letter(b) && !digit(b) }
	case "print":
		in = func(b byte) bool { return b >= ' ' && b < 0x7f }
	case "graph":
		in = func(b byte) bool { return b > ' ' && b < 0x7f }
	case "cntrl":
		in = func(b byte) bool { return b < ' ' || b == 0x7f }
	case "xdigit":
		in = isHex
	default:
		return nil, false
	}
	var set []byte
	for i := range 256 {
		if in(byte(i)) {
			set = append(set, byte(i))
		}
	}
	return set, true
}
