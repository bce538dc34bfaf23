package shell

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// wc counts lines, words and bytes.
func wc(c *call) int {
	opts, files, ok := c.options("lwcm")
	if !ok {
		return 1
	}
	lines, words, size := len(opts) == 0, len(opts) == 0, len(opts) == 0
	for _, o := range opts {
		lines, words, size = lines || o.flag == 'l', words || o.flag == 'w', size || o.flag == 'c' || o.flag == 'm'
	}
	type counts struct {
		name string
		n    []int
	}
	var rows []counts
	total := make([]int, 3)
	status := c.eachFile(files, func(name string, r io.Reader) error {
		all := make([]int, 3)
		err := count(r, all)
		var n []int
		for i, want := range []bool{lines, words, size} {
			total[i] += all[i]
			if want {
				n = append(n, all[i])
			}
		}
		rows = append(rows, counts{name, n})
		return err
	})
	if len(files) > 1 {
		var n []int
		for i, want := range []bool{lines, words, size} {
			if want {
				n = append(n, total[i])
			}
		}
		rows = append(rows, counts{"total", n})
	}
	width := 1
	switch {
	case len(files) == 0 && len(rows) > 0 && len(rows[0].n) > 1:
		width = 7
	case len(files) > 1 || len(rows) > 0 && len(rows[0].n) > 1:
		width = len(strconv.Itoa(max(total[0], total[1], total[2])))
	}
	for _, row := range rows {
		parts := make([]string, len(row.n))
		for i, n := range row.n {
			parts[i] = fmt.Sprintf("%*d", width, n)
		}
		if row.name != "-" || len(files) > 0 {
			parts = append(parts, row.name)
		}
		c.printf("%s\n", strings.Join(parts, " "))
	}
	return status
}

// count adds up lines, words and bytes of r.
func count(r io.Reader, n []int) error {
	buf := make([]byte, 32<<10)
	inWord := false
	for {
		k, err := r.Read(buf)
		n[2] += k
		n[0] += bytes.Count(buf[:k], []byte("\n"))
		for _, b := range buf[:k] {
			blank := b == ' ' || b >= '\t' && b <= '\r'
			if !blank && !inWord {
				n[1]++
			}
			inWord = !blank
		}
		if err != nil {
			return eofIsNil(err)
		}
	}
}

// uniq drops, counts or selects repeated lines.
func uniq(c *call) int {
	opts, files, ok := c.options("cdui")
	if !ok || len(files) > 1 {
		return c.usage("usage: uniq [-cdui] [file]")
	}
	var counted, repeated, unique, fold bool
	for _, o := range opts {
		counted, repeated = counted || o.flag == 'c', repeated || o.flag == 'd'
		unique, fold = unique || o.flag == 'u', fold || o.flag == 'i'
	}
	n, last := 0, ""
	show := func() {
		if n == 0 || repeated && n == 1 || unique && n > 1 {
			return
		}
		if counted {
			c.printf("%7d ", n)
		}
		c.printf("%s\n", last)
	}
	status := c.eachLine(files, func(line string) bool {
		if n > 0 && (line == last || fold && strings.EqualFold(line, last)) {
			n++
			return true
		}
		show()
		n, last = 1, line
		return true
	})
	show()
	return status
}

// cut selects fields, characters or bytes; all characters are bytes.
func cut(c *call) int {
	opts, files, ok := c.options("d:f:c:b:sn")
	if !ok {
		return 1
	}
	delim, list, fields, onlyDelimited := "\t", "", false, false
	for _, o := range opts {
		switch o.flag {
		case 'd':
			delim = o.arg
		case 'f', 'c', 'b':
			if list != "" {
				return c.usage("only one list may be specified")
			}
			list, fields = o.arg, o.flag == 'f'
		case 's':
			onlyDelimited = true
		}
	}
	if len(delim) != 1 {
		return c.usage("the delimiter must be a single character")
	}
	ranges, err := parseRanges(list)
	if err != nil {
		return c.usage("%v", err)
	}
	return c.eachLine(files, func(line string) bool {
		switch {
		case !fields:
			var b strings.Builder
			for i := range len(line) {
				if ranges.has(i + 1) {
					b.WriteByte(line[i])
				}
			}
			line = b.String()
		case !strings.Contains(line, delim):
			if onlyDelimited {
				return true
			}
		default:
			var kept []string
			for i, f := range strings.Split(line, delim) {
				if ranges.has(i + 1) {
					kept = append(kept, f)
				}
			}
			line = strings.Join(kept, delim)
		}
		c.printf("%s\n", line)
		return true
	})
}

type ranges [][2]int

func (r ranges) has(n int) bool {
	return slices.ContainsFunc(r, func(x [2]int) bool { return n >= x[0] && n <= x[1] })
}

// parseRanges parses 1,3-5,7- and -2.
func parseRanges(list string) (ranges, error) {
	var r ranges
	for part := range strings.SplitSeq(list, ",") {
		from, to, ranged := strings.Cut(part, "-")
		x := [2]int{1, 1 << 30}
		if from != "" {
			x[0] = toInt(from)
		}
		switch {
		case !ranged:
			x[1] = x[0]
		case to != "":
			x[1] = toInt(to)
		}
		if x[0] < 1 || x[1] < x[0] || part == "" || part == "-" {
			return nil, fmt.Errorf("invalid list %q", list)
		}
		r = append(r, x)
	}
	return r, nil
}

func md5sum(c *call) int {
	return c.eachFile(c.args, func(name string, r io.Reader) error {
		h := md5.New()
		if _, err := io.Copy(h, r); err != nil {
			return err
		}
		c.printf("%x  %s\n", h.Sum(nil), name)
		return nil
	})
}

// seq counts.
func seq(c *call) int {
	sep, args := "\n", c.args
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && !strings.ContainsAny(args[0][1:2], "0123456789.") {
		switch {
		case args[0] == "-s" && len(args) > 1:
			sep, args = args[1], args[2:]
		case strings.HasPrefix(args[0], "-s") && args[0] != "-s":
			sep, args = args[0][2:], args[1:]
		default:
			return c.usage("option %s is not in the lab", args[0])
		}
	}
	first, step, last := 1.0, 1.0, 0.0
	n := make([]float64, len(args))
	decimals := 0
	for i, arg := range args {
		var err error
		if n[i], err = strconv.ParseFloat(arg, 64); err != nil {
			return c.usage("invalid floating point argument: %q", arg)
		}
		if _, frac, ok := strings.Cut(arg, "."); ok && i < 2 {
			decimals = max(decimals, len(frac))
		}
	}
	switch len(n) {
	case 1:
		last = n[0]
	case 2:
		first, last = n[0], n[1]
	case 3:
		first, step, last = n[0], n[1], n[2]
	default:
		return c.usage("usage: seq [first [step]] last")
	}
	if step == 0 {
		return c.usage("the step must not be 0")
	}
	format := fmt.Sprintf("%%.%df", min(decimals, 20))
	for i := 0; ; i++ {
		v := first + float64(i)*step
		if step > 0 && v > last || step < 0 && v < last || c.stopped() {
			if i > 0 {
				c.printf("\n")
			}
			return 0
		}
		if i > 0 {
			c.printf("%s", sep)
		}
		c.printf(format, v)
	}
}
