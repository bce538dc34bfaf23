package ehframe

import (
	"encoding/binary"
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ftracelab/unwind/sframe"
)

// echo is memory that holds at each address the address itself.
type echo struct{ reads int }

func (e *echo) Load(addr uint64) (uint64, bool) {
	e.reads++
	return addr, addr&7 == 0
}

// sample reads a section of the programs in docs/provenance.md.
func sample(tb testing.TB, name string) ([]byte, uint64, Machine) {
	tb.Helper()
	b, err := os.ReadFile("testdata/" + name + ".eh_frame")
	if err != nil {
		tb.Fatal(err)
	}
	if name == "a64.so" {
		return b, 0x2a8, ARM64
	}
	return b, 0x2050, AMD64
}

func parse(tb testing.TB, name string) *Section {
	tb.Helper()
	s, err := Parse(sample(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// at are the registers at pc, each with a number of its own.
func at(m Machine, pc uint64) *Regs {
	r := &Regs{}
	for i := range r.Value {
		r.Set(i, uint64(0x100000+0x1000*i))
	}
	if m == AMD64 {
		r.Set(16, pc)
	}
	return r
}

var (
	fdeLine = regexp.MustCompile(`FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)`)
	rowLine = regexp.MustCompile(`^([0-9a-f]{16}) (\S+) +(.*\S)`)
)

// TestReadelf: at each address of each function, the caller is the one that readelf's
// table of the section says.
func TestReadelf(t *testing.T) {
	s := parse(t, "sample.elf")
	text, err := os.ReadFile("../sframe/testdata/sample.elf.ehframe.txt")
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		start  uint64
		cfa    string
		places map[string]string
	}
	var columns []string
	var rows, cie []row
	var end uint64
	checked, functions := 0, 0
	flush := func() {
		for i, r := range rows {
			to := end
			if i+1 < len(rows) {
				to = rows[i+1].start
			}
			for pc := r.start; pc < to; pc++ {
				regs := at(AMD64, pc)
				f, err := s.Caller(regs, pc, &echo{})
				if r.places["ra"] == "u" {
					if !errors.Is(err, ErrOutermost) {
						t.Errorf("%#x: %v", pc, err)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%#x: %v", pc, err)
				}
				cfa := uint64(0)
				switch reg, off, _ := strings.Cut(r.cfa, "+"); {
				case r.cfa == "exp": // readelf does not say which: rsp+8, and 8 more behind the push
					cfa = regs.Value[7] + 8
					if pc&15 >= 11 {
						cfa += 8
					}
				default:
					n, err := strconv.ParseUint(off, 10, 64)
					if err != nil {
						t.Fatal(r)
					}
					cfa = regs.Value[map[string]int{"rsp": 7, "rbp": 6}[reg]] + n
				}
				want := map[string]uint64{"rbx": regs.Value[3], "rbp": regs.Value[6], "ra": 0}
				for name, place := range r.places {
					if off, ok := strings.CutPrefix(place, "c"); ok {
						n, err := strconv.ParseInt(off, 10, 64)
						if err != nil {
							t.Fatal(place)
						}
						want[name] = cfa + uint64(n)
					}
				}
				if f.CFA != cfa || f.RA != want["ra"] || f.Regs.Value[3] != want["rbx"] || f.Regs.Value[6] != want["rbp"] || f.Regs.Value[7] != cfa {
					t.Errorf("%#x: CFA %#x RA %#x rbx %#x rbp %#x; want CFA %#x and %#x", pc, f.CFA, f.RA, f.Regs.Value[3], f.Regs.Value[6], cfa, want)
				}
				checked++
			}
		}
		rows = nil
	}
	inCIE := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n ")
		if m := fdeLine.FindStringSubmatch(line); m != nil {
			flush()
			start, _ := strconv.ParseUint(m[1], 16, 64)
			end, _ = strconv.ParseUint(m[2], 16, 64)
			// A function without rows has the row of its CIE.
			rows, inCIE = []row{{start, cie[0].cfa, cie[0].places}}, false
			functions++
			continue
		}
		if strings.Contains(line, " CIE ") {
			flush()
			inCIE, cie = true, nil
			continue
		}
		if strings.Contains(line, "LOC") {
			columns = strings.Fields(line)[2:]
			if !inCIE {
				rows = nil
			}
			continue
		}
		m := rowLine.FindStringSubmatch(line)
		if m == nil || strings.Contains(line, "ZERO") {
			continue
		}
		start, _ := strconv.ParseUint(m[1], 16, 64)
		r := row{start, m[2], map[string]string{}}
		for i, place := range strings.Fields(m[3]) {
			r.places[columns[i]] = place
		}
		if inCIE {
			cie = append(cie, r)
		} else {
			rows = append(rows, r)
		}
	}
	flush()
	if functions != 8 || checked != 0x10+8+5+0x44+0x36+0x32+0x22 {
		t.Errorf("%d functions, %d addresses", functions, checked)
	}
}

// TestARM64: where the sample's functions have their frames, also while a return address is
// signed.
func TestARM64(t *testing.T) {
	s := parse(t, "a64.so")
	b, err := os.ReadFile("../sframe/testdata/a64.so.sframe")
	if err != nil {
		t.Fatal(err)
	}
	other, err := sframe.Parse(b, 0x318)
	if err != nil {
		t.Fatal(err)
	}
	for pc := uint64(0x270); pc < 0x2a4; pc += 4 {
		regs := at(ARM64, pc)
		f, err := s.Caller(regs, pc, &echo{})
		fn, row, bad := other.Find(pc)
		if err != nil || bad != nil {
			t.Fatal(err, bad)
		}
		rule, bad := other.Rule(fn, row)
		if bad != nil {
			t.Fatal(bad)
		}
		cfa := regs.Value[rule.CFA.Reg] + uint64(rule.CFA.Off)
		ra, fp := regs.Value[30], regs.Value[29]
		if !rule.RA.Kept {
			ra = cfa + uint64(rule.RA.Off)
		}
		if !rule.FP.Kept {
			fp = cfa + uint64(rule.FP.Off)
		}
		if f.CFA != cfa || f.RA != ra || f.Regs.Value[29] != fp {
			t.Errorf("%#x: %#x, RA %#x, fp %#x; SFrame says %#x, %#x, %#x", pc, f.CFA, f.RA, f.Regs.Value[29], cfa, ra, fp)
		}
	}
}

// blob makes a section with one function at 0x2000, whose program is given.
func blob(program ...byte) []byte {
	cie := []byte{0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0}
	b := append([]byte{byte(len(cie)), 0, 0, 0}, cie...)
	at := uint32(len(b))
	fde := binary.LittleEndian.AppendUint32(nil, at+4)
	fde = binary.LittleEndian.AppendUint32(fde, 0x2000-(0x1000+at+8))
	fde = append(binary.LittleEndian.AppendUint32(fde, 0x100), 0)
	fde = append(fde, program...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(fde)))
	return append(b, fde...)
}

// TestRules: rules that the sample does not have.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		name    string
		program []byte
		want    func(f *Frame, r *Regs) bool
		err     error
	}{
		{"an expression loads the CFA", []byte{0x0f, 3, 0x76, 0x78, 0x06}, func(f *Frame, r *Regs) bool { return f.CFA == r.Value[6]-8 && f.RA == f.CFA-8 }, nil},
		{"rbx by an expression", []byte{0x10, 3, 2, 0x76, 0x70}, func(f *Frame, r *Regs) bool { return f.Regs.Value[3] == r.Value[6]-16 }, nil},
		{"rbx is a sum", []byte{0x16, 3, 2, 0x23, 5}, func(f *Frame, r *Regs) bool { return f.Regs.Value[3] == f.CFA+5 }, nil},
		{"rbx is in r12", []byte{0x09, 3, 12}, func(f *Frame, r *Regs) bool { return f.Regs.Value[3] == r.Value[12] }, nil},
		{"r10 does not outlive a call", nil, func(f *Frame, r *Regs) bool { _, ok := f.Regs.get(10); return !ok && r.Known>>10&1 == 1 }, nil},
		{"remember and restore", []byte{0x0a, 0x0e, 64, 0x0b}, func(f *Frame, r *Regs) bool { return f.CFA == r.Value[7]+8 }, nil},
		{"no return address", []byte{0x07, 16}, nil, ErrOutermost},
		{"CFA of a register that no one knows", []byte{0x0c, 40, 8}, nil, ErrRegister},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Parse(blob(c.program...), 0x1000, AMD64)
			if err != nil {
				t.Fatal(err)
			}
			r := at(AMD64, 0x2010)
			f, err := s.Caller(r, 0x2010, &echo{})
			if !errors.Is(err, c.err) {
				t.Fatalf("%v; want %v", err, c.err)
			}
			if err == nil && !c.want(&f, r) {
				t.Errorf("%+v", f)
			}
		})
	}
}

