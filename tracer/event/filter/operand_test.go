package filter_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ftracelab/tracer/event/filter"
)

// What a list of CPUs means on a machine of 12; "" is a fault.
func TestCPUList(t *testing.T) {
	typ := mixed(t)
	for list, want := range map[string]string{
		"0-2":              "[0 1 2]",
		"3,1,2":            "[1 2 3]",
		" 1\t,, 2 ":        "[1 2]",
		"0-N:1/3":          "[0 3 6 9]",
		"0-11:2/5":         "[0 1 5 6 10 11]",
		"0-11:2/5,3":       "[0 1 3 5 6 10 11]",
		"ALL":              "[0 1 2 3 4 5 6 7 8 9 10 11]",
		"all:1/6":          "[0 6]",
		"9-N,N":            "[9 10 11]",
		"1,2\n3":           "[1 2]",
		"1, 2 \n3":         "[1 2 3]",
		"\n1,2":            "[1 2]",
		"0-1:0/1,":         "[]",
		"0,2-3:1/1000":     "[0 2]",
		"1-4:1/4294967295": "[0 1]", // the sum wraps
		"0-12":             "",
		"12":               "",
		"3-1":              "",
		"0-3:2/1":          "",
		"0-3:1/0":          "",
		"0-3:1":            "",
		"0-3/2":            "",
		"3:1/2":            "",
		"0-":               "",
		"-1":               "",
		"N1":               "",
		"0-N-1":            "",
		"4294967296":       "",
		"all1":             "",
		"0-3:1/2x":         "",
	} {
		f, err := filter.Parse(typ, "cpu & CPUS{"+list+"}", testEnv())
		if err != nil {
			if want != "" || !strings.Contains(err.Error(), "Invalid cpulist") {
				t.Errorf("%q: %v", list, err)
			}
			continue
		}
		cpus := []int{}
		for cpu := range 16 {
			if f.Match(nil, filter.Context{CPU: cpu}) {
				cpus = append(cpus, cpu)
			}
		}
		if got := fmt.Sprint(cpus); got != want {
			t.Errorf("%q: %s, want %s", list, got, want)
		}
	}
}

// globs is every text that a glob matches among those of the list, found the
// slow way: by trying every length for each *.
func globs(glob, s string) bool {
	if glob == "" {
		return s == ""
	}
	if glob[0] == '*' {
		for i := range len(s) + 1 {
			if globs(glob[1:], s[i:]) {
				return true
			}
		}
		return false
	}
	if glob == `\` {
		return s == "" // a backslash takes the end literally
	}
	if s == "" {
		return false
	}
	switch set, rest, isSet := class(glob); {
	case isSet:
		return slices.Contains(set, s[0]) && globs(rest, s[1:])
	case glob[0] == '?':
		return globs(glob[1:], s[1:])
	case glob[0] == '\\':
		return glob[1] == s[0] && globs(glob[2:], s[1:])
	}
	return glob[0] == s[0] && globs(glob[1:], s[1:])
}

// class lists the characters of a bracket expression; isSet is false if glob
// does not begin with a whole one.
func class(glob string) (set []byte, rest string, isSet bool) {
	if glob[0] != '[' {
		return nil, "", false
	}
	body, inverted := strings.CutPrefix(glob[1:], "!")
	in := map[byte]bool{}
	for i := 0; ; i++ {
		if i >= len(body) {
			return nil, "", false
		}
		if body[i] == ']' && i > 0 {
			rest = body[i+1:]
			break
		}
		low, high := body[i], body[i]
		if strings.HasPrefix(body[i+1:], "-") && !strings.HasPrefix(body[i+1:], "-]") {
			if i+2 >= len(body) {
				return nil, "", false
			}
			high = body[i+2]
			i += 2
		}
		for c := int(low); c <= int(high); c++ {
			in[byte(c)] = true
		}
	}
	for c := range 255 {
		if in[byte(c+1)] != inverted {
			set = append(set, byte(c+1))
		}
	}
	return set, rest, true
}

// A glob that needs the matcher, because a ? stands in it, matches what the
// reference says.
func TestGlob(t *testing.T) {
	typ := mixed(t)
	rapid.Check(t, func(rt *rapid.T) {
		glob := "?" + rapid.StringMatching(`([ab*?\\]|\[!?[\]ab-]{0,3}\]?){0,5}`).Draw(rt, "glob")
		f, err := filter.Parse(typ, fmt.Sprintf(`dyn ~ "%s"`, glob), testEnv())
		if err != nil {
			rt.Fatal(err)
		}
		for range 20 {
			s := rapid.StringMatching(`[ab\]\\[-]{0,7}`).Draw(rt, "text")
			data := record(rt, typ, map[string]any{"dyn": s + "\x00"})
			if got, want := f.Match(data, filter.Context{}), globs(glob, s); got != want {
				rt.Fatalf("glob %q of %q: %v, want %v", glob, s, got, want)
			}
		}
	})
}
