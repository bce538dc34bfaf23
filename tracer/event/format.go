package event

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Format is the text of events/SYSTEM/NAME/format.
//
// Kernel: f_show, kernel/trace/trace_events.c.
func (t *Type) Format() []byte {
	b := make([]byte, 0, 256+80*(len(t.Common)+len(t.Fields))+len(t.PrintFmt))
	b = fmt.Appendf(b, "name: %s\nID: %d\nformat:\n", t.Name, t.ID)
	for i := range t.Common {
		b = t.Common[i].appendFormat(b)
	}
	b = append(b, '\n')
	for i := range t.Fields {
		b = t.Fields[i].appendFormat(b)
	}
	return fmt.Appendf(b, "\nprint fmt: %s\n", t.PrintFmt)
}

func (f *Field) appendFormat(b []byte) []byte {
	signed := 0
	if f.Signed {
		signed = 1
	}
	return fmt.Appendf(b, "\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n", f.Decl, f.Offset, f.Size, signed)
}

// maxOffset limits offsets and sizes. No record is longer than the largest sub-buffer,
// which has 64 KiB on x86-64; a location word does not reach further either.
const maxOffset = 1 << 16

// ParseFormat reads a format file of the event system. Unless PrintErr returns
// an error, the type renders records like the kernel that the file came from.
//
// Size is computed: it is the end of the last field, padded as the alignment
// requires. The kernel's struct differs where it is packed or has members that
// the file does not show: 6.12's funcgraph_entry has 4 bytes less, its
// funcgraph_exit 16 more.
//
// Errors name the line. They are an unknown line, a field without name, offset or size,
// an offset or size that is not in 0…65536, and a missing name, ID or print fmt.
//
// Kernel: f_show, kernel/trace/trace_events.c, writes what is read here.
func ParseFormat(system string, text []byte) (*Type, error) {
	return ParseFormatText(system, string(text))
}

// ParseFormatText is ParseFormat of a text of which the type keeps parts.
func ParseFormatText(system, rest string) (*Type, error) {
	t := &Type{System: system, ID: -1}
	p := formatParser{t: t}
	if n := strings.Count(rest, "\tfield") - len(usualCommon); n > 0 {
		t.Fields = make([]Field, 0, n)
	}
	for line := 1; len(rest) > 0; line++ {
		var s string
		var ok bool
		if s, ok = strings.CutPrefix(rest, "print fmt:"); ok {
			// The print fmt is the whole rest of the text, because its strings
			// may hold line breaks.
			t.PrintFmt = strings.TrimSuffix(strings.TrimPrefix(s, " "), "\n")
			p.printFmt = true
			break
		}
		s, rest, _ = strings.Cut(rest, "\n")
		if err := p.line(s); err != nil {
			return nil, fmt.Errorf("format of %s/%s: line %d: %w", system, t.Name, line, err)
		}
	}
	if err := p.complete(); err != nil {
		return nil, fmt.Errorf("format of %s/%s: %w", system, t.Name, err)
	}
	t.Size = t.extent()
	return t, nil
}

type formatParser struct {
	t        *Type
	name     bool
	blank    bool // the empty line behind the common fields was seen
	printFmt bool
}

func (p *formatParser) complete() error {
	switch {
	case !p.name:
		return fmt.Errorf("no name: line")
	case p.t.ID < 0:
		return fmt.Errorf("no ID: line")
	case !p.printFmt:
		return fmt.Errorf("no print fmt: line")
	}
	return nil
}

// line parses one line before the print fmt.
func (p *formatParser) line(s string) error {
	switch {
	case s == "":
		p.blank = len(p.t.Common) > 0
		return nil
	case s == "format:":
		return nil
	case strings.HasPrefix(s, "name:"):
		p.t.Name, p.name = strings.TrimSpace(s[len("name:"):]), true
		return nil
	case strings.HasPrefix(s, "ID:"):
		id, err := strconv.ParseUint(strings.TrimSpace(s[len("ID:"):]), 10, 16)
		p.t.ID = int(id)
		return err
	case strings.HasPrefix(s, "\tfield"):
		f, err := parseField(s)
		if err != nil {
			return err
		}
		if !p.blank && strings.HasPrefix(f.Name, "common_") {
			p.common(f)
		} else {
			p.t.Fields = append(p.t.Fields, f)
		}
		return nil
	}
	return fmt.Errorf("unknown line %q", clip(s))
}

// common adds a field to the common ones, which are rarely others than the usual.
func (p *formatParser) common(f Field) {
	n := len(p.t.Common)
	if n < len(usualCommon) && f == usualCommon[n] && slices.Equal(p.t.Common, usualCommon[:n]) {
		p.t.Common = commonFields(n + 1)
		return
	}
	p.t.Common = append(p.t.Common, f)
}

// parseField parses "\tfield:DECL;\toffset:N;\tsize:N;\tsigned:N;". Kernels
// before 2.6.32 have no signed.
func parseField(s string) (Field, error) {
	f := Field{Offset: -1, Size: -1}
	var err error
	for part := range strings.SplitSeq(s, ";") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		key, val, ok := strings.Cut(part, ":")
		if !ok {
			return f, fmt.Errorf("field without a colon in %q", clip(part))
		}
		switch key {
		case "field", "field special":
			f.Decl = val
			f.Name = declName(val)
		case "offset":
			f.Offset, err = parseAmount(val)
		case "size":
			f.Size, err = parseAmount(val)
		case "signed":
			f.Signed = val == "1"
		default:
			return f, fmt.Errorf("unknown part %q", clip(part))
		}
		if err != nil {
			return f, fmt.Errorf("%s of field %q: %w", key, clip(f.Name), err)
		}
	}
	switch {
	case f.Name == "":
		return f, fmt.Errorf("field without a name in %q", clip(s))
	case f.Offset < 0 || f.Size < 0:
		return f, fmt.Errorf("field %q without offset or size", clip(f.Name))
	}
	return f, nil
}

func parseAmount(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, err
	}
	if n < 0 || n > maxOffset {
		return 0, fmt.Errorf("%d is outside of 0…%d", n, maxOffset)
	}
	return n, nil
}

// declName gives the name in a C declaration: its last identifier before brackets. A
// "[]" that follows the type directly ("__data_loc char[] name") does not count as the
// brackets.
func declName(decl string) string {
	s := decl
	if i := strings.LastIndexByte(s, '['); i >= 0 && strings.LastIndexByte(s, ' ') < i {
		s = strings.TrimRight(s[:i], " ")
	}
	if i := strings.LastIndexAny(s, " *\t"); i >= 0 {
		s = s[i+1:]
	}
	return s
}

// clip keeps quoted input in an error message short.
func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}
