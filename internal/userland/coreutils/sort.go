package coreutils

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ftracelab/internal/userland/tool"
)

// sortKey is -k: from a field and character to another.
type sortKey struct {
	from, fromChar, to, toChar int // to 0: the end of the line
	order                      sortOrder
	own                        bool // has order letters of its own
}

type sortOrder struct{ numeric, reverse, fold, blanks, version bool }

func (o *sortOrder) letter(l byte) bool {
	switch l {
	case 'n', 'g':
		o.numeric = true
	case 'r':
		o.reverse = true
	case 'f':
		o.fold = true
	case 'b':
		o.blanks = true
	case 'V':
		o.version = true
	default:
		return false
	}
	return true
}

// sorter is one run of sort.
type sorter struct {
	sep    string
	keys   []sortKey
	order  sortOrder
	unique bool
	stable bool
}

// Sort sorts lines by their text or by keys (-k), and can merge equal ones (-u).
func Sort(c *tool.Call) int {
	opts, files, ok := c.Options("nrufbsVgk:t:o:")
	if !ok {
		return 2
	}
	var s sorter
	out := ""
	for _, o := range opts {
		switch o.Flag {
		case 'u':
			s.unique = true
		case 's':
			s.stable = true
		case 't':
			if len(o.Arg) != 1 {
				return c.Usage("the separator must be one character")
			}
			s.sep = o.Arg
		case 'o':
			out = o.Arg
		case 'k':
			k, err := parseKey(o.Arg)
			if err != nil {
				return c.Usage("%v", err)
			}
			s.keys = append(s.keys, k)
		default:
			s.order.letter(o.Flag)
		}
	}
	var lines []string
	if c.EachLine(files, func(line string) bool { lines = append(lines, line); return c.Hold(line) }) != 0 || c.Full() {
		return 2
	}
	slices.SortStableFunc(lines, s.compare)
	if s.unique {
		lines = slices.CompactFunc(lines, func(a, b string) bool { return s.byKeys(a, b) == 0 })
	}
	if out != "" {
		return writeLines(c, out, lines)
	}
	for _, line := range lines {
		fmt.Fprintln(c.Stdout, line)
	}
	return 0
}

func writeLines(c *tool.Call, name string, lines []string) int {
	f, err := c.Create(name, false)
	if err == nil {
		_, err = f.Write([]byte(strings.Join(append(lines, ""), "\n")))
		f.Close()
	}
	if err != nil {
		c.Fail(name, err)
		return 2
	}
	return 0
}

// parseKey parses F[.C][letters][,F[.C][letters]].
func parseKey(s string) (sortKey, error) {
	var k sortKey
	begin, end, two := strings.Cut(s, ",")
	var err error
	if k.from, k.fromChar, err = k.position(begin); err != nil || k.from < 1 {
		return k, fmt.Errorf("invalid key %q", s)
	}
	if two {
		if k.to, k.toChar, err = k.position(end); err != nil || k.to < 1 {
			return k, fmt.Errorf("invalid key %q", s)
		}
	}
	return k, nil
}

func (k *sortKey) position(s string) (field, char int, err error) {
	for s != "" && k.order.letter(s[len(s)-1]) {
		s = s[:len(s)-1]
		k.own = true
	}
	f, ch, dotted := strings.Cut(s, ".")
	if field, err = strconv.Atoi(f); err == nil && dotted {
		char, err = strconv.Atoi(ch)
	}
	return field, char, err
}

func (s *sorter) compare(a, b string) int {
	if r := s.byKeys(a, b); r != 0 || s.unique || s.stable {
		return r
	}
	r := strings.Compare(a, b) // the last resort
	if s.order.reverse {
		return -r
	}
	return r
}

func (s *sorter) byKeys(a, b string) int {
	if len(s.keys) == 0 {
		return s.order.compare(a, b)
	}
	for _, k := range s.keys {
		order := s.order
		if k.own {
			order = k.order
		}
		if r := order.compare(s.key(a, k, order), s.key(b, k, order)); r != 0 {
			return r
		}
	}
	return 0
}

// key cuts the key out of a line.
func (s *sorter) key(line string, k sortKey, order sortOrder) string {
	from, _ := s.field(line, k.from)
	if order.blanks {
		from += len(line[from:]) - len(strings.TrimLeft(line[from:], " \t"))
	}
	if k.fromChar > 1 {
		from = min(from+k.fromChar-1, len(line))
	}
	to := len(line)
	if k.to > 0 {
		begin, end := s.field(line, k.to)
		to = end
		if k.toChar > 0 {
			to = min(begin+k.toChar, end)
		}
	}
	return line[from:max(from, to)]
}

// field is where the n-th field is. Without -t a field begins with the blanks
// before it.
func (s *sorter) field(line string, n int) (from, to int) {
	for i := 1; ; i++ {
		to = s.fieldEnd(line, from)
		if i == n || to == len(line) {
			if i < n {
				return len(line), len(line)
			}
			return from, to
		}
		from = to
		if s.sep != "" {
			from++
		}
	}
}

func (s *sorter) fieldEnd(line string, from int) int {
	if s.sep != "" {
		if at := strings.Index(line[from:], s.sep); at >= 0 {
			return from + at
		}
		return len(line)
	}
	for from < len(line) && (line[from] == ' ' || line[from] == '\t') {
		from++
	}
	for from < len(line) && line[from] != ' ' && line[from] != '\t' {
		from++
	}
	return from
}

func (o sortOrder) compare(a, b string) int {
	var r int
	switch {
	case o.numeric:
		r = cmp.Compare(leadingNumber(a), leadingNumber(b))
	case o.version:
		r = compareVersion(a, b)
	case o.fold:
		r = strings.Compare(strings.ToUpper(a), strings.ToUpper(b))
	default:
		r = strings.Compare(a, b)
	}
	if o.reverse {
		return -r
	}
	return r
}

func leadingNumber(s string) float64 {
	s = strings.TrimLeft(s, " \t")
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == '.' || end == 0 && s[end] == '-') {
		end++
	}
	n, _ := strconv.ParseFloat(s[:end], 64)
	return n
}

// compareVersion compares runs of digits as numbers.
func compareVersion(a, b string) int {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da > 0 && db > 0 {
			x, y := strings.TrimLeft(a[:da], "0"), strings.TrimLeft(b[:db], "0")
			if r := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); r != 0 {
				return r
			}
			a, b = a[da:], b[db:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
