package lessons

import (
	"fmt"
	"strconv"
	"strings"
)

// letter is the name of the choice at index n.
func letter(n int) string { return string(rune('a' + n)) }

// number reads what a learner writes for a number: decimal or hexadecimal, with or
// without commas.
func number(s string) (int64, error) {
	n, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimSpace(s), ",", ""), 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return n, nil
}

// plainWord is a word as it is compared: without case, and with single spaces.
func plainWord(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

// same reports whether two answers to the question mean the same.
func (q *Question) same(a, b string) bool {
	if q.Kind != Number {
		return plainWord(a) == plainWord(b)
	}
	x, err1 := number(a)
	y, err2 := number(b)
	return err1 == nil && err2 == nil && x == y
}

// accepts reports whether the answer is right.
func (q *Question) accepts(given string) bool {
	for _, a := range strings.Split(q.answer(), "|") {
		if q.same(a, given) {
			return true
		}
	}
	return false
}

// answer is the right one, as a learner would give it.
func (q *Question) answer() string {
	for i, c := range q.Choices {
		if c.Right {
			return letter(i)
		}
	}
	return q.Answer
}

// judge says whether an answer is right, and why.
func (q *Question) judge(given string) (right bool, say string) {
	if q.Kind == Choices {
		for i, c := range q.Choices {
			if plainWord(given) == letter(i) {
				return c.Right, c.Say
			}
		}
		return false, fmt.Sprintf("Answer with one letter from a to %s.", letter(len(q.Choices)-1))
	}
	if q.accepts(given) {
		return true, q.Right
	}
	for w, say := range q.Wrong {
		if q.same(w, given) { // Parse lets no two of them be the same
			return false, say
		}
	}
	if _, err := number(given); q.Kind == Number && err != nil {
		return false, "Answer with a number, such as 16 or 0x10."
	}
	return false, q.Otherwise
}
