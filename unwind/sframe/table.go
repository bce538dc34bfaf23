package sframe

import (
	"fmt"
	"io"
)

// Table writes the section as objdump --sframe does in binutils 2.40.
func (s *Section) Table(w io.Writer) error {
	var err error
	p := func(format string, a ...any) {
		if err == nil {
			_, err = fmt.Fprintf(w, format, a...)
		}
	}
	n := 0
	for _, f := range s.Funcs {
		n += len(f.Rows)
	}
	flags := "NONE"
	if s.Flags&Sorted != 0 {
		flags = "SFRAME_F_FDE_SORTED"
	}
	p("  Header :\n\n    Version: SFRAME_VERSION_%d\n    Flags: %s\n    Num FDEs: %d\n    Num FREs: %d\n", s.Version, flags, len(s.Funcs), n)
	p("\n  Function Index :\n")
	for i := range s.Funcs {
		f := &s.Funcs[i]
		start, mark := f.Start, "   "
		if f.Mask {
			start, mark = 0, "[m]"
		}
		p("\n    func idx [%d]: pc = 0x%x, size = %d bytes\n    STARTPC%s      CFA       FP        RA           \n", i, f.Start, f.Size, mark)
		for j := range f.Rows {
			row := &f.Rows[j]
			rule, bad := s.Rule(f, row)
			if bad != nil {
				return bad
			}
			cfa, fp, ra := s.columns(&rule)
			if rule.Mangled && !rule.Outermost {
				ra += "[s]"
			}
			p("    %016x  %-10s%-10s%-13s\n", start+uint64(row.Start), cfa, fp, ra)
		}
	}
	return err
}

// columns are the places of a rule.
func (s *Section) columns(r *Rule) (cfa, fp, ra string) {
	cfa, fp, ra = s.place(r.CFA), s.place(r.FP), "u"
	if s.FixedRA == 0 {
		ra = s.place(r.RA)
	}
	if r.Outermost {
		cfa, ra = "u", "u"
	}
	return cfa, fp, ra
}

// place writes one column.
func (s *Section) place(p Place) string {
	if p.Kept {
		return "u"
	}
	base := "c"
	if p.HasReg {
		switch base = fmt.Sprintf("r%d", p.Reg); p.Reg {
		case frameRegs[s.Arch].sp:
			base = "sp"
		case frameRegs[s.Arch].fp:
			base = "fp"
		}
	}
	text := fmt.Sprintf("%s%+d", base, p.Off)
	if p.Load && p.HasReg {
		return "(" + text + ")"
	}
	return text
}
