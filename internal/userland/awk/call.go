package awk

import (
	"fmt"
	"math"
	"regexp"
	"strings"
)

// callExpr is a call of a built-in function.
type callExpr struct {
	name   string
	args   []expr
	array  int    // of split and length; -1: none
	target lvalue // of sub and gsub
}

func (e *callExpr) eval(m *machine) value {
	switch e.name {
	case "length":
		return e.length(m)
	case "split":
		return e.splitInto(m)
	case "sub", "gsub":
		return e.substitute(m)
	case "sprintf":
		return str(m.format(e.args))
	case "match":
		return e.match(m)
	}
	args := make([]value, len(e.args))
	for i, a := range e.args {
		args[i] = a.eval(m)
	}
	switch e.name {
	case "substr":
		return substr(args, m.convfmt())
	case "index":
		return num(float64(strings.Index(args[0].string(m.convfmt()), args[1].string(m.convfmt())) + 1))
	case "tolower":
		return str(strings.ToLower(args[0].string(m.convfmt())))
	case "toupper":
		return str(strings.ToUpper(args[0].string(m.convfmt())))
	}
	return num(mathCall(e.name, args))
}

func mathCall(name string, args []value) float64 {
	n := args[0].number()
	switch name {
	case "int":
		return math.Trunc(n)
	case "sqrt":
		return math.Sqrt(n)
	case "exp":
		return math.Exp(n)
	case "log":
		return math.Log(n)
	case "sin":
		return math.Sin(n)
	case "cos":
		return math.Cos(n)
	}
	return math.Atan2(n, args[1].number())
}

func (e *callExpr) length(m *machine) value {
	if len(e.args) == 0 {
		return num(float64(len(m.getRecord())))
	}
	if e.array >= 0 && len(m.arrays[e.array].cells) > 0 {
		return num(float64(len(m.arrays[e.array].cells)))
	}
	return num(float64(len(e.args[0].eval(m).string(m.convfmt()))))
}

// substr takes the characters whose position, counted from 1, lies in
// [round(m), round(m)+round(n)).
func substr(args []value, format string) value {
	s := args[0].string(format)
	from := math.RoundToEven(args[1].number())
	to := math.Inf(1)
	if len(args) == 3 {
		to = from + math.RoundToEven(args[2].number())
	}
	from, to = max(from, 1), min(to, float64(len(s)+1))
	if !(from < to) {
		return str("")
	}
	return str(s[int(from)-1 : int(to)-1])
}

func (e *callExpr) splitInto(m *machine) value {
	s := e.args[0].eval(m).string(m.convfmt())
	var parts []string
	switch {
	case len(e.args) < 3:
		parts = m.splitText(s, m.vars[varFS].string(m.convfmt()), false)
	case isRegexp(e.args[2]) && s != "":
		parts = splitRegexp(s, m.regexp(e.args[2]))
	case !isRegexp(e.args[2]):
		parts = m.splitText(s, e.args[2].eval(m).string(m.convfmt()), false)
	}
	m.clearArray(e.array)
	for i, part := range parts {
		m.setElem(e.array, fmt.Sprint(i+1), input(part))
	}
	return num(float64(len(parts)))
}

func isRegexp(e expr) bool {
	_, ok := e.(*regexpExpr)
	return ok
}

func (e *callExpr) match(m *machine) value {
	s := e.args[0].eval(m).string(m.convfmt())
	start, length := 0, -1
	if at := m.regexp(e.args[1]).FindStringIndex(s); at != nil {
		start, length = at[0]+1, at[1]-at[0]
	}
	m.vars[varRSTART], m.vars[varRLENGTH] = num(float64(start)), num(float64(length))
	return num(float64(start))
}

func (e *callExpr) substitute(m *machine) value {
	re := m.regexp(e.args[0])
	with := e.args[1].eval(m).string(m.convfmt())
	s := e.target.eval(m).string(m.convfmt())
	limit := 1
	if e.name == "gsub" {
		limit = maxMatches
	}
	result, n := substitute(s, re, with, limit)
	if len(result) > maxString || n == maxMatches {
		m.fail("string is too long")
	}
	if n > 0 {
		e.target.set(m, str(result))
	}
	return num(float64(n))
}

// substitute replaces up to limit matches: & in with is the match, \& an ampersand.
func substitute(s string, re *regexp.Regexp, with string, limit int) (string, int) {
	var b strings.Builder
	n, last := 0, 0
	for _, at := range re.FindAllStringIndex(s, limit) {
		b.WriteString(s[last:at[0]])
		match := s[at[0]:at[1]]
		for i := 0; i < len(with) && b.Len() <= maxString; i++ {
			switch {
			case with[i] == '\\' && i+1 < len(with) && (with[i+1] == '&' || with[i+1] == '\\'):
				i++
				b.WriteByte(with[i])
			case with[i] == '&':
				b.WriteString(match)
			default:
				b.WriteByte(with[i])
			}
		}
		last = at[1]
		n++
	}
	b.WriteString(s[last:])
	return b.String(), n
}
