package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"ftracelab/budget"
)

// maxSamples is how many samples a folded text becomes at most, not counting one for
// each line.
//
// A weight need not be a number of samples: flame graphs of waiting times have
// microseconds there, and a line of 15 bytes can ask for 10^9 records. One record with
// a factor cannot stand for them, because each record has an influence on where a page
// of the ring ends. Refusing such files is no choice either, as they are common. So all
// weights of a text are divided by the same number. That keeps the proportions, which
// the estimate is about, and a caveat says so. A million samples take about a second.
const maxSamples = 1 << 20

// foldedScale finds and applies the number by which the weights of a text are divided.
type foldedScale struct {
	divisor uint64 // 1: weights are taken as they are
	hi, lo  uint64 // the sum of the weights

	lines, raised uint64 // lines seen, and how many of them had less than half the divisor
}

// add counts the weight of a line in the first pass.
func (s *foldedScale) add(weight uint64) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, weight, 0)
	s.hi += carry
}

// settle chooses the divisor once all weights are added.
func (s *foldedScale) settle() {
	s.divisor = 1
	switch {
	case s.hi >= maxSamples:
		s.divisor = 1<<64 - 1
	case s.hi > 0 || s.lo > maxSamples:
		q, r := bits.Div64(s.hi, s.lo, maxSamples)
		if r > 0 && q < 1<<64-1 {
			q++
		}
		s.divisor = q
	}
}

// samples gives the number of samples for a stack of that weight: at least one, so that
// no stack is lost.
func (s *foldedScale) samples(weight uint64) uint64 {
	if weight == 0 {
		return 0
	}
	s.lines++
	n, rest := weight/s.divisor, weight%s.divisor
	if rest >= s.divisor-rest {
		n++
	}
	if n == 0 {
		s.raised++
		n = 1
	}
	return n
}

// caveats tells what the division did.
func (s *foldedScale) caveats() []string {
	if s.divisor == 1 {
		return nil
	}
	sum := fmt.Sprint(s.lo)
	if s.hi > 0 {
		sum = "more than 2^64"
	}
	text := fmt.Sprintf("the weights add up to %s, and at most %d samples are replayed: one stands for a weight of %d, rounded; "+
		"proportions hold, numbers of events and bytes are so many times smaller", sum, maxSamples, s.divisor)
	if s.raised > 0 {
		text += fmt.Sprintf("; %d of %d stacks weigh less than half of that and count once, which is too often", s.raised, s.lines)
	}
	return []string{text}
}

// measure is the first pass over a text. It ignores errors; the second pass reports
// them.
func (s *foldedScale) measure(in io.Reader, name string) {
	for l := newLines(in, name); ; {
		line, _, err := l.next()
		if err != nil {
			var at *Error
			if errors.As(err, &at) && at.Line > 0 {
				continue // this line is bad; others follow
			}
			return
		}
		if line = bytes.TrimRight(line, " \r"); len(line) == 0 || line[0] == '#' {
			continue
		}
		if _, weight, ok := splitFolded(line); ok {
			s.add(weight)
		}
	}
}

// twice measures a text and gives a reader for the second pass. A file is opened twice;
// what comes through a pipe is kept in memory.
func (s *foldedScale) twice(in *stream, l location, memory *budget.Budget) (io.Reader, error) {
	defer s.settle()
	if l.fsys != nil && !l.once {
		first, err := openStream(l.fsys, l.name, l.shown, true, memory)
		if err != nil {
			return nil, err
		}
		s.measure(first, l.shown)
		return in, first.Close()
	}
	text, err := gather(in, streamBuffer, memory, l.shown)
	var large *budget.Error
	if errors.As(err, &large) {
		return nil, fileError(l.shown, "folded stacks are read twice: give them as a file", err)
	}
	s.measure(bytes.NewReader(text), l.shown)
	second := io.Reader(bytes.NewReader(text))
	if err != nil {
		second = io.MultiReader(second, failing{err})
	}
	return second, nil
}

// failing is a reader that returns the error with which an earlier read ended.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
