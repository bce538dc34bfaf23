package sframe

// Listing is a section as other programs read it, in JSON.
type Listing struct {
	Version   uint8        `json:"version"`
	Arch      string       `json:"arch"`
	Sorted    bool         `json:"sorted"`
	Address   uint64       `json:"address"`  // of the section in its file
	FixedFP   int8         `json:"fixed_fp"` // from the CFA; 0 means that rows have it
	FixedRA   int8         `json:"fixed_ra"`
	Functions []ListedFunc `json:"functions"`
}

// ListedFunc is a function of a [Listing].
type ListedFunc struct {
	Start  uint64      `json:"start"`
	Size   uint32      `json:"size"`
	Repeat uint8       `json:"repeat,omitempty"` // size of the blocks that the rows describe
	Signal bool        `json:"signal,omitempty"`
	Rows   []ListedRow `json:"rows"`
}

// ListedRow has columns in the form of [Section.Table]. Start counts from the start of
// the function.
type ListedRow struct {
	Start   uint32 `json:"start"`
	CFA     string `json:"cfa"`
	FP      string `json:"fp"`
	RA      string `json:"ra"`
	Mangled bool   `json:"mangled,omitempty"`
}

// archNames are the architectures in words.
var archNames = [...]string{ARM64Big: "arm64be", ARM64: "arm64", AMD64: "x86-64", S390X: "s390x"}

// List makes the listing of a section.
func (s *Section) List() (*Listing, error) {
	l := &Listing{
		Version: s.Version, Arch: archNames[s.Arch], Sorted: s.Flags&Sorted != 0, Address: s.Addr,
		FixedFP: s.FixedFP, FixedRA: s.FixedRA, Functions: []ListedFunc{},
	}
	for i := range s.Funcs {
		f := &s.Funcs[i]
		listed := ListedFunc{Start: f.Start, Size: f.Size, Signal: f.Signal, Rows: []ListedRow{}}
		if f.Mask {
			listed.Repeat = f.Repeat
		}
		for j := range f.Rows {
			rule, err := s.Rule(f, &f.Rows[j])
			if err != nil {
				return nil, err
			}
			cfa, fp, ra := s.columns(&rule)
			listed.Rows = append(listed.Rows, ListedRow{Start: f.Rows[j].Start, CFA: cfa, FP: fp, RA: ra, Mangled: rule.Mangled})
		}
		l.Functions = append(l.Functions, listed)
	}
	return l, nil
}
