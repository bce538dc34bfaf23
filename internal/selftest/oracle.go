//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// oracle holds the results of real kernels, by the description that ftracetest prints
// for a test. Some descriptions are not unique; their results come in the order of the
// tests.
type oracle struct{ debian, full map[string][]string }

func readOracle(dir string) (oracle, error) {
	o := oracle{map[string][]string{}, map[string][]string{}}
	if dir == "" {
		return o, nil
	}
	for _, file := range []struct {
		name  string
		into  map[string][]string
		again bool // these are results of a rerun, which replace earlier ones
	}{
		{"debian_ftracetest.txt", o.debian, false},
		{"debian_rerun_of_10_95_99.txt", o.debian, true},
		{"full_half1.txt", o.full, false},
		{"full_half2.txt", o.full, false},
	} {
		text, err := os.ReadFile(filepath.Join(dir, "selftests", file.name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return o, err
		}
		for line := range strings.Lines(string(text)) {
			m := oracleLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
			if m == nil {
				continue
			}
			key := oracleKey(m[2], m[1] != "")
			if file.again {
				file.into[key] = nil
			}
			file.into[key] = append(file.into[key], m[3])
		}
	}
	return o, nil
}

var oracleLine = regexp.MustCompile(`^\[\d+\]( \(instance\) )?(.*)\t\[([A-Z]+)\]$`)

func oracleKey(description string, instance bool) string {
	key := strings.Join(strings.Fields(description), " ")
	if instance {
		return "(instance) " + key
	}
	return key
}

// of takes the results of a test on the two kernels; "-" stands for none.
func (o oracle) of(c *testCase) (debian, full string) {
	take := func(results map[string][]string) string {
		key := oracleKey(c.description, c.Instance)
		list := results[key]
		if len(list) == 0 {
			return "-"
		}
		if len(list) > 1 {
			results[key] = list[1:]
		}
		return list[0]
	}
	return take(o.debian), take(o.full)
}
