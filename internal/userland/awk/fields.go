package awk

import (
	"regexp"
	"strings"
)

// setRecord makes s the record; its fields are split when one is asked for.
func (m *machine) setRecord(s string) {
	m.record, m.split, m.stale = s, false, false
}

// getRecord is $0, rebuilt with OFS if a field was assigned.
func (m *machine) getRecord() string {
	if m.stale {
		parts := make([]string, len(m.fields))
		for i, f := range m.fields {
			parts[i] = f.string(m.convfmt())
		}
		m.record = strings.Join(parts, m.vars[varOFS].string(m.convfmt()))
		m.stale = false
	}
	return m.record
}

func (m *machine) splitRecord() {
	if m.split {
		return
	}
	m.split = true
	m.fields = m.fields[:0]
	sep := m.vars[varFS].string(m.convfmt())
	paragraph := m.vars[varRS].string(m.convfmt()) == ""
	for _, f := range m.splitText(m.record, sep, paragraph) {
		m.fields = append(m.fields, input(f))
	}
	m.vars[varNF] = num(float64(len(m.fields)))
}

// splitText splits s: at blanks if sep is one, at the character sep, or at the
// regular expression sep; into bytes if it is empty. In paragraph mode a newline
// separates as well.
func (m *machine) splitText(s, sep string, paragraph bool) []string {
	var parts []string
	if len(s) >= maxMatches && m.pieces(s, sep, paragraph) >= maxMatches {
		m.fail("too many fields")
	}
	switch {
	case s == "":
		return nil
	case sep == " ":
		return strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' })
	case sep == "":
		for i := range len(s) {
			parts = append(parts, s[i:i+1])
		}
		return parts
	case len(sep) == 1 && sep != "\\":
		if paragraph {
			return strings.FieldsFunc(s, func(r rune) bool { return string(r) == sep || r == '\n' })
		}
		return strings.Split(s, sep)
	}
	if paragraph {
		sep += "|\n"
	}
	return splitRegexp(s, m.compile(sep))
}

// pieces is how many parts splitText would make of s, or more.
func (m *machine) pieces(s, sep string, paragraph bool) int {
	newlines := strings.Count(s, "\n")
	switch {
	case sep == " ":
		return newlines + strings.Count(s, " ") + strings.Count(s, "\t") + 1
	case sep == "":
		return len(s)
	case len(sep) == 1 && sep != "\\":
		return newlines + strings.Count(s, sep) + 1
	case paragraph:
		sep += "|\n"
	}
	return len(m.compile(sep).FindAllStringIndex(s, maxMatches))
}

// splitRegexp splits at each non-empty match.
func splitRegexp(s string, re *regexp.Regexp) []string {
	var parts []string
	start := 0
	for _, at := range re.FindAllStringIndex(s, maxMatches) {
		if at[0] == at[1] {
			continue
		}
		parts = append(parts, s[start:at[0]])
		start = at[1]
	}
	return append(parts, s[start:])
}

func (m *machine) field(i int) value {
	switch {
	case i < 0:
		m.fail("attempt to access field %d", i)
	case i == 0:
		return input(m.getRecord())
	}
	m.splitRecord()
	if i > len(m.fields) {
		return value{}
	}
	return m.fields[i-1]
}

func (m *machine) setField(i int, v value) {
	switch {
	case i < 0:
		m.fail("attempt to access field %d", i)
	case i == 0:
		m.setRecord(v.string(m.convfmt()))
		return
	}
	m.splitRecord()
	m.setNF(max(i, len(m.fields)))
	m.fields[i-1] = v
}

func (m *machine) setNF(n int) {
	if n < 0 || n > maxFields {
		m.fail("%d fields are too many for the lab's awk", n)
	}
	for len(m.fields) < n {
		m.fields = append(m.fields, value{})
	}
	m.fields = m.fields[:n]
	m.vars[varNF] = num(float64(n))
	m.stale = true
}

func (m *machine) getVar(i int) value {
	if i == varNF {
		m.splitRecord()
	}
	return m.vars[i]
}

func (m *machine) setVar(i int, v value) {
	if i == varNF {
		m.splitRecord()
		m.setNF(int(v.number()))
		return
	}
	if i == varFS {
		m.splitRecord() // a new FS is for the next record
	}
	m.vars[i] = v
}
