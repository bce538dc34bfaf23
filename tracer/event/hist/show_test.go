package hist

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
)

// fakeEnv is an instance that has nothing but symbols and the names of system calls.
type fakeEnv struct {
	types    []*event.Type
	symbols  fakeSymbols
	syscalls map[int]string
	log      []string
	enabled  int
	absolute int
	clock    string
}

func (e *fakeEnv) Event(system, name string) *event.Type {
	for _, t := range e.types {
		if t.System == system && t.Name == name {
			return t
		}
	}
	return nil
}
func (e *fakeEnv) Synth(string) SynthEvent        { return nil }
func (e *fakeEnv) SynthOf(*event.Type) SynthEvent { return nil }
func (e *fakeEnv) Filter() filter.Env             { return filter.Env{CPUs: 2, Symbols: e.symbols} }
func (e *fakeEnv) Syscall(nr int) (string, bool)  { name, ok := e.syscalls[nr]; return name, ok }
func (e *fakeEnv) LogError(location, message, command string, pos int) {
	e.log = append(e.log, fmt.Sprintf("%s: %s: %s: %d", location, message, command, pos))
}
func (e *fakeEnv) LogFilter(err error)           { e.log = append(e.log, err.Error()) }
func (e *fakeEnv) SetClock(name string) error    { e.clock = name; return nil }
func (e *fakeEnv) ClockInNs() bool               { return true }
func (e *fakeEnv) AbsoluteStamps(on bool)        { e.absolute += sign(on) }
func (e *fakeEnv) Enable(_ *event.Type, on bool) { e.enabled += sign(on) }
func (e *fakeEnv) ArmSnapshot() error            { return nil }
func (e *fakeEnv) DisarmSnapshot()               {}
func (e *fakeEnv) Snapshot(*Moment, func() bool) {}

func sign(on bool) int {
	if on {
		return 1
	}
	return -1
}

// fakeSymbols are symbols as texts of them: NAME+OFFSET/SIZE [MODULE] by address.
type fakeSymbols map[uint64]string

func (s fakeSymbols) Lookup(addr uint64) (name, module string, offset, size uint64, ok bool) {
	text, ok := s[addr]
	m := symbolText.FindStringSubmatch(text)
	if !ok || m == nil {
		return "", "", 0, 0, false
	}
	offset, _ = strconv.ParseUint(m[2], 16, 64)
	size, _ = strconv.ParseUint(m[3], 16, 64)
	return m[1], m[4], offset, size, true
}

func (s fakeSymbols) Address(string) (uint64, bool) { return 0, false }

var symbolText = regexp.MustCompile(`^(\S+?)(?:\+0x([0-9a-f]+)/0x([0-9a-f]+))?(?: \[(\w+)\])?$`)

