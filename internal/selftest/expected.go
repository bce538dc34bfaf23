//go:build unix

package main

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"
)

// expectedText is the table of results for the suite of Linux 6.12.
//
//go:embed expected.txt
var expectedText string

// testRun names a run of a test. Its second run is in an instance.
type testRun struct {
	test     string
	instance bool
}

func (r testRun) String() string {
	if r.instance {
		return r.test + " (instance)"
	}
	return r.test
}

// addedFolder is the folder for a test that does not belong to the suite.
const addedFolder = "added"

// readExpected reads a table of results from a file; without a name, it gives the
// built-in table.
func readExpected(file string) (map[testRun]string, error) {
	text, shown := expectedText, "expected.txt"
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		text, shown = string(b), file
	}
	table := map[testRun]string{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		f := strings.Fields(line)
		if len(f) == 0 || f[0][0] == '#' {
			continue
		}
		if len(f) < 2 || len(f) > 3 || len(f) == 3 && f[2] != "instance" {
			return nil, fmt.Errorf("%s:%d: want a result, a test and perhaps \"instance\"", shown, n)
		}
		r := testRun{f[1], len(f) == 3}
		if table[r] != "" {
			return nil, fmt.Errorf("%s:%d: %s is there twice", shown, n, r)
		}
		table[r] = f[0]
	}
	return table, nil
}

// compare lists the differences from the table. The suite and the table must have the
// same tests, except for an added test, which counts only if it was asked for. cases
// are the tests that ran.
func (s *suite) compare(cases []*testCase, want map[testRun]string) (differences []string) {
	for _, c := range cases {
		r := testRun{c.Test, c.Instance}
		switch want[r] {
		case c.Result:
		case "":
			differences = append(differences, fmt.Sprintf("%s: %s, the table does not have it", r, c.Result))
		default:
			differences = append(differences, fmt.Sprintf("%s: %s, expected %s", r, c.Result, want[r]))
		}
	}
	there := map[testRun]bool{}
	for _, c := range s.cases {
		there[testRun{c.Test, c.Instance}] = true
	}
	var gone []string
	for r := range want {
		if !there[r] && !strings.HasPrefix(r.test, addedFolder+"/") {
			gone = append(gone, fmt.Sprintf("%s: expected %s, the suite does not have it", r, want[r]))
		}
	}
	slices.Sort(gone)
	return append(differences, gone...)
}
