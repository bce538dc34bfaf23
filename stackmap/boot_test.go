package stackmap

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBoot compares with real boots: what the parameter gave, and what
// /proc/vmallocinfo shows for it.
func TestBoot(t *testing.T) {
	t.Run("selection", func(t *testing.T) { testBoot(t, selection(), "v4") })
	t.Run("oracle", func(t *testing.T) { testBoot(t, oracle(t), "v2", "v4") })
}

var vmallocLine = regexp.MustCompile(`(?m)^0x\S+ +(\d+) ftrace_stackmap_create\S* pages=(\d+) vmalloc`)

func testBoot(t *testing.T, fsys fs.FS, kernels ...string) {
	for _, kernel := range kernels {
		files, err := fs.Glob(fsys, kernel+"/boot/bits_*/stat.txt")
		if err != nil || len(files) != 11 {
			t.Fatalf("%d boots, %v; want 11", len(files), err)
		}
		for _, name := range files {
			text := string(readFile(t, fsys, name))
			cmdline, rest, _ := strings.Cut(text, "\n")
			if path.Base(path.Dir(name)) == "bits_noequals" {
				if _, err := BootBits("quiet ftrace_stackmap.bits panic=-1"); !errors.Is(err, ErrNoValue) {
					t.Errorf("no equals sign: %v", err)
				}
				continue
			}
			bits, err := BootBits(cmdline)
			malformed := strings.Contains(text, "Malformed early option 'ftrace_stackmap.bits'")
			if malformed != errors.Is(err, syscall.EINVAL) || !malformed && err != nil {
				t.Errorf("%s: %v, kernel malformed %v", name, err, malformed)
			}
			cfg := V4()
			cfg.Bits = bits
			m, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(m.AppendStat(nil)); !strings.HasPrefix(rest, got) {
				t.Errorf("%s: stat\n%s, kernel\n%s", name, got, rest)
			}
			var want []Area
			for _, line := range vmallocLine.FindAllStringSubmatch(text, -1) {
				size, _ := strconv.Atoi(line[1])
				pages, _ := strconv.Atoi(line[2])
				want = append(want, Area{Size: size, Pages: pages})
			}
			if diff := cmp.Diff(want, cfg.vmallocinfo()); diff != "" {
				t.Errorf("%s: vmallocinfo (-kernel +ours):\n%s", name, diff)
			}
			table, pool, _ := cfg.Memory()
			if table != want[0].Size || !strings.Contains(text, strconv.Itoa(pool)+" ftrace_stackmap_create") {
				t.Errorf("%s: table %d, pool %d are not in vmallocinfo", name, table, pool)
			}
		}
	}
}

func TestParseBits(t *testing.T) {
	for _, v := range []struct {
		value string
		bits  int
		bad   bool
	}{
		{"10", 10, false},
		{"14", 14, false},
		{"18", 18, false},
		{"0", 10, false},
		{"5", 10, false},
		{"30", 18, false},
		{"4294967295", 18, false},
		{"0x10", 16, false},
		{"0XB", 11, false},
		{"010", 10, false},
		{"017", 15, false},
		{"+12", 12, false},
		{"12\n", 12, false},
		{"", 14, true},
		{"-1", 14, true},
		{"+-1", 14, true},
		{"garbage", 14, true},
		{"12abc", 14, true},
		{"0x", 14, true},
		{"09", 14, true},
		{" 12", 14, true},
		{"12\n\n", 14, true},
		{"1_2", 14, true},
		{"4294967296", 14, true},
		{"99999999999999999999", 14, true},
	} {
		bits, err := ParseBits(v.value)
		if bits != v.bits || errors.Is(err, ErrInvalid) != v.bad {
			t.Errorf("%q: %d, %v; want %d", v.value, bits, err, v.bits)
		}
	}
}

func TestBootBits(t *testing.T) {
	for _, v := range []struct {
		cmdline string
		bits    int
		err     error
	}{
		{"", 14, nil},
		{"quiet trace_options=stackmap,stacktrace", 14, nil},
		{"ftrace_stackmap.bits=12 ftrace_stackmap.bits=16", 16, nil},
		{"ftrace-stackmap.bits=12", 12, nil},
		{"ftrace_stackmap.bits=12 ftrace_stackmap.bits=x", 12, ErrInvalid},
		{"ftrace_stackmap.bits=12 ftrace_stackmap.bits", 0, ErrNoValue},
	} {
		bits, err := BootBits(v.cmdline)
		if bits != v.bits || !errors.Is(err, v.err) {
			t.Errorf("%q: %d, %v; want %d, %v", v.cmdline, bits, err, v.bits, v.err)
		}
	}
}

func TestMemory(t *testing.T) {
	for _, v := range []struct{ bits, table, pool, export int }{
		{10, 36864, 536576, 548864},
		{14, 528384, 8523776, 8658944},
		{18, 8392704, 136318976, 138420224},
	} {
		table, pool, export := Config{Bits: v.bits}.Memory()
		if table != v.table || pool != v.pool || export != v.export {
			t.Errorf("bits %d: table %d, pool %d, export %d; want %d, %d, %d", v.bits, table, pool, export, v.table, v.pool, v.export)
		}
	}
}

func FuzzBootBits(f *testing.F) {
	for _, cmdline := range []string{"", "quiet ftrace_stackmap.bits=10", "ftrace_stackmap.bits=0x10 ftrace-stackmap.bits", "ftrace_stackmap.bits=-1"} {
		f.Add(cmdline)
	}
	f.Fuzz(func(t *testing.T, cmdline string) {
		bits, err := BootBits(cmdline)
		if errors.Is(err, ErrNoValue) && bits == 0 {
			return
		}
		if err != nil && !errors.Is(err, ErrInvalid) || bits < MinBits || bits > MaxBits {
			t.Fatalf("%d, %v", bits, err)
		}
	})
}
