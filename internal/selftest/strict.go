//go:build unix

package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// negation is a line that says "this must fail", and under "set -e" says nothing.
var negation = regexp.MustCompile(`^([ \t]*)! (.*)$`)

// makeStrict makes each such line an assertion. A line with an "or" or an "and" at
// its end acts on the result already and stays. So do lines in exempt.
func makeStrict(test string, text []byte) []byte {
	var out bytes.Buffer
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		m := negation.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil || strings.Contains(m[2], "||") || strings.Contains(m[2], "&&") || exempt[fmt.Sprintf("%s:%d", test, n)] != "" {
			out.WriteString(line)
			continue
		}
		fmt.Fprintf(&out, "%sif %s; then echo 'STRICT: line %d succeeded'; exit 1; fi\n", m[1], m[2], n)
	}
	return out.Bytes()
}

// exempt are lines that are not true of a real kernel, with the reason: upstream
// never noticed, because it never enforced them.
var exempt = map[string]string{}