// TestRefused: sections and programs that are wrong are errors.
func TestRefused(t *testing.T) {
	whole, addr, m := sample(t, "sample.elf")
	long := blob(append(make([]byte, 1<<17), 0)...)
	var much []byte
	for i := range 3000 {
		much = append(much, 0x05, byte(i|0x80), byte(i>>7&0x7f), 1, 0x0a)
	}
	for _, c := range []struct {
		name string
		b    []byte
		addr uint64
		want string
	}{
		{"at 0", whole, 0, "address 0"},
		{"an entry that is longer than the section", append([]byte{0xf0, 2, 0, 0}, whole[4:]...), addr, "entry at byte 0x0"},
		{"64-bit lengths", append([]byte{255, 255, 255, 255}, whole[4:]...), addr, "64 bits"},
		{"a short entry", []byte{4, 0, 0, 0, 0, 0, 0, 0}, addr, "less than an entry"},
		{"half a length", []byte{0, 0, 0, 0, 1}, addr, "ends early"},
		{"no CIE", whole[0x18:0x30], addr, "CIE"},
		{"an unknown augmentation", slices.Replace(slices.Clone(whole), 10, 11, 'Q'), addr, "augmentation"},
	} {
		if _, err := Parse(c.b, c.addr, m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
	for _, c := range []struct {
		name string
		b    []byte
	}{
		{"a program that is too long", long},
		{"a program that remembers too much", blob(much...)},
		{"restore without remember", blob(0x0b)},
		{"an opcode that does not exist", blob(0x3e)},
		{"an expression that ends early", blob(0x0f, 2, 0x23, 5)},
		{"an endless expression, of which nothing is left", blob(0x0f, 5, 0x30, 0x13, 0x2f, 0xfb, 0xff)},
		{"an expression that reads too much", blob(0x0f, 27, 0x77, 0, 6, 0x77, 0, 6, 0x77, 0, 6, 0x77, 0, 6, 0x77, 0, 6, 0x77, 0, 6, 0x77, 0, 6, 0x77, 0, 6, 0x77, 0, 6)},
		{"a division by 0", blob(0x0f, 3, 0x31, 0x30, 0x1b)},
	} {
		s, err := Parse(c.b, 0x1000, AMD64)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if f, err := s.Caller(at(AMD64, 0x2010), 0x2010, &echo{}); err == nil {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

// probe asks for the caller at some addresses of a section that may be anything.
func probe(t testing.TB, s *Section, pcs ...uint64) (errs int) {
	for _, pc := range pcs {
		mem := &echo{}
		if _, err := s.Caller(at(s.Machine, pc), pc, mem); err != nil {
			errs++
		}
		// One for each register, and those of its expression.
		if most := 33 * (maxReads + 1); mem.reads > most {
			t.Fatalf("%#x: %d reads", pc, mem.reads)
		}
	}
	return errs
}

// TestCorrupted changes each byte of the samples to each other value: an error, or a
// caller, but never a panic.
func TestCorrupted(t *testing.T) {
	refused, errs, callers := 0, 0, 0
	for _, name := range []string{"sample.elf", "a64.so"} {
		b, addr, m := sample(t, name)
		pcs := []uint64{0x1020, 0x1026, 0x1036, 0x1040, 0x1129, 0x1150, 0x1180, 0x11a7, 0x11e0}
		if m == ARM64 {
			pcs = []uint64{0x270, 0x27c, 0x280, 0x288, 0x294}
		}
		for i := range b {
			for flip := 1; flip < 256; flip++ {
				bad := slices.Clone(b)
				bad[i] ^= byte(flip)
				s, err := Parse(bad, addr, m)
				if err != nil {
					refused++
					continue
				}
				n := probe(t, s, pcs...)
				errs += n
				callers += len(pcs) - n
			}
		}
	}
	t.Logf("%d sections refused, %d callers not found, %d found", refused, errs, callers)
	if refused == 0 || errs == 0 || callers == 0 {
		t.Error("a case never happened")
	}
}

// FuzzCaller reads arbitrary sections and asks for callers.
func FuzzCaller(f *testing.F) {
	for _, name := range []string{"sample.elf", "a64.so"} {
		b, _, m := sample(f, name)
		f.Add(b, uint8(m), uint64(0x1150))
	}
	f.Add(blob(0x0a, 0x0e, 64, 0x0b), uint8(0), uint64(0x2010))
	f.Fuzz(func(t *testing.T, b []byte, m uint8, pc uint64) {
		s, err := Parse(b, 0x1000, Machine(m%2))
		if err != nil {
			return
		}
		pcs := []uint64{pc}
		s.Functions(func(start, end uint64) {
			if len(pcs) < 20 {
				pcs = append(pcs, start, start+(end-start)/2, end-1)
			}
		})
		probe(t, s, pcs...)
	})
}