// A kernel's histogram, taken apart into keys and sums and counted again, shows
// as it did: the line of the trigger, the keys by their modifiers, the order,
// the totals.
//
// What was recorded when these were captured is not what was counted: the events
// were switched on for a second run. So the histograms are made from their own
// text.
func TestShowAsKernel(t *testing.T) {
	root := testutil.Oracle(t)
	dir := filepath.Join(root, "debian/dynamic_hist_misc/hist")
	readme, err := os.ReadFile(filepath.Join(dir, "README"))
	if err != nil {
		t.Fatal(err)
	}
	symbols := readSymbols(t, root)
	command := regexp.MustCompile(`(?m)^(\w+): echo 'hist:(.*)' > events/(\w+)/(\w+)/trigger`)
	for _, c := range command.FindAllStringSubmatch(string(readme), -1) {
		name, text, system, ev := c[1], c[2], c[3], c[4]
		want, err := os.ReadFile(filepath.Join(dir, name+".hist"))
		if err != nil {
			t.Fatal(err)
		}
		if len(want) == 0 || strings.Contains(text, "onmax") {
			continue // refused
		}
		t.Run(name, func(t *testing.T) {
			format, err := os.ReadFile(filepath.Join(dir, name+".format"))
			if err != nil {
				t.Fatal(err)
			}
			typ, err := event.ParseFormat(system, format)
			if err != nil {
				t.Fatal(err)
			}
			if typ.Name != ev {
				t.Fatalf("the format is of %s", typ)
			}
			env := &fakeEnv{types: []*event.Type{typ}, symbols: fakeSymbols{}, syscalls: map[int]string{}}
			i := NewInstance(env, new(Registry))
			if err := i.Command(typ, text, false); err != nil {
				t.Fatal(err, env.log)
			}
			f := i.File(typ)
			trigger, err := os.ReadFile(filepath.Join(dir, name+".trigger"))
			if err != nil {
				t.Fatal(err)
			}
			if got := f.AppendLines(nil); !bytes.Equal(got, trigger) {
				t.Errorf("the trigger is\n%swant\n%s", got, trigger)
			}
			fill(t, f.triggers[0].hist, env, symbols, string(want))
			if got := f.Show(); !bytes.Equal(got, want) {
				t.Errorf("%s", firstDifference(string(got), string(want)))
			}
		})
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for n := range min(len(g), len(w)) {
		if g[n] != w[n] {
			return fmt.Sprintf("line %d:\n%q\n%q", n, g[n], w[n])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

var valueText = regexp.MustCompile(`(\w+): +([0-9a-f]+)`)

// fill counts what a hist's text says was counted.
func fill(t *testing.T, h *Hist, env *fakeEnv, symbols map[string]uint64, text string) {
	body, totals, _ := strings.Cut(text, "\n\nTotals:")
	_, body, _ = strings.Cut(body, "#\n\n")
	for body != "" {
		end := strings.Index(body, "\n{ ")
		entry := body
		if end >= 0 {
			entry, body = body[:end], body[end+1:]
		} else {
			body = ""
		}
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		keyText, values, _ := strings.Cut(strings.TrimPrefix(entry, "{ "), "}")
		key := make([]byte, h.keySize)
		comm := ""
		for n, part := range strings.Split(keyText, ", ") {
			f := h.keys()[n]
			comm += parseKey(t, f, env, symbols, key[f.offset:f.offset+f.size], part)
		}
		e, made := h.m.Insert(key)
		if !made {
			t.Fatalf("%q is there twice", keyText)
		}
		e.Comm = comm
		sums := map[string]string{}
		for _, m := range valueText.FindAllStringSubmatch(values, -1) {
			sums[m[1]] = m[2]
		}
		for n, f := range h.vals() {
			base := 10
			if f.flags&flagHex != 0 {
				base = 16
			}
			name := f.label()
			switch {
			case f.flags&flagPercent != 0:
				e.Sums[n] = binary.LittleEndian.Uint64(key) * e.Sums[0] // the key is the value
			case f.flags&flagGraph != 0:
				e.Sums[n] = kmallocSize(binary.LittleEndian.Uint64(key)) * e.Sums[0]
			case n == 0 && h.attrs.nohitcount: // follows from the value
			default:
				var err error
				if e.Sums[n], err = strconv.ParseUint(sums[name], base, 64); err != nil {
					t.Fatalf("%q: %s: %v", values, name, err)
				}
			}
		}
		if h.attrs.nohitcount {
			e.Sums[0] = e.Sums[1] / kmallocSize(binary.LittleEndian.Uint64(key))
		}
	}
	var hits, entries, drops uint64
	if _, err := fmt.Sscanf(totals, "\n Hits: %d\n Entries: %d\n Dropped: %d", &hits, &entries, &drops); err != nil {
		t.Fatal(err)
	}
	if elements := h.m.Sorted(h.sort); len(elements) > 0 {
		for h.m.Hits() < hits {
			h.m.Insert(elements[0].Key)
		}
	}
	for key := bytes.Repeat([]byte{0xff}, h.keySize); h.m.Drops() < drops; {
		h.m.Insert(key)
	}
}

// kmallocSize is how many bytes kmalloc gives for n.
func kmallocSize(n uint64) uint64 {
	for _, size := range []uint64{8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096} {
		if n <= size {
			return size
		}
	}
	return 8192
}

// parseKey writes one field of a key from its text and returns the task's name
// that it brings along, if it does.
func parseKey(t *testing.T, f *Field, env *fakeEnv, symbols map[string]uint64, key []byte, text string) string {
	if f.flags&flagStacktrace != 0 {
		for n, line := range strings.Split(strings.TrimSpace(text), "\n")[1:] {
			addr := address(t, symbols, strings.TrimSpace(line))
			env.symbols[addr] = strings.TrimSpace(line)
			binary.LittleEndian.PutUint64(key[8*n:], addr)
		}
		return ""
	}
	_, text, _ = strings.Cut(text, ": ")
	text = strings.TrimSpace(text)
	var n, to uint64
	var err error
	comm := ""
	switch flags := f.flags; {
	case flags&(flagSym|flagSymOffset) != 0:
		number, symbol, _ := strings.Cut(text[1:], "] ")
		n, err = strconv.ParseUint(number, 16, 64)
		env.symbols[n] = symbol
	case flags&flagHex != 0:
		n, err = strconv.ParseUint(text, 16, 64)
	case flags&flagExecname != 0, flags&flagSyscall != 0:
		before, number, _ := strings.Cut(strings.TrimSuffix(text, "]"), "[")
		before = strings.TrimSpace(before)
		n, err = strconv.ParseUint(strings.TrimSpace(number), 10, 64)
		if flags&flagExecname != 0 {
			comm = before
		} else if before != "unknown_syscall" {
			env.syscalls[int(n)] = before
		}
	case flags&flagLog2 != 0:
		_, err = fmt.Sscanf(text, "~ 2^%d", &n)
	case flags&flagBucket != 0:
		_, err = fmt.Sscanf(text, "~ %d-%d", &n, &to)
	case flags&flagString != 0:
		copy(key, text)
		return ""
	default:
		n, err = strconv.ParseUint(text, 10, 64)
	}
	if err != nil {
		t.Fatalf("key %q: %v", text, err)
	}
	binary.LittleEndian.PutUint64(key, n)
	return comm
}

// address is where NAME+OFFSET/SIZE [MODULE] is.
func address(t *testing.T, symbols map[string]uint64, text string) uint64 {
	m := symbolText.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%q is no symbol", text)
	}
	offset, _ := strconv.ParseUint(m[2], 16, 64)
	name := m[1] + "/0x" + m[3]
	if m[4] != "" {
		name = m[1] + " [" + m[4] + "]"
	}
	base, ok := symbols[name]
	if !ok {
		t.Fatalf("no symbol %q", text)
	}
	return base + offset
}

// readSymbols gives the addresses of the kernel that the hists are of: the kernel's by
// NAME/SIZE, for names come twice, a module's by NAME [MODULE]. Where its functions
// lie in it is known from another run.
func readSymbols(t *testing.T, root string) map[string]uint64 {
	f, err := os.Open(filepath.Join(root, "debian/static/kallsyms.txt.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	type symbol struct {
		addr uint64
		name string
	}
	var all []symbol
	symbols := map[string]uint64{}
	for s := bufio.NewScanner(z); s.Scan(); {
		if words := strings.Fields(s.Text()); len(words) == 3 { // not of a module
			all = append(all, symbol{parseHex(t, words[0]), words[2]})
		}
	}
	then := moduleBases(t, filepath.Join(root, "debian/stacks/modules.txt"))
	now := moduleBases(t, filepath.Join(root, "debian/dynamic_hist_misc/modules.txt"))
	text, err := os.ReadFile(filepath.Join(root, "debian/stacks/kallsyms.modules.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) == 4 {
			module := strings.Trim(words[3], "[]")
			symbols[words[2]+" "+words[3]] = parseHex(t, words[0]) - then[module] + now[module]
		}
	}
	slices.SortStableFunc(all, func(a, b symbol) int { return cmp.Compare(a.addr, b.addr) })
	next := uint64(0)
	for n := len(all) - 1; n >= 0; n-- {
		if n+1 < len(all) && all[n+1].addr > all[n].addr {
			next = all[n+1].addr
		}
		symbols[fmt.Sprintf("%s/%#x", all[n].name, next-all[n].addr)] = all[n].addr
	}
	return symbols
}

// moduleBases reads /proc/modules.
func moduleBases(t *testing.T, path string) map[string]uint64 {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bases := map[string]uint64{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		bases[words[0]] = parseHex(t, strings.TrimPrefix(words[5], "0x"))
	}
	return bases
}

func parseHex(t *testing.T, s string) uint64 {
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
