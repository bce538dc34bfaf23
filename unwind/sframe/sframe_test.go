package sframe

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ftracelab/internal/testutil"
)

// samples are sections of the programs in docs/provenance.md, with their addresses.
var samples = map[string]uint64{"sample.elf": 0x2188, "a64.so": 0x318, "sample.o": 0, "a64.o": 0}

func sample(tb testing.TB, name string) ([]byte, *Section) {
	tb.Helper()
	b, err := os.ReadFile("testdata/" + name + ".sframe")
	if err != nil {
		tb.Fatal(err)
	}
	s, err := Parse(b, samples[name])
	if err != nil {
		tb.Fatal(name, err)
	}
	return b, s
}

// table is the text from the header on, without spaces at its end.
func table(text string) string {
	_, text, _ = strings.Cut(text, "  Header :")
	return strings.TrimSpace(text)
}

func compare(t *testing.T, s *Section, objdump string) {
	t.Helper()
	var got strings.Builder
	if err := s.Table(&got); err != nil {
		t.Fatal(err)
	}
	want := table(objdump)
	if len(want) < 100 {
		t.Fatalf("objdump says only %q", objdump)
	}
	if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(table(got.String()), "\n")); d != "" {
		t.Error(d)
	}
}

// TestTable: our table is that of objdump, and stays so through each version.
func TestTable(t *testing.T) {
	for name := range samples {
		_, s := sample(t, name)
		want, err := os.ReadFile("testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		compare(t, s, string(want))
		t.Logf("%s: %d functions, %d rows as objdump prints them, in each of 9 ways through versions 1 to 3", name, len(s.Funcs), countRows(s))
		for _, from := range []uint8{1, 2, 3} {
			for _, to := range []uint8{1, 2, 3} {
				again := recode(t, recode(t, s, from), to)
				if again.Version != to {
					t.Fatalf("version %d instead of %d", again.Version, to)
				}
				compare(t, again, strings.ReplaceAll(string(want), "VERSION_1", "VERSION_"+strconv.Itoa(int(to))))
			}
		}
	}
}

// countRows is how many rows a section has.
func countRows(s *Section) (n int) {
	for i := range s.Funcs {
		n += len(s.Funcs[i].Rows)
	}
	return n
}

func recode(t *testing.T, s *Section, version uint8) *Section {
	t.Helper()
	b, err := s.Encode(version)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(b, s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// TestFiles reads the sections out of the programs themselves.
func TestFiles(t *testing.T) {
	dir := testutil.FromEnv(t, "FTRACELAB_SFRAME", "the folder with programs that have SFrame sections")
	for name := range samples {
		want, err := os.ReadFile(filepath.Join(dir, name+".sframe.txt"))
		if err != nil {
			t.Fatal(err)
		}
		compare(t, open(t, filepath.Join(dir, name)), string(want))
	}
}

func open(t *testing.T, path string) *Section {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCompiled: what the installed compiler and objdump say of a program.
func TestCompiled(t *testing.T) {
	gcc, objdump := testutil.Program(t, "gcc"), testutil.Program(t, "objdump")
	source, program := filepath.Join(t.TempDir(), "a.c"), filepath.Join(t.TempDir(), "a")
	code := "int leaf(int a){return a*3;}\nint dyn(int n){volatile char b[n+1];b[n]=n;return leaf(n)+b[n];}\nint main(int c,char**v){return dyn(c);}\n"
	if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-O1", "-fomit-frame-pointer", source},
		{"-O1", "-fno-omit-frame-pointer", source},
		{"-O2", "-Wl,-z,lazy", "../../workload/program/testdata/walks.c"},
		{"-O2", "-fcf-protection", "-Wl,-z,lazy", "../../workload/program/testdata/walks.c"},
	} {
		if out, err := exec.Command(gcc, append(args, "-Wa,--gsframe", "-o", program)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		want, err := exec.Command(objdump, "--sframe=.sframe", program).Output()
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, program)
		compare(t, s, strings.ReplaceAll(string(want), "VERSION_1", "VERSION_"+strconv.Itoa(int(s.Version))))
		for _, version := range []uint8{2, 3} {
			compare(t, recode(t, s, version), strings.ReplaceAll(string(want), "VERSION_"+strconv.Itoa(int(s.Version)), "VERSION_"+strconv.Itoa(int(version))))
		}
		t.Logf("gcc %s: %d functions, %d rows as objdump prints them, in versions %d, 2 and 3", strings.Join(args[:len(args)-1], " "), len(s.Funcs), countRows(s), s.Version)
	}
}

var (
	interpFDE = regexp.MustCompile(`pc=([0-9a-f]+)\.\.([0-9a-f]+)`)
	interpRow = regexp.MustCompile(`^([0-9a-f]{16}) r([sb]p)([+-]\d+)`)
)

// TestAgreesWithEhFrame: at each address of the sample's functions, the CFA is the one
// that readelf computes from .eh_frame. PLT0 is left out behind 0x1030, where .eh_frame
// has an expression and binutils 2.40 writes no SFrame.
func TestAgreesWithEhFrame(t *testing.T) {
	_, s := sample(t, "sample.elf")
	text, err := os.ReadFile("testdata/sample.elf.ehframe.txt")
	if err != nil {
		t.Fatal(err)
	}
	cfa := map[uint64]string{}
	var end uint64
	var ats []uint64
	var rules []string
	flush := func() {
		for i, from := range ats {
			to := end
			if i+1 < len(ats) {
				to = ats[i+1]
			}
			for pc := from; pc < to; pc++ {
				cfa[pc] = rules[i]
			}
		}
		ats, rules = nil, nil
	}
	for line := range strings.Lines(string(text)) {
		if m := interpFDE.FindStringSubmatch(line); m != nil {
			flush()
			end, _ = strconv.ParseUint(m[2], 16, 64)
		} else if m := interpRow.FindStringSubmatch(line); m != nil {
			at, _ := strconv.ParseUint(m[1], 16, 64)
			ats, rules = append(ats, at), append(rules, strings.Replace(m[2], "bp", "fp", 1)+m[3])
		}
	}
	flush()
	compared := 0
	for _, f := range s.Funcs {
		for pc := f.Start; pc < f.Start+uint64(f.Size); pc++ {
			want, ok := cfa[pc]
			if !ok {
				continue // a function whose only row is the CIE's
			}
			f, row, err := s.Find(pc)
			if err != nil {
				t.Fatalf("%#x: %v", pc, err)
			}
			rule, err := s.Rule(f, row)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.place(rule.CFA); got != want {
				t.Errorf("%#x: %s, where .eh_frame says %s", pc, got, want)
			}
			compared++
		}
	}
	if compared < 200 {
		t.Errorf("only %d addresses compared", compared)
	}
	for _, pc := range []uint64{0, 0x101f, 0x1030, 0x1128, 0x11fc, ^uint64(0)} {
		if _, _, err := s.Find(pc); !errors.Is(err, ErrNoRow) {
			t.Errorf("%#x: %v", pc, err)
		}
	}
}

// TestCorrupted: each value of each byte in version 1, each bit in the others, and each
// shorter section: an error or a section that can be printed and searched.
func TestCorrupted(t *testing.T) {
	refused, read := 0, 0
	for name := range samples {
		_, s := sample(t, name)
		for version := uint8(1); version <= 3; version++ {
			b, err := s.Encode(version)
			if err != nil {
				t.Fatal(err)
			}
			for at := range b {
				if _, err := Parse(b[:at], s.Addr); err == nil {
					t.Errorf("%s, version %d: %d bytes are enough", name, version, at)
				}
				for flip := 1; flip < 256; flip++ {
					if version > 1 && flip&(flip-1) != 0 {
						continue
					}
					c := bytes.Clone(b)
					c[at] ^= byte(flip)
					if check(t, c, s.Addr) {
						read++
					} else {
						refused++
					}
				}
			}
		}
	}
	t.Logf("%d refused, %d read", refused, read)
	if refused == 0 || read == 0 {
		t.Error("one of the two never happened")
	}
}

// check reports whether a section can be read; then it is used in each way.
func check(tb testing.TB, b []byte, addr uint64) bool {
	s, err := Parse(b, addr)
	if err != nil {
		return false
	}
	rows := 0
	for _, f := range s.Funcs {
		rows += len(f.Rows)
		for _, pc := range []uint64{f.Start - 1, f.Start, f.Start + uint64(f.Size)} {
			if f, row, err := s.Find(pc); err == nil && (pc < f.Start || row == nil) {
				tb.Fatalf("%#x was found in a function that starts at %#x", pc, f.Start)
			}
		}
	}
	if rows > len(b)/2 {
		tb.Fatalf("%d rows from %d bytes", rows, len(b))
	}
	if err := s.Table(&bytes.Buffer{}); err != nil {
		tb.Fatal(err)
	}
	return true
}

func FuzzParse(f *testing.F) {
	for name := range samples {
		b, s := sample(f, name)
		f.Add(b)
		for version := uint8(2); version <= 3; version++ {
			b, _ := s.Encode(version)
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) { check(t, b, 0x2188) })
}

// TestHandMade: what the samples do not have, through the writer and back. It holds the
// two against each other and against numbers worked out by hand, not against binutils.
func TestHandMade(t *testing.T) {
	plt := &Section{Version: 2, Flags: Sorted, Arch: AMD64, FixedRA: -8, Addr: 0x2000, order: binary.LittleEndian, Funcs: []Func{{
		Start: 0x1000, Size: 64, Mask: true, Repeat: 32,
		Rows: []Row{{SP: true, Words: []int32{8}}, {Start: 11, SP: true, Words: []int32{300}}},
	}}}
	for _, version := range []uint8{2, 3} {
		s := recode(t, plt, version)
		for off, want := range map[uint64]int64{0: 8, 10: 8, 11: 300, 20: 300, 31: 300, 32: 8, 42: 8, 43: 300, 63: 300} {
			f, row, err := s.Find(0x1000 + off)
			if err != nil {
				t.Fatal(err)
			}
			if rule, err := s.Rule(f, row); err != nil || rule.CFA.Off != want {
				t.Errorf("version %d, byte %d: %d instead of %d (%v)", version, off, rule.CFA.Off, want, err)
			}
		}
	}
	if _, err := plt.Encode(1); err == nil {
		t.Error("version 1 has no room for blocks of 32 bytes")
	}

	// Rows far behind the start need starts of 2 and 4 bytes, and large offsets words of 4.
	long := &Section{Version: 1, Flags: Sorted, Arch: AMD64, FixedRA: -8, order: binary.BigEndian, Funcs: []Func{
		{Start: 0x100, Size: 0x1000, Rows: []Row{{SP: true, Words: []int32{8}}, {Start: 0x300, Words: []int32{-70000, 5}}}},
		{Start: 0x2000, Size: 0x20000, Rows: []Row{{SP: true, Words: []int32{8}}, {Start: 0x10000}}},
	}}
	for _, version := range []uint8{1, 2, 3} {
		s := recode(t, long, version)
		for i := range s.Funcs {
			if d := cmp.Diff(long.Funcs[i].Rows, s.Funcs[i].Rows); d != "" {
				t.Errorf("version %d, function %d: %s", version, i, d)
			}
		}
		f, row, _ := s.Find(0x2000 + 0x10001)
		if rule, err := s.Rule(f, row); err != nil || !rule.Outermost {
			t.Errorf("version %d: a row without words has a caller (%v)", version, err)
		}
	}

	// On s390x, register 14 is 14<<1|1 in version 2 and 14<<3|1 in version 3.
	z := &Section{Version: 2, Flags: Sorted, Arch: S390X, order: binary.BigEndian, Funcs: []Func{{
		Start: 0x100, Size: 8, Rows: []Row{{SP: true, Words: []int32{2, 29, -72}}, {Start: 4, SP: true, Words: []int32{0, 0, -72}}},
	}}}
	for _, version := range []uint8{2, 3} {
		s := recode(t, recode(t, z, 3), version)
		first, err := s.Rule(&s.Funcs[0], &s.Funcs[0].Rows[0])
		want := Rule{CFA: Place{HasReg: true, Reg: 15, Off: 176}, RA: Place{HasReg: true, Reg: 14}, FP: Place{Load: true, Off: -72}}
		if d := cmp.Diff(want, first); d != "" || err != nil {
			t.Errorf("version %d: %v %s", version, err, d)
		}
		if second, _ := s.Rule(&s.Funcs[0], &s.Funcs[0].Rows[1]); !second.RA.Kept || second.CFA.Off != 160 {
			t.Errorf("version %d: %+v", version, second)
		}
	}

	// CFA = *(rbp-8), the return address 8 below it, nothing about the frame pointer.
	flex := &Section{Version: 3, Flags: Sorted, Arch: AMD64, FixedRA: -8, order: binary.LittleEndian, Funcs: []Func{{
		Start: 0x100, Size: 8, Flexible: true, Signal: true, Rows: []Row{{Words: []int32{6<<3 | 3, -8, 2, -8, 0}}},
	}}}
	s := recode(t, flex, 3)
	rule, err := s.Rule(&s.Funcs[0], &s.Funcs[0].Rows[0])
	want := Rule{CFA: Place{HasReg: true, Load: true, Reg: 6, Off: -8}, RA: Place{Load: true, Off: -8}, FP: Place{Kept: true}}
	if d := cmp.Diff(want, rule); d != "" || err != nil || !s.Funcs[0].Signal {
		t.Errorf("%v %s", err, d)
	}
	if _, err := flex.Encode(2); err == nil {
		t.Error("version 2 has no flexible functions")
	}
}

// TestRefused: sections that lie, and the place that the error names.
func TestRefused(t *testing.T) {
	row := func(start uint32) Row { return Row{Start: start, SP: true, Words: []int32{8}} }
	for want, funcs := range map[string][]Func{
		"function 1 at byte 0x30: overlaps the function before it": {{Start: 0x100, Size: 16, Rows: []Row{row(0)}}, {Start: 0x108, Size: 8, Rows: []Row{row(0)}}},
		"function 1 at byte 0x30: not sorted":                      {{Start: 0x100, Size: 16, Rows: []Row{row(0)}}, {Start: 0x80, Size: 8, Rows: []Row{row(0)}}},
		"row 1 at 0x3: not behind the row before it":               {{Start: 0x100, Size: 16, Rows: []Row{row(4), row(4)}}},
		"row 0 at 0x0: behind the end of the function":             {{Start: 0x100, Size: 16, Rows: []Row{row(17)}}},
		"blocks of 0 bytes":                                        {{Start: 0x100, Size: 16, Mask: true, Rows: []Row{row(0)}}},
		"row 0 at 0x0: 3 words, where at most 2 have a meaning":    {{Start: 0x100, Size: 16, Rows: []Row{{Words: []int32{1, 2, 3}}}}},
	} {
		s := &Section{Version: 2, Flags: Sorted, Arch: AMD64, FixedRA: -8, order: binary.LittleEndian, Funcs: funcs}
		b, err := s.Encode(2)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(b, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, instead of %q", err, want)
		}
	}

	// Functions that share rows could ask for much more memory than the section has bytes.
	s := &Section{Version: 2, Flags: Sorted, Arch: AMD64, FixedRA: -8, order: binary.LittleEndian, Funcs: []Func{
		{Start: 0x100, Size: 16, Rows: []Row{row(0), row(1)}}, {Start: 0x110, Size: 16, Rows: []Row{row(0)}},
	}}
	b, err := s.Encode(2)
	if err != nil {
		t.Fatal(err)
	}
	second := b[headerSize+fdeSize[2]:]
	copy(second[8:], []byte{0, 0, 0, 0, 2}) // the first function's two rows
	if _, err := Parse(b, 0); err == nil || !strings.Contains(err.Error(), "2 rows, where the section has 1 more") {
		t.Error(err)
	}
}
