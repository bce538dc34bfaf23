package coreutils

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ftracelab/internal/userland/posixre"
	"ftracelab/internal/userland/tool"
)

// Expr evaluates arithmetic, comparisons and matches: expr 1 + 2.
func Expr(c *tool.Call) int {
	e := expression{words: c.Args}
	v, err := e.or(0)
	if err == nil && len(e.words) > 0 {
		err = fmt.Errorf("syntax error: unexpected argument '%s'", e.words[0])
	}
	if err != nil {
		return c.Usage("%v", err)
	}
	c.Printf("%s\n", v)
	if v == "" || v == "0" {
		return 1
	}
	return 0
}

// expression is a recursive descent over the words.
type expression struct{ words []string }

// next takes the next word if it is one of ops.
func (e *expression) next(ops ...string) (string, bool) {
	for _, op := range ops {
		if len(e.words) > 0 && e.words[0] == op {
			e.words = e.words[1:]
			return op, true
		}
	}
	return "", false
}

func isNull(v string) bool { return v == "" || v == "0" }

func (e *expression) or(depth int) (string, error) {
	left, err := e.and(depth)
	for err == nil {
		if _, ok := e.next("|"); !ok {
			break
		}
		var right string
		right, err = e.and(depth)
		if isNull(left) {
			left = right
		}
		if isNull(left) {
			left = "0"
		}
	}
	return left, err
}

func (e *expression) and(depth int) (string, error) {
	left, err := e.compare(depth)
	for err == nil {
		if _, ok := e.next("&"); !ok {
			break
		}
		var right string
		right, err = e.compare(depth)
		if isNull(left) || isNull(right) {
			left = "0"
		}
	}
	return left, err
}

func (e *expression) compare(depth int) (string, error) {
	left, err := e.sum(depth)
	for err == nil {
		op, ok := e.next("=", "==", "!=", "<", "<=", ">", ">=")
		if !ok {
			break
		}
		var right string
		right, err = e.sum(depth)
		left = compareWords(left, op, right)
	}
	return left, err
}

func compareWords(left, op, right string) string {
	order := strings.Compare(left, right)
	a, err1 := strconv.ParseInt(left, 10, 64)
	b, err2 := strconv.ParseInt(right, 10, 64)
	if err1 == nil && err2 == nil {
		order = 0
		if a < b {
			order = -1
		} else if a > b {
			order = 1
		}
	}
	var holds bool
	switch op {
	case "=", "==":
		holds = order == 0
	case "!=":
		holds = order != 0
	case "<":
		holds = order < 0
	case "<=":
		holds = order <= 0
	case ">":
		holds = order > 0
	case ">=":
		holds = order >= 0
	}
	if holds {
		return "1"
	}
	return "0"
}

func (e *expression) sum(depth int) (string, error) {
	left, err := e.product(depth)
	for err == nil {
		op, ok := e.next("+", "-")
		if !ok {
			break
		}
		var right string
		if right, err = e.product(depth); err == nil {
			left, err = calculate(left, op, right)
		}
	}
	return left, err
}

func (e *expression) product(depth int) (string, error) {
	left, err := e.match(depth)
	for err == nil {
		op, ok := e.next("*", "/", "%")
		if !ok {
			break
		}
		var right string
		if right, err = e.match(depth); err == nil {
			left, err = calculate(left, op, right)
		}
	}
	return left, err
}

func calculate(left, op, right string) (string, error) {
	a, err1 := strconv.ParseInt(left, 10, 64)
	b, err2 := strconv.ParseInt(right, 10, 64)
	if err1 != nil || err2 != nil {
		return "", errors.New("non-integer argument")
	}
	if b == 0 && (op == "/" || op == "%") {
		return "", errors.New("division by zero")
	}
	switch op {
	case "+":
		a += b
	case "-":
		a -= b
	case "*":
		a *= b
	case "/":
		a /= b
	case "%":
		a %= b
	}
	return strconv.FormatInt(a, 10), nil
}

func (e *expression) match(depth int) (string, error) {
	left, err := e.primary(depth)
	for err == nil {
		if _, ok := e.next(":"); !ok {
			break
		}
		var right string
		if right, err = e.primary(depth); err == nil {
			left, err = matchWord(left, right)
		}
	}
	return left, err
}

// matchWord matches from the beginning: the first group, or the length.
func matchWord(s, pattern string) (string, error) {
	re, err := posixre.Compile(strings.TrimPrefix(pattern, "^"), posixre.Basic, false)
	if err != nil {
		return "", err
	}
	at := re.FindStringSubmatchIndex(s)
	anchored := at != nil && at[0] == 0
	switch {
	case re.NumSubexp() > 0 && anchored && at[2] >= 0:
		return s[at[2]:at[3]], nil
	case re.NumSubexp() > 0:
		return "", nil
	case anchored:
		return strconv.Itoa(at[1]), nil
	}
	return "0", nil
}

func (e *expression) primary(depth int) (string, error) {
	if len(e.words) == 0 {
		return "", errors.New("syntax error: missing argument")
	}
	if depth > 100 {
		return "", errors.New("nested too deeply")
	}
	word := e.words[0]
	e.words = e.words[1:]
	switch {
	case word == "(":
		v, err := e.or(depth + 1)
		if err == nil {
			if _, ok := e.next(")"); !ok {
				err = errors.New("syntax error: expecting ')'")
			}
		}
		return v, err
	case word == "length" && len(e.words) > 0:
		v, err := e.primary(depth + 1)
		return strconv.Itoa(len(v)), err
	case word == "match" && len(e.words) > 1:
		s, err := e.primary(depth + 1)
		if err != nil {
			return "", err
		}
		pattern, err := e.primary(depth + 1)
		if err != nil {
			return "", err
		}
		return matchWord(s, pattern)
	}
	return word, nil
}
