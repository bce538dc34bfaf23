package sframe

import (
	"errors"
	"fmt"
)

// Rule says where the caller's registers are.
type Rule struct {
	CFA       Place // its value is the CFA
	RA, FP    Place
	Outermost bool // there is no caller
	Mangled   bool // the return address is signed (arm64)
}

// Place is a value: the register Reg, or the CFA, plus Off; with Load, what lies at that
// address. With Kept, the register has not changed and the rest has no meaning.
// Registers have DWARF's numbers.
type Place struct {
	Kept   bool
	Load   bool
	Reg    int
	HasReg bool
	Off    int64
}

// frameRegs has DWARF's numbers of the stack pointer and the frame pointer.
var frameRegs = [...]struct{ sp, fp int }{ARM64Big: {31, 29}, ARM64: {31, 29}, AMD64: {7, 6}, S390X: {15, 11}}

// Rule says what a row of f means.
func (s *Section) Rule(f *Func, row *Row) (Rule, error) {
	rule := Rule{RA: Place{Kept: true}, FP: Place{Kept: true}, Mangled: row.Mangled}
	if s.FixedRA != 0 {
		rule.RA = fromCFA(int64(s.FixedRA))
	}
	if s.FixedFP != 0 {
		rule.FP = fromCFA(int64(s.FixedFP))
	}
	w := row.Words
	if len(w) == 0 {
		rule.Outermost = true
		return rule, nil
	}
	if f.Flexible {
		return rule, rule.flexible(w)
	}
	most := 3
	if s.FixedRA != 0 {
		most--
	}
	if s.FixedFP != 0 {
		most--
	}
	if len(w) > most {
		return rule, fmt.Errorf("%d words, where at most %d have a meaning", len(w), most)
	}
	base := frameRegs[s.Arch].fp
	if row.SP {
		base = frameRegs[s.Arch].sp
	}
	rule.CFA = Place{HasReg: true, Reg: base, Off: int64(w[0])}
	if s.Arch == S390X {
		rule.CFA.Off = int64(w[0])*8 + 160
	}
	w = w[1:]
	for _, p := range []struct {
		fixed int8
		to    *Place
	}{{s.FixedRA, &rule.RA}, {s.FixedFP, &rule.FP}} {
		if p.fixed == 0 && len(w) > 0 {
			*p.to = s.saved(w[0])
			w = w[1:]
		}
	}
	return rule, nil
}

func fromCFA(off int64) Place { return Place{Load: true, Off: off} }

// saved is where the word w says that a register was saved. On s390x this may be another
// register, or nowhere.
func (s *Section) saved(w int32) Place {
	switch {
	case s.Arch != S390X:
	case w == 0:
		return Place{Kept: true}
	case w&1 != 0 && s.Version == 3:
		return Place{HasReg: true, Reg: int(w >> 3)}
	case w&1 != 0:
		return Place{HasReg: true, Reg: int(w >> 1)}
	}
	return fromCFA(int64(w))
}

// flexible reads pairs of a control word and an offset, for the CFA, the return address
// and the frame pointer. A control word 0 has no offset: nothing is said about that register.
// No section that other tools made was at hand: this is read from a description only.
func (r *Rule) flexible(w []int32) error {
	for i, to := range []*Place{&r.CFA, &r.RA, &r.FP} {
		switch {
		case len(w) == 0 && i > 0:
			return nil
		case i > 0 && w[0] == 0:
			w = w[1:]
			continue
		case len(w) < 2:
			return fmt.Errorf("word %d has no offset", i)
		}
		*to = Place{HasReg: w[0]&1 != 0, Load: w[0]&2 != 0, Reg: int(w[0] >> 3), Off: int64(w[1])}
		if w = w[2:]; !r.CFA.HasReg {
			return errors.New("the CFA counts from itself")
		}
	}
	if len(w) > 0 {
		return fmt.Errorf("%d words too many", len(w))
	}
	return nil
}
