package coreutils

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"ftracelab/internal/userland/tool"
)

// DD copies in blocks: each is one read(2) and one write(2).
func DD(c *tool.Call) int {
	from, to := "-", ""
	block, count, skip, quiet := 512, -1, 0, false
	for _, arg := range c.Args {
		name, value, _ := strings.Cut(arg, "=")
		n, isNumber := blockSize(value)
		switch {
		case name == "if":
			from = value
		case name == "of":
			to = value
		case name == "status":
			quiet = value == "none"
		case (name == "bs" || name == "count" || name == "skip") && !isNumber || name == "bs" && n == 0:
			return c.Usage("invalid number: '%s'", value)
		case name == "bs":
			block = n
		case name == "count":
			count = n
		case name == "skip":
			skip = n
		default:
			return c.Usage("unrecognized operand '%s'", arg)
		}
	}
	in, err := c.Open(from)
	if err != nil {
		c.Fail("failed to open '"+from+"'", err)
		return 1
	}
	defer in.Close()
	out := io.Writer(c.Stdout)
	if to != "" {
		f, err := c.Create(to, false)
		if err != nil {
			c.Fail("failed to open '"+to+"'", err)
			return 1
		}
		defer f.Close()
		out = f
	}
	var whole, part, bytes int
	buf := make([]byte, block)
	for n := 0; (count < 0 || n < skip+count) && !c.Stopped(); n++ {
		got, rerr := in.Read(buf)
		if got > 0 && n >= skip {
			if _, err := out.Write(buf[:got]); err != nil {
				c.Fail("error writing '"+to+"'", err)
				return 1
			}
			bytes += got
			if got == block {
				whole++
			} else {
				part++
			}
		}
		if rerr != nil {
			if !errors.Is(rerr, io.EOF) {
				c.Fail("error reading '"+from+"'", rerr)
				return 1
			}
			break
		}
	}
	if quiet {
		return 0
	}
	fmt.Fprintf(c.Stderr, "%d+%d records in\n%d+%d records out\n%d bytes copied\n", whole, part, whole, part, bytes)
	return 0
}

// maxBlock bounds dd's memory.
const maxBlock = 64 << 20

// blockSize is a number with k, M or G behind it.
func blockSize(s string) (int, bool) {
	unit := 1
	for suffix, u := range map[string]int{"k": 1 << 10, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30} {
		if number, ok := strings.CutSuffix(s, suffix); ok {
			s, unit = number, u
		}
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || int(n) > maxBlock/unit {
		return 0, false
	}
	return int(n) * unit, true
}
