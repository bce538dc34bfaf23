//go:build unix

package main

import (
	_ "embed" // needs.txt and notes.txt
	"fmt"
	"slices"
	"strings"
)

// neededText says which tests notice that a part is missing, as -without prints it.
//
//go:embed needs.txt
var neededText string

// notesText says what the other tests look at.
//
//go:embed notes.txt
var notesText string

// note is what some tests have in common.
type note struct {
	heading, text string
	tests         []string
}

// readNotes reads notes.txt.
func readNotes(text string) (notes []note, err error) {
	line := 0
	for l := range strings.Lines(text) {
		line++
		l = strings.TrimSpace(l)
		switch heading, ok := strings.CutPrefix(l, "= "); {
		case l == "" || l[0] == '#':
		case ok:
			notes = append(notes, note{heading: heading})
		case len(notes) == 0:
			return nil, fmt.Errorf("notes.txt:%d: want a heading before the first sentence", line)
		case notes[len(notes)-1].text == "":
			notes[len(notes)-1].text = l
		default:
			n := &notes[len(notes)-1]
			n.tests = append(n.tests, strings.Fields(l)...)
		}
	}
	return notes, nil
}

// readNeeded reads lines that -without printed: which runs notice that a part is missing.
func readNeeded(text string) (map[testRun][]string, error) {
	needed := map[testRun][]string{}
	line := 0
	for l := range strings.Lines(text) {
		line++
		f := strings.Fields(l)
		if len(f) == 0 || f[0][0] == '#' {
			continue
		}
		if len(f) < 2 || len(f) > 3 || len(f) == 3 && f[2] != "instance" {
			return nil, fmt.Errorf("needs.txt:%d: want a part, a test and perhaps \"instance\"", line)
		}
		if _, err := findPart(f[0]); err != nil {
			return nil, fmt.Errorf("needs.txt:%d: %w", line, err)
		}
		r := testRun{f[1], len(f) == 3}
		if slices.Contains(needed[r], f[0]) {
			return nil, fmt.Errorf("needs.txt:%d: %s is there twice", line, r)
		}
		needed[r] = append(needed[r], f[0])
	}
	return needed, nil
}

// document is docs/selftests.md: for each test, the parts that it needs in order to pass.
func document() (string, error) {
	results, err := readExpected("")
	if err != nil {
		return "", err
	}
	needed, err := readNeeded(neededText)
	if err != nil {
		return "", err
	}
	notes, err := readNotes(notesText)
	if err != nil {
		return "", err
	}
	for r := range needed {
		if results[r] == "" {
			return "", fmt.Errorf("needs.txt: there is no test %s", r)
		}
	}
	runs := map[string]int{} // how often a test runs
	for r := range results {
		if !strings.HasPrefix(r.test, addedFolder+"/") {
			runs[r.test]++
		}
	}
	total, none := 0, 0
	var noticing, quiet []string
	for test, n := range runs {
		total += n
		some := false
		for _, r := range []testRun{{test, false}, {test, true}} {
			switch {
			case results[r] == "":
			case len(needed[r]) == 0:
				none++
			default:
				some = true
			}
		}
		if some {
			noticing = append(noticing, test)
		} else {
			quiet = append(quiet, test)
		}
	}
	slices.Sort(noticing)
	slices.Sort(quiet)

	var w strings.Builder
	fmt.Fprintf(&w, documentHead, total, countResults(results, "PASS"), none)
	fmt.Fprint(&w, "| part | without it | runs that notice |\n|---|---|--:|\n")
	for _, p := range parts {
		n := 0
		for _, needs := range needed {
			if slices.Contains(needs, p.name) {
				n++
			}
		}
		fmt.Fprintf(&w, "| %s | %s | %d |\n", p.name, p.what, n)
	}
	fmt.Fprintf(&w, "\n## Tests that notice a missing part\n\nA dot means that the test fails without the part. Where the test also runs in an instance, the second run\nneeds the same parts, unless a line of its own says otherwise. No test notices that set_ftrace_filter selects\nevery function, as the tests of its patterns read the file back and do not look at a trace; docs/sessions does.\n\n| test |")
	for _, p := range parts {
		fmt.Fprintf(&w, " %s |", p.name)
	}
	fmt.Fprint(&w, "\n|---|"+strings.Repeat(":-:|", len(parts))+"\n")
	for _, test := range noticing {
		first, again := testRun{test, false}, testRun{test, true}
		documentRow(&w, first.String(), needed[first])
		if results[again] != "" && !sameParts(needed[first], needed[again]) {
			documentRow(&w, again.String(), needed[again])
		}
	}
	fmt.Fprint(&w, "\n## Tests that notice none\n")
	seen := map[string]bool{}
	for _, n := range notes {
		var here []string
		for _, test := range n.tests {
			if runs[test] == 0 {
				return "", fmt.Errorf("notes.txt: there is no test %s", test)
			}
			if seen[test] {
				return "", fmt.Errorf("notes.txt: %s is there twice", test)
			}
			seen[test] = true
			if slices.Contains(quiet, test) {
				here = append(here, test)
			}
		}
		if len(here) == 0 {
			continue
		}
		slices.Sort(here)
		fmt.Fprintf(&w, "\n### %s\n\n%s\n\n", n.heading, n.text)
		for _, test := range here {
			fmt.Fprintf(&w, "* %s\n", test)
		}
	}
	for _, test := range quiet {
		if !seen[test] {
			return "", fmt.Errorf("notes.txt: %s notices no part, and no heading has it", test)
		}
	}
	return w.String(), nil
}

func documentRow(w *strings.Builder, name string, needs []string) {
	fmt.Fprintf(w, "| %s |", name)
	for _, p := range parts {
		if slices.Contains(needs, p.name) {
			w.WriteString(" • |")
		} else {
			w.WriteString(" |")
		}
	}
	w.WriteString("\n")
}

// sameParts reports whether two runs need the same parts.
func sameParts(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// countResults counts the runs of the suite that give a result.
func countResults(results map[testRun]string, result string) (n int) {
	for r, got := range results {
		if got == result && !strings.HasPrefix(r.test, addedFolder+"/") {
			n++
		}
	}
	return n
}

const documentHead = `# What the kernel's selftests notice

The selftests of Linux 6.12 give %d results here, of which %d are PASS ([clients.md](clients.md) says how they are run).
A test that passes has only shown what it looks at. This page says for each test what that is: parts of ftracelab were
taken out, one at a time, and the whole suite was run once more for each. A test that passes without a part does not need it. %d of
the results do not change with any of these parts.

` + "```" + `
$ go run ./internal/selftest -suite DIR -without filter
` + "```" + `

repeats one of these runs. It builds ftracelab with functions that do nothing ([without.go](../internal/selftest/without.go)
lists them), and prints the tests that notice. This page is made of these lines by a test of internal/selftest.

`
