package sframe_test

import (
	"fmt"
	"os"

	"ftracelab/unwind/sframe"
)

// Where the caller's registers are at one address, and the same from a section of version 3.
func Example() {
	b, err := os.ReadFile("testdata/sample.elf.sframe")
	if err != nil {
		panic(err)
	}
	s, err := sframe.Parse(b, 0x2188)
	if err != nil {
		panic(err)
	}
	b, err = s.Encode(3)
	if err != nil {
		panic(err)
	}
	third, err := sframe.Parse(b, 0x2188)
	if err != nil {
		panic(err)
	}
	for _, s := range []*sframe.Section{s, third} {
		f, row, err := s.Find(0x1180)
		if err != nil {
			panic(err)
		}
		rule, err := s.Rule(f, row)
		fmt.Printf("version %d: CFA is register %d%+d, RA at CFA%+d, FP at CFA%+d %v\n",
			s.Version, rule.CFA.Reg, rule.CFA.Off, rule.RA.Off, rule.FP.Off, err)
	}
	// Output:
	// version 1: CFA is register 6+16, RA at CFA-8, FP at CFA-16 <nil>
	// version 3: CFA is register 6+16, RA at CFA-8, FP at CFA-16 <nil>
}
