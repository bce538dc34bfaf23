package awk

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// value is an awk value: a number, a string, or input that is both when it
// looks like a number.
type value struct {
	s    string
	n    float64
	kind valueKind
}

type valueKind uint8

const (
	unset   valueKind = iota // "" and 0
	number                   // n
	text                     // s
	numeric                  // input that looks like a number: s and n
)

func num(n float64) value { return value{n: n, kind: number} }
func str(s string) value  { return value{s: s, kind: text} }

func boolean(b bool) value {
	if b {
		return num(1)
	}
	return num(0)
}

// input is a value that came from outside: fields, split, -v.
func input(s string) value {
	trimmed := strings.Trim(s, " \t\n\r\f\v")
	if trimmed != "" && numberPrefix(trimmed) == len(trimmed) {
		return value{s: s, n: toNumber(trimmed), kind: numeric}
	}
	return str(s)
}

func (v value) number() float64 {
	if v.kind == text {
		return toNumber(v.s)
	}
	return v.n
}

// string gives the value as text; a number that is no integer by format.
func (v value) string(format string) string {
	if v.kind != number {
		return v.s
	}
	if v.n == math.Trunc(v.n) && math.Abs(v.n) < 1e16 {
		return strconv.FormatInt(int64(v.n), 10)
	}
	return formatFloat(format, v.n)
}

func (v value) truth() bool {
	switch v.kind {
	case number, numeric:
		return v.n != 0
	}
	return v.s != ""
}

// compare orders two values: as numbers if both may be numbers, else as strings.
func compare(a, b value, format string) int {
	if a.kind != text && b.kind != text {
		return cmp.Compare(a.n, b.n)
	}
	return strings.Compare(a.string(format), b.string(format))
}

// numberPrefix is the length of the decimal number that s begins with.
func numberPrefix(s string) int {
	i := 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	digits := 0
	for ; i < len(s) && isDigit(s[i]); i++ {
		digits++
	}
	if i < len(s) && s[i] == '.' {
		i++
		for ; i < len(s) && isDigit(s[i]); i++ {
			digits++
		}
	}
	if digits == 0 {
		return 0
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if j < len(s) && isDigit(s[j]) {
			for j < len(s) && isDigit(s[j]) {
				j++
			}
			i = j
		}
	}
	return i
}

func toNumber(s string) float64 {
	s = strings.TrimLeft(s, " \t\n\r\f\v")
	n := numberPrefix(s)
	v, _ := strconv.ParseFloat(s[:n], 64) // out of range gives the infinity wanted
	return v
}

// formatFloat formats with one conversion such as %.6g.
func formatFloat(format string, n float64) string {
	var b strings.Builder
	if err := sprintf(&b, format, []value{num(n)}); err != nil {
		return strconv.FormatFloat(n, 'g', 6, 64)
	}
	return b.String()
}

// array is an associative array that remembers the order its keys came in.
type array struct {
	cells map[string]*cell
	seq   int
}

type cell struct {
	value
	seq int
}

// cellSize is about what an element takes beside its key and text.
const cellSize = 100

func (c *cell) size(key string) int { return cellSize + len(key) + len(c.s) }

func (a *array) at(key string) *cell {
	if c, ok := a.cells[key]; ok {
		return c
	}
	if a.cells == nil {
		a.cells = map[string]*cell{}
	}
	a.seq++
	c := &cell{seq: a.seq}
	a.cells[key] = c
	return c
}

func (a *array) keys() []string {
	keys := make([]string, 0, len(a.cells))
	for key := range a.cells {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(x, y string) int { return cmp.Compare(a.cells[x].seq, a.cells[y].seq) })
	return keys
}
