package stackmap

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/ringbuf"
)

// oracle returns the captures of the two kernels with a stack map. Without the
// whole oracle the test is skipped, in CI it fails.
func oracle(t testing.TB) fs.FS {
	t.Helper()
	return os.DirFS(path.Join(testutil.Oracle(t), "stackmap"))
}

// selection is the part of the captures that is checked in.
func selection() fs.FS { return os.DirFS("testdata") }

// readFile reads a file that may be stored compressed.
func readFile(t testing.TB, fsys fs.FS, name string) []byte {
	t.Helper()
	b, err := fs.ReadFile(fsys, name)
	if err == nil {
		return b
	}
	f, err := fsys.Open(name + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatalf("%s.gz: %v", name, err)
	}
	b, err = io.ReadAll(z)
	if err != nil {
		t.Fatalf("%s.gz: %v", name, err)
	}
	return b
}

// stackEvent is a record with an id, or with a full kernel stack.
type stackEvent struct {
	time uint64
	cpu  int
	id   int32    // -1: full stack
	ips  []uint64 // of a full stack
}

// Types of the records, the same in both kernels.
const (
	typeKernelStack = 4
	typeStackID     = 20
)

// stackEvents reads the stack records of all CPUs in the order of their time.
func stackEvents(t testing.TB, fsys fs.FS, dir string) []stackEvent {
	t.Helper()
	var all []stackEvent
	for cpu := range 2 {
		raw := readFile(t, fsys, path.Join(dir, fmt.Sprintf("cpu%d.raw", cpu)))
		for image := range slices.Chunk(raw, 4096) {
			page, err := ringbuf.ReadPageImage(image)
			if err != nil {
				t.Fatalf("%s: CPU %d: %v", dir, cpu, err)
			}
			for {
				item, ok := page.Next()
				if !ok {
					break
				}
				if e, ok := readStackEvent(item.Data); ok {
					e.time, e.cpu = item.Time, cpu
					all = append(all, e)
				}
			}
			if err := page.Err(); err != nil {
				t.Fatalf("%s: CPU %d: %v", dir, cpu, err)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b stackEvent) int { return cmp.Compare(a.time, b.time) })
	return all
}

// readStackEvent decodes a record: a common header of 8 bytes that begins with
// the type, then the id; or the number of addresses, 4 bytes of padding and the
// addresses.
func readStackEvent(rec []byte) (stackEvent, bool) {
	if len(rec) < 12 {
		return stackEvent{}, false
	}
	le := binary.LittleEndian
	switch le.Uint16(rec) {
	case typeStackID:
		return stackEvent{id: int32(le.Uint32(rec[8:]))}, true
	case typeKernelStack:
		e := stackEvent{id: -1}
		for i := range int(le.Uint32(rec[8:])) {
			e.ips = append(e.ips, le.Uint64(rec[16+8*i:]))
		}
		return e, true
	}
	return stackEvent{}, false
}

// content reads stack_map_bin into a map of id to record.
func content(t testing.TB, bin []byte) map[uint32]Record {
	t.Helper()
	d, err := ReadDump(bytes.NewReader(bin), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := map[uint32]Record{}
	for _, r := range d.Records {
		m[r.ID] = r
	}
	return m
}

// symbols resolve addresses as a kernel does with its own table.
type symbols struct {
	core, module []symbol
}

type symbol struct {
	addr         uint64
	name, module string
}

// readSymbols reads /proc/kallsyms, and one of modules that were loaded.
func readSymbols(t testing.TB, core, module []byte) *symbols {
	t.Helper()
	s := &symbols{}
	for line := range strings.Lines(string(core)) {
		if sym := readSymbol(t, line); sym.module == "" {
			s.core = append(s.core, sym)
		}
	}
	for line := range strings.Lines(string(module)) {
		if f := strings.Fields(line); f[1] == "t" || f[1] == "T" {
			s.module = append(s.module, readSymbol(t, line))
		}
	}
	byAddr := func(a, b symbol) int { return cmp.Compare(a.addr, b.addr) }
	slices.SortStableFunc(s.core, byAddr)
	slices.SortStableFunc(s.module, byAddr)
	return s
}

func readSymbol(t testing.TB, line string) symbol {
	f := strings.Fields(line)
	addr, err := strconv.ParseUint(f[0], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	sym := symbol{addr: addr, name: f[2]}
	if len(f) == 4 {
		sym.module = f[3]
	}
	return sym
}

// append appends name+0xoff/0xsize [module], or the number.
func (s *symbols) append(dst []byte, addr uint64) []byte {
	table := s.core
	if len(s.module) > 0 && addr >= s.module[0].addr {
		table = s.module
	}
	// The first of those that share the highest address not above addr; the
	// next higher address ends it. Beyond the last there is no symbol.
	end, _ := slices.BinarySearchFunc(table, addr+1, func(x symbol, a uint64) int { return cmp.Compare(x.addr, a) })
	if end == 0 || end == len(table) || addr < 1<<63 {
		return fmt.Appendf(dst, "0x%x", addr)
	}
	start := end - 1
	for start > 0 && table[start-1].addr == table[start].addr {
		start--
	}
	sym := table[start]
	dst = fmt.Appendf(dst, "%s+%#x/%#x", sym.name, addr-sym.addr, table[end].addr-sym.addr)
	if sym.module != "" {
		dst = append(append(dst, ' '), sym.module...)
	}
	return dst
}
