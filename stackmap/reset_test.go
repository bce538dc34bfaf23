package stackmap

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestResetWrite does what reset.txt of the real kernels did: 23 strings written
// to stack_map, with tracing off and on, and stat before and after.
func TestResetWrite(t *testing.T) {
	t.Run("selection", func(t *testing.T) { testResetWrite(t, selection()) })
	t.Run("oracle", func(t *testing.T) { testResetWrite(t, oracle(t)) })
}

var resetSection = regexp.MustCompile(`(?m)^### (\d+) tracing_on=(on|off) : write (.*)
   before:
   stat: (.*)\| trace events: \d+ stack_ids: (\d+) .*
   open\(O_WRONLY\): ok; write\((\d+) bytes\): (\S+)( E\w+)?; close: 0
   stat: (.*)\| trace events: \d+ stack_ids: (\d+) `)

func testResetWrite(t *testing.T, fsys fs.FS) {
	errnos := map[string]syscall.Errno{"": 0, " EINVAL": syscall.EINVAL, " EBUSY": syscall.EBUSY}
	for _, preset := range []Config{V2(), V4()} {
		text := readFile(t, fsys, preset.Preset+"/reset/reset.txt")
		sections := resetSection.FindAllStringSubmatch(string(text), -1)
		if len(sections) != 46 {
			t.Fatalf("%s: %d sections, want 46", preset.Preset, len(sections))
		}
		for _, s := range sections {
			before, tracing, p, n, after := s[4], s[2] == "on", unquote(t, s[3]), s[6], s[9]
			errno, known := errnos[s[8]]
			if !known || strconv.Itoa(len(p)) != n {
				t.Fatalf("%s section %s: %q has not %s bytes, or errno%s is new", preset.Preset, s[1], p, n, s[8])
			}
			m := mapWith(t, preset, parseStat(t, before))
			if got := statLine(m.Stats()); got != before {
				t.Fatalf("%s section %s: stat before: %s, kernel %s", preset.Preset, s[1], got, before)
			}
			cleared := false
			var clear func()
			if preset.Preset == "v4" { // whose recorder has the buffer cleared, see record.Policy
				clear = func() { cleared = true }
			}
			err := m.ResetWrite(p, tracing, clear)
			if errno == 0 && err != nil || errno != 0 && !errors.Is(err, errno) {
				t.Errorf("%s section %s: write %q: %v, kernel%s", preset.Preset, s[1], p, err, s[8])
			}
			if got := statLine(m.Stats()); got != after {
				t.Errorf("%s section %s: stat after %q: %s, kernel %s", preset.Preset, s[1], p, got, after)
			}
			if kernel := s[5] != s[10]; cleared != kernel {
				t.Errorf("%s section %s: buffer cleared %v, kernel %v", preset.Preset, s[1], cleared, kernel)
			}
		}
	}
}

// unquote reads a string as bash's printf %q writes it.
func unquote(t *testing.T, s string) []byte {
	t.Helper()
	if q, ok := strings.CutPrefix(s, "$'"); ok {
		u, err := strconv.Unquote(`"` + strings.TrimSuffix(q, "'") + `"`)
		if err != nil {
			t.Fatal(err)
		}
		return []byte(u)
	}
	return []byte(strings.ReplaceAll(strings.Trim(s, "'"), `\`, ""))
}

// mapWith makes a map with these counters.
func mapWith(t *testing.T, cfg Config, s Stats) *Map {
	t.Helper()
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Successes {
		if _, err := m.GetID(0, []uint64{1 + i%s.Entries}); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// statLine is a stat file as the capture scripts put it in a line.
func statLine(s Stats) string {
	text := strings.TrimSuffix(string(s.AppendText(nil)), "\n")
	var fields []string
	for line := range strings.SplitSeq(text, "\n") {
		fields = append(fields, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(fields, "|")
}

// parseStat reads a stat file or line back.
func parseStat(t *testing.T, text string) (s Stats) {
	t.Helper()
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "|", " ")), " ")
	_, err := fmt.Sscanf(text, "entries: %d / %d table_size: %d successes: %d drops: %d",
		&s.Entries, &s.Capacity, &s.TableSize, &s.Successes, &s.Drops)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return s
}

// TestStatText renders every stat file of the real kernels from its counters.
func TestStatText(t *testing.T) {
	t.Run("selection", func(t *testing.T) { testStatText(t, selection(), 8) })
	t.Run("oracle", func(t *testing.T) { testStatText(t, oracle(t), 70) })
}

func testStatText(t *testing.T, fsys fs.FS, least int) {
	var files int
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(d.Name(), "stack_map_stat") && !strings.HasPrefix(d.Name(), "stat_phase") {
			return err
		}
		files++
		text := readFile(t, fsys, name)
		if got := parseStat(t, string(text)).AppendText(nil); !bytes.Equal(got, text) {
			t.Errorf("%s:\n%s, ours:\n%s", name, text, got)
		}
		return nil
	})
	if err != nil || files < least {
		t.Errorf("%d files, %v; expected %d", files, err, least)
	}
}

func TestNoMap(t *testing.T) {
	var m *Map
	if _, err := m.GetID(0, []uint64{1}); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("GetID before the map is there: %v", err)
	}
	if _, ok := m.Stack(0, nil); ok {
		t.Error("no map has a stack")
	}
	for range m.Slots() {
		t.Error("no map has a slot")
	}
	if got := string(m.AppendStat(nil)); got != "stackmap not initialized\n" {
		t.Errorf("stat: %q", got)
	}
}

// TestReset resets within a reset, as two writers at once would, and finds the
// map closed meanwhile.
func TestReset(t *testing.T) {
	m, err := New(V4())
	if err != nil {
		t.Fatal(err)
	}
	stack := []uint64{1, 2, 3}
	first, err := m.GetID(0, stack)
	if err != nil {
		t.Fatal(err)
	}
	ran := false
	err = m.Reset(func() {
		ran = true
		if _, ok := m.Stack(first, nil); !ok {
			t.Error("the map is cleared before the buffer")
		}
		if _, err := m.GetID(0, stack); !errors.Is(err, ErrInvalid) {
			t.Errorf("GetID in a reset: %v", err)
		}
		if err := m.Reset(nil); !errors.Is(err, ErrBusy) {
			t.Errorf("reset in a reset: %v", err)
		}
		if err := m.ResetWrite([]byte("1"), true, nil); !errors.Is(err, ErrInvalid) {
			t.Errorf("a wrong string while busy: %v", err)
		}
	})
	if err != nil || !ran {
		t.Fatalf("reset: %v, buffer cleared %v", err, ran)
	}
	if got, want := m.Stats(), (Stats{Capacity: 1 << 14, TableSize: 2 << 14}); got != want {
		t.Errorf("after the reset: %+v", got)
	}
	if again, err := m.GetID(0, stack); again != first || err != nil {
		t.Errorf("the same stack has id %d (%v), before the reset %d", again, err, first)
	}
}
