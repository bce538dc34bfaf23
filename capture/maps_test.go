package capture

import (
	"strings"
	"testing"
)

const procMaps = `55d0c0000000-55d0c0020000 r-xp 00001000 08:01 77 /usr/bin/a b
55d0c0021000-55d0c0042000 rw-p 00000000 00:00 0 [heap]
7f0000001000-7f0000002000 r-xp 00000000 08:01 78 /lib/libc.so.6 (deleted)
`

func parseMaps(text string) fileMaps {
	var list []mapping
	for line := range strings.Lines(text) {
		if m, ok := parseMapping(line); ok {
			list = append(list, m)
		}
	}
	return fileMaps{7: list}
}

// TestMappingOfAddress: the addresses below a mapping, down to the one before, count as
// its own.
func TestMappingOfAddress(t *testing.T) {
	m := parseMaps(procMaps)
	for _, tt := range []struct {
		tgid  int32
		ip    uint64
		path  string
		start uint64
	}{
		{7, 0x55d0c0000010, "/usr/bin/a b", 0x55d0c0000000},
		{7, 0x1000, "/usr/bin/a b", 0x55d0c0000000},
		{7, 0x55d0c0020000, "", 0x55d0c0021000},
		{7, 0x7f0000000fff, "/lib/libc.so.6 (deleted)", 0x7f0000001000},
		{7, 0x7f0000002000, "", 0},
		{8, 0x55d0c0000010, "", 0},
	} {
		if path, start := m.file(tt.tgid, tt.ip); path != tt.path || start != tt.start {
			t.Errorf("%d: %#x is in %q at %#x", tt.tgid, tt.ip, path, start)
		}
	}
}

func FuzzMaps(f *testing.F) {
	f.Add(procMaps, uint64(0x55d0c0000010))
	f.Add("0-ffffffffffffffff r 0 0 0 /x\n1-0 r 0 0 0 /\n- - - - - /\n", uint64(1))
	f.Fuzz(func(t *testing.T, text string, ip uint64) {
		if path, _ := parseMaps(text).file(7, ip); strings.ContainsAny(path, "\n") {
			t.Errorf("path %q", path)
		}
	})
}
