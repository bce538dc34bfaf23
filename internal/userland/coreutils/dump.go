package coreutils

import (
	"fmt"
	"io"
	"strings"

	"ftracelab/internal/userland/tool"
)

// eachRow calls do with the bytes of all files, rows of 16 with their offset.
func eachRow(c *tool.Call, files []string, do func(offset int, row []byte)) (int, int) {
	var row []byte
	offset := 0
	status := c.EachFile(files, func(_ string, r io.Reader) error {
		buf := make([]byte, 4096)
		for {
			n, err := r.Read(buf)
			row = append(row, buf[:n]...)
			for len(row) >= 16 && !c.Stopped() {
				do(offset, row[:16])
				offset += 16
				row = row[16:]
			}
			if err != nil {
				return tool.EOFIsNil(err)
			}
			if c.Stopped() {
				return nil
			}
		}
	})
	if len(row) > 0 {
		do(offset, row)
		offset += len(row)
	}
	return offset, status
}

func printable(row []byte) string {
	out := make([]byte, len(row))
	for i, b := range row {
		out[i] = '.'
		if b >= ' ' && b < 0x7f {
			out[i] = b
		}
	}
	return string(out)
}

// Hexdump is hexdump -C: offset, sixteen bytes and their letters.
func Hexdump(c *tool.Call) int {
	opts, files, ok := c.Options("Cv")
	if !ok {
		return 1
	}
	if len(opts) == 0 {
		return c.Usage("only hexdump -C is in the lab")
	}
	s := squeezer{c: c}
	total, status := eachRow(c, files, func(offset int, row []byte) {
		if s.repeats(row) {
			return
		}
		var hex strings.Builder
		for i := range 16 {
			if i == 8 {
				hex.WriteByte(' ')
			}
			if i < len(row) {
				fmt.Fprintf(&hex, " %02x", row[i])
			} else {
				hex.WriteString("   ")
			}
		}
		c.Printf("%08x %s  |%s|\n", offset, hex.String(), printable(row))
	})
	if total > 0 {
		c.Printf("%08x\n", total)
	}
	return status
}

// squeezer shows a run of equal rows as one and a star.
type squeezer struct {
	c    *tool.Call
	last string
	seen bool
	star bool
}

func (s *squeezer) repeats(row []byte) bool {
	if s.seen && len(row) == 16 && s.last == string(row) {
		if !s.star {
			s.c.Printf("*\n")
			s.star = true
		}
		return true
	}
	s.last, s.seen, s.star = string(row), true, false
	return false
}

// Xxd dumps bytes in pairs.
func Xxd(c *tool.Call) int {
	opts, files, ok := c.Options("p")
	if !ok {
		return 1
	}
	if len(opts) > 0 {
		n := 0
		_, status := eachRow(c, files, func(_ int, row []byte) {
			for _, b := range row {
				c.Printf("%02x", b)
				if n++; n%30 == 0 {
					c.Printf("\n")
				}
			}
		})
		if n%30 != 0 {
			c.Printf("\n")
		}
		return status
	}
	_, status := eachRow(c, files, func(offset int, row []byte) {
		var hex strings.Builder
		for i := range 16 {
			if i < len(row) {
				fmt.Fprintf(&hex, "%02x", row[i])
			} else {
				hex.WriteString("  ")
			}
			if i%2 == 1 {
				hex.WriteByte(' ')
			}
		}
		c.Printf("%08x: %s %s\n", offset, hex.String(), printable(row))
	})
	return status
}

// Od dumps bytes (-t x1, -c) or little-endian words (-t x2, x4, x8, d…, the default o2).
func Od(c *tool.Call) int {
	opts, files, ok := c.Options("A:t:cxbvN:j:")
	if !ok {
		return 1
	}
	base, kind := "%07o", "o2"
	for _, o := range opts {
		switch o.Flag {
		case 'A':
			bases := map[string]string{"o": "%07o", "d": "%07d", "x": "%06x", "n": ""}
			if base, ok = bases[o.Arg]; !ok {
				return c.Usage("invalid address base %q", o.Arg)
			}
		case 't':
			kind = o.Arg
		case 'c':
			kind = "c"
		case 'x':
			kind = "x2"
		case 'b':
			kind = "o1"
		case 'N', 'j':
			return c.Usage("option -%c is not in the lab", o.Flag)
		}
	}
	kind = strings.TrimSuffix(kind, "z")
	if len(kind) == 1 && kind != "c" && kind != "a" {
		kind += "4"
	}
	format, size, ok := odFormat(kind)
	if !ok {
		return c.Usage("type %q is not in the lab", kind)
	}
	s := squeezer{c: c}
	address := func(offset int) {
		if base != "" {
			c.Printf(base, offset)
		}
	}
	total, status := eachRow(c, files, func(offset int, row []byte) {
		if s.repeats(row) {
			return
		}
		address(offset)
		for i := 0; i < len(row); i += size {
			var v uint64
			for j := min(i+size, len(row)) - 1; j >= i; j-- {
				v = v<<8 | uint64(row[j])
			}
			c.Printf(" %s", format(v))
		}
		c.Printf("\n")
	})
	address(total)
	if base != "" {
		c.Printf("\n")
	}
	return status
}

// odFormat is how a value of the kind is shown, and its size in bytes.
func odFormat(kind string) (func(uint64) string, int, bool) {
	if kind == "c" {
		return odChar, 1, true
	}
	if len(kind) != 2 || strings.IndexByte("1248", kind[1]) < 0 {
		return nil, 0, false
	}
	size := int(kind[1] - '0')
	switch kind[0] {
	case 'x':
		return func(v uint64) string { return fmt.Sprintf("%0*x", 2*size, v) }, size, true
	case 'o':
		width := (size*8 + 2) / 3
		return func(v uint64) string { return fmt.Sprintf("%0*o", width, v) }, size, true
	case 'u':
		width := map[int]int{1: 3, 2: 5, 4: 10, 8: 20}[size]
		return func(v uint64) string { return fmt.Sprintf("%*d", width, v) }, size, true
	case 'd':
		width := map[int]int{1: 4, 2: 6, 4: 11, 8: 20}[size]
		shift := 64 - 8*size
		return func(v uint64) string { return fmt.Sprintf("%*d", width, int64(v<<shift)>>shift) }, size, true
	}
	return nil, 0, false
}

func odChar(v uint64) string {
	const from, to = "\x00\a\b\f\n\r\t\v", "0abfnrtv"
	switch at := strings.IndexByte(from, byte(v)); {
	case at >= 0:
		return ` \` + to[at:at+1]
	case v >= ' ' && v < 0x7f:
		return "  " + string(rune(v))
	}
	return fmt.Sprintf("%03o", v)
}
