package shell

import (
	"io"
	"strings"

	"ftracelab/internal/userland/tool"

	"mvdan.cc/sh/v3/expand"
)

// charge refuses a command whose words would come to more than there is room for.
// See formulaWriter for the formula; positional is the text of the positional
// parameters that it has to do with.
func (l *limit) charge(env expand.Environ, formula, positional string) error {
	c := charger{l: l, env: env, positional: positional, formula: formula, sizes: map[string]int{}}
	n := c.sum().bytes
	if n > l.maxWords() {
		return l.fail(errMemory)
	}
	if n < smallWords {
		return nil
	}
	all := n
	for _, v := range env.Each {
		all += variableSize(v)
	}
	if all > l.maxVariables() || l.over(3*n) {
		return l.fail(errMemory)
	}
	return nil
}

// smallWords are too few bytes for looking at all there is.
const smallWords = 64 << 10

// enough stands for all numbers that are too large.
const enough = 1 << 40

// weight is what a term comes to.
type weight struct {
	bytes  int
	quoted int  // of them, what is not split
	field  int  // the longest word with a *, ? or [, of what is split
	meta   bool // there are such
}

func (w weight) plus(o weight) weight {
	return weight{min(w.bytes+o.bytes, enough), min(w.quoted+o.quoted, enough), max(w.field, o.field), w.meta || o.meta}
}

func (w weight) times(n int) weight {
	if w.bytes > 0 && n > enough/w.bytes {
		w.bytes = enough
	} else {
		w.bytes *= n
	}
	return w
}

// charger reads a formula.
type charger struct {
	l          *limit
	env        expand.Environ
	positional string
	formula    string
	sizes      map[string]int // of variables that the command sets
}

// sum reads terms, to the end or a closing bracket.
func (c *charger) sum() weight {
	var w weight
	for c.formula != "" && c.formula[0] != ')' {
		if c.formula[0] == ',' {
			c.formula = c.formula[1:]
			continue
		}
		w = w.plus(c.term())
	}
	return w
}

// brackets reads a sum in brackets.
func (c *charger) brackets() weight {
	c.formula = strings.TrimPrefix(c.formula, "(")
	w := c.sum()
	c.formula = strings.TrimPrefix(c.formula, ")")
	return w
}

func (c *charger) term() weight {
	end := strings.IndexAny(c.formula, ",()")
	if end < 0 {
		end = len(c.formula)
	}
	word, bracket := c.formula[:end], strings.HasPrefix(c.formula[end:], "(")
	c.formula = c.formula[end:]
	if !bracket {
		return c.atom(word)
	}
	inner := c.brackets()
	name, op := word[:max(len(word)-1, 0)], byte(0)
	if word != "" {
		op = word[len(word)-1]
	}
	switch op {
	case '=':
		c.sizes[name] = max(inner.bytes, 1)
		return inner
	case '*':
		x := c.atom(name)
		return x.plus(weight{bytes: 1}.times(inner.bytes + matchCost).times(x.bytes + 1))
	case 'x':
		return inner.times(tool.ToInt(name))
	}
	if inner.meta { // g: one word, and a pattern
		inner.bytes = inner.plus(weight{bytes: inner.quoted + inner.field}.times(patternCost)).bytes
	}
	return inner
}

// atom is a term without brackets.
func (c *charger) atom(word string) weight {
	switch {
	case word == "":
		return weight{}
	case word == "+":
		return weight{meta: true}
	case word[0] >= '0' && word[0] <= '9':
		n := max(tool.ToInt(word), 0)
		return weight{bytes: n, quoted: n}
	}
	name, split := strings.CutPrefix(word, "~")
	name, indirect := strings.CutPrefix(name, "!")
	if name == "@" {
		return c.text(c.positional, true)
	}
	if n, ok := c.sizes[name]; ok && !indirect {
		return weight{bytes: n, quoted: n}
	}
	v := c.variable(name)
	if indirect {
		v = c.variable(v.String())
	}
	if v.Kind == expand.String && split {
		return c.text(v.Str, true)
	}
	n := variableSize(v)
	return weight{bytes: n, quoted: n}
}

func (c *charger) variable(name string) expand.Variable {
	if name == "" {
		return expand.Variable{}
	}
	v := c.env.Get(name)
	if _, resolved := v.Resolve(c.env); v.Kind == expand.NameRef {
		return resolved
	}
	return v
}

// text is what s comes to where it is split.
func (c *charger) text(s string, split bool) weight {
	if !split || len(s) < smallWords/wordCost {
		return weight{bytes: len(s), field: len(s), meta: strings.ContainsAny(s, "*?[")}
	}
	sp := newSplitter(c.env)
	sp.add(s)
	return weight{bytes: len(s) + sp.words*wordCost, field: sp.longest, meta: sp.longest > 0}
}

// variableSize is how many bytes a variable holds.
func variableSize(v expand.Variable) int {
	n := len(v.Str)
	for _, s := range v.List {
		n += len(s) + wordCost
	}
	for k, s := range v.Map {
		n += len(k) + len(s) + wordCost
	}
	return n
}

// splitter counts the words that a text is split into.
type splitter struct {
	separators string // IFS
	words      int
	longest    int // of words with a *, ? or [
	now        int // the length of the word it stands in
	meta       bool
}

func newSplitter(env expand.Environ) *splitter {
	s := &splitter{separators: " \t\n"}
	if ifs := env.Get("IFS"); ifs.IsSet() {
		s.separators = ifs.String()
	}
	return s
}

func (s *splitter) add(text string) {
	for i := range len(text) {
		b := text[i]
		if strings.IndexByte(s.separators, b) >= 0 {
			s.words++
			s.now, s.meta = 0, false
			continue
		}
		s.now++
		if s.meta = s.meta || b == '*' || b == '?' || b == '['; s.meta {
			s.longest = max(s.longest, s.now)
		}
	}
}

// cost is what the words take beside their bytes.
func (s *splitter) cost() int { return s.words*wordCost + s.longest*patternCost }

// substitution is a command substitution that collects in w. room says among how
// many it shares what the words of a command may come to, and whether it is split.
func (l *limit) substitution(w io.Writer, env expand.Environ, room string) *substitution {
	share, split := strings.CutSuffix(room, "~")
	s := &substitution{limit: l, w: unwrapped(w), room: l.maxWords() / max(tool.ToInt(share), 1)}
	s.next = s.room - lookStep
	if split {
		s.split = newSplitter(env)
	}
	return s
}
