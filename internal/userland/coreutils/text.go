package coreutils

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"ftracelab/internal/userland/tool"
)

// Wc counts lines, words and bytes.
func Wc(c *tool.Call) int {
	opts, files, ok := c.Options("lwcm")
	if !ok {
		return 1
	}
	lines, words, size := len(opts) == 0, len(opts) == 0, len(opts) == 0
	for _, o := range opts {
		lines, words, size = lines || o.Flag == 'l', words || o.Flag == 'w', size || o.Flag == 'c' || o.Flag == 'm'
	}
	type counts struct {
		name string
		n    []int
	}
	var rows []counts
	total := make([]int, 3)
	status := c.EachFile(files, func(name string, r io.Reader) error {
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
		c.Printf("%s\n", strings.Join(parts, " "))
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
			return tool.EOFIsNil(err)
		}
	}
}

// Uniq drops, counts or selects repeated lines.
func Uniq(c *tool.Call) int {
	opts, files, ok := c.Options("cdui")
	if !ok || len(files) > 1 {
		return c.Usage("usage: uniq [-cdui] [file]")
	}
	var counted, repeated, unique, fold bool
	for _, o := range opts {
		counted, repeated = counted || o.Flag == 'c', repeated || o.Flag == 'd'
		unique, fold = unique || o.Flag == 'u', fold || o.Flag == 'i'
	}
	n, last := 0, ""
	show := func() {
		if n == 0 || repeated && n == 1 || unique && n > 1 {
			return
		}
		if counted {
			c.Printf("%7d ", n)
		}
		c.Printf("%s\n", last)
	}
	status := c.EachLine(files, func(line string) bool {
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

// Cut selects fields, characters or bytes; all characters are bytes.
func Cut(c *tool.Call) int {
	opts, files, ok := c.Options("d:f:c:b:sn")
	if !ok {
		return 1
	}
	delim, list, fields, onlyDelimited := "\t", "", false, false
	for _, o := range opts {
		switch o.Flag {
		case 'd':
			delim = o.Arg
		case 'f', 'c', 'b':
			if list != "" {
				return c.Usage("only one list may be specified")
			}
			list, fields = o.Arg, o.Flag == 'f'
		case 's':
			onlyDelimited = true
		}
	}
	if len(delim) != 1 {
		return c.Usage("the delimiter must be a single character")
	}
	ranges, err := parseRanges(list)
	if err != nil {
		return c.Usage("%v", err)
	}
	return c.EachLine(files, func(line string) bool {
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
		c.Printf("%s\n", line)
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
			x[0] = tool.ToInt(from)
		}
		switch {
		case !ranged:
			x[1] = x[0]
		case to != "":
			x[1] = tool.ToInt(to)
		}
		if x[0] < 1 || x[1] < x[0] || part == "" || part == "-" {
			return nil, fmt.Errorf("invalid list %q", list)
		}
		r = append(r, x)
	}
	return r, nil
}

// MD5Sum prints the MD5 sum of each file.
func MD5Sum(c *tool.Call) int {
	return c.EachFile(c.Args, func(name string, r io.Reader) error {
		h := md5.New()
		if _, err := io.Copy(h, r); err != nil {
			return err
		}
		c.Printf("%x  %s\n", h.Sum(nil), name)
		return nil
	})
}

// Seq counts.
func Seq(c *tool.Call) int {
	sep, args := "\n", c.Args
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && !strings.ContainsAny(args[0][1:2], "0123456789.") {
		switch {
		case args[0] == "-s" && len(args) > 1:
			sep, args = args[1], args[2:]
		case strings.HasPrefix(args[0], "-s") && args[0] != "-s":
			sep, args = args[0][2:], args[1:]
		default:
			return c.Usage("option %s is not in the lab", args[0])
		}
	}
	first, step, last := 1.0, 1.0, 0.0
	n := make([]float64, len(args))
	decimals := 0
	for i, arg := range args {
		var err error
		if n[i], err = strconv.ParseFloat(arg, 64); err != nil {
			return c.Usage("invalid floating point argument: %q", arg)
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
		return c.Usage("usage: seq [first [step]] last")
	}
	if step == 0 {
		return c.Usage("the step must not be 0")
	}
	format := fmt.Sprintf("%%.%df", min(decimals, 20))
	for i := 0; ; i++ {
		v := first + float64(i)*step
		if step > 0 && v > last || step < 0 && v < last || c.Stopped() {
			if i > 0 {
				c.Printf("\n")
			}
			return 0
		}
		if i > 0 {
			c.Printf("%s", sep)
		}
		c.Printf(format, v)
	}
}
