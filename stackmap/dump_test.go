package stackmap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWriteDump compares with what stackmap_dump.py of RFC v2 printed for the
// same file, with addr2line 2.40 for the symbols.
func TestWriteDump(t *testing.T) {
	vmlinux, err := ReadVmlinux(bytes.NewReader(readFile(t, selection(), "dump/vmlinux")))
	if err != nil {
		t.Fatal(err)
	}
	little := readFile(t, selection(), "dump/le.bin")
	inputs := map[string][]byte{
		"little-endian":    little,
		"big-endian":       readFile(t, selection(), "dump/be.bin"),
		"v4":               withABI(little, binary.LittleEndian, ABIv4),
		"v4 big-endian":    withABI(readFile(t, selection(), "dump/be.bin"), binary.BigEndian, ABIv4),
		"v2 as version 1":  withABI(little, binary.LittleEndian, ABI{ABIv2.Magic, 1}),
		"unused reserved":  withWord(little, 12, 0xffffffff),
		"reserved of data": withWord(little, 16+12, 1),
	}
	for _, v := range []struct {
		golden string
		opts   DumpOptions
		stacks int
	}{
		{"all.txt", DumpOptions{}, 7},
		{"all.json", DumpOptions{JSON: true}, 7},
		{"top3.txt", DumpOptions{Top: 3}, 3},
		{"top3.json", DumpOptions{Top: 3, JSON: true}, 3},
		{"vmlinux.txt", DumpOptions{Symbols: vmlinux.Symbol}, 7},
		{"vmlinux.json", DumpOptions{Symbols: vmlinux.Symbol, JSON: true, Top: 100}, 7},
	} {
		want := string(readFile(t, selection(), "dump/"+v.golden))
		for name, input := range inputs {
			var got strings.Builder
			n, err := WriteDump(&got, bytes.NewReader(input), v.opts)
			if n != v.stacks || err != nil {
				t.Errorf("%s, %s: %d stacks, %v", v.golden, name, n, err)
			}
			if diff := cmp.Diff(want, got.String()); diff != "" {
				t.Errorf("%s, %s (-tool +ours):\n%s", v.golden, name, diff)
			}
		}
	}
}

func withWord(file []byte, offset int, n uint32) []byte {
	file = slices.Clone(file)
	binary.LittleEndian.PutUint32(file[offset:], n)
	return file
}

func withABI(file []byte, order binary.ByteOrder, abi ABI) []byte {
	file = slices.Clone(file)
	order.PutUint32(file, abi.Magic)
	order.PutUint32(file[4:], abi.Version)
	return file
}

// TestReadDumpErrors cuts and damages a file; each error names the offset.
func TestReadDumpErrors(t *testing.T) {
	file := readFile(t, selection(), "dump/le.bin")
	for _, v := range []struct {
		name   string
		file   []byte
		stacks int // -1: none, not even a header
		want   string
		is     error
	}{
		{"empty", nil, -1, "header: offset 0: 0 of 16 bytes", io.ErrUnexpectedEOF},
		{"short header", file[:15], -1, "header: offset 0: 15 of 16 bytes", io.ErrUnexpectedEOF},
		{"magic", withWord(file, 0, 0x12345678), -1, "offset 0: bad magic: 0x12345678", nil},
		{"version", withWord(file, 4, 3), -1, "offset 4: unsupported version 3 of magic 0x464d5342", nil},
		{"version 0", withWord(file, 4, 0), -1, "offset 4: unsupported version 0", nil},
		{"v4 version 2", withABI(file, binary.LittleEndian, ABI{ABIv4.Magic, 2}), -1, "offset 4: unsupported version 2 of magic 0x46534d42", nil},
		{"no stack", file[:16], 0, "stack 1 of 7: offset 16: 0 of 16 bytes", io.ErrUnexpectedEOF},
		{"short record", file[:31], 0, "stack 1 of 7: offset 16: 15 of 16 bytes", io.ErrUnexpectedEOF},
		{"no address", file[:32], 0, "stack 1 of 7: address 1 of 4: offset 32: 0 of 8 bytes", io.ErrUnexpectedEOF},
		{"short address", file[:64+16+8+3], 1, "stack 2 of 7: address 2 of 3: offset 88: 3 of 8 bytes", io.ErrUnexpectedEOF},
		{"last byte", file[:len(file)-1], 6, "7 of 8 bytes", io.ErrUnexpectedEOF},
		{"huge depth", withWord(file, 20, 0xffffffff), 0, "of 4294967295: offset", io.ErrUnexpectedEOF},
		{"huge count", withWord(file, 8, 0xffffffff), 7, "stack 8 of 4294967295: offset 320", io.ErrUnexpectedEOF},
		{"small count", withWord(file, 8, 6), 6, "data after the last of 6 stacks", nil},
	} {
		d, err := ReadDump(bytes.NewReader(v.file), nil)
		if err == nil || !strings.Contains(err.Error(), v.want) || v.is != nil && !errors.Is(err, v.is) {
			t.Errorf("%s: %v; want %s", v.name, err, v.want)
		}
		stacks := -1
		if d != nil {
			stacks = len(d.Records)
		}
		if stacks != v.stacks {
			t.Errorf("%s: %d stacks, want %d", v.name, stacks, v.stacks)
		}
		for _, keepGoing := range []bool{false, true} {
			var got strings.Builder
			n, err := WriteDump(&got, bytes.NewReader(v.file), DumpOptions{KeepGoing: keepGoing})
			want := 0
			if keepGoing {
				want = max(v.stacks, 0)
			}
			if n != want || err == nil || strings.Count(got.String(), "stack_id ") != want {
				t.Errorf("%s, keep going %v: %d stacks, %v; %q", v.name, keepGoing, n, err, got.String())
			}
		}
	}
}

// TestReadDumpKernels reads what real kernels exported.
func TestReadDumpKernels(t *testing.T) {
	for dir, want := range map[string]struct {
		abi    ABI
		stacks int
	}{
		"v2/pairs/sm_kmem":               {ABIv2, 114},
		"v2/deep/sm_deep_kmem_stackmap0": {ABIv2, 0},
		"v4/full/sm_full_start":          {ABIv4, 1024},
	} {
		d, err := ReadDump(bytes.NewReader(readFile(t, selection(), dir+"/stack_map_bin")), nil)
		if err != nil {
			t.Fatal(err)
		}
		if d.ABI != want.abi || d.BigEndian || len(d.Records) != want.stacks {
			t.Errorf("%s: ABI %x, big-endian %v, %d stacks", dir, d.ABI, d.BigEndian, len(d.Records))
		}
	}
}

func TestReadVmlinuxErrors(t *testing.T) {
	for _, file := range []string{"", "\x7fELF", strings.Repeat("x", 100)} {
		if _, err := ReadVmlinux(strings.NewReader(file)); err == nil {
			t.Errorf("%q is no ELF file", file)
		}
	}
}

// FuzzReadDump reads any bytes; what could be read is encoded again and must be
// the beginning of the file.
func FuzzReadDump(f *testing.F) {
	for _, name := range []string{"dump/le.bin", "dump/be.bin", "v2/pairs/sm_toggle/stack_map_bin"} {
		f.Add(readFile(f, selection(), name))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		d, err := ReadDump(bytes.NewReader(file), nil)
		if d == nil {
			if err == nil {
				t.Fatal("neither a dump nor an error")
			}
			return
		}
		var order binary.AppendByteOrder = binary.LittleEndian
		if d.BigEndian {
			order = binary.BigEndian
		}
		offset := headerSize
		for i, r := range d.Records {
			b := order.AppendUint32(nil, r.ID)
			b = order.AppendUint32(b, uint32(len(r.IPs)))
			b = order.AppendUint32(b, r.Ref)
			b = append(b, file[offset+12:offset+16]...)
			for _, ip := range r.IPs {
				b = order.AppendUint64(b, ip)
			}
			if !bytes.HasPrefix(file[offset:], b) {
				t.Fatalf("stack %d at %d is not %x", i, offset, b)
			}
			offset += len(b)
		}
		if err == nil && offset != len(file) {
			t.Fatalf("no error, but %d of %d bytes", offset, len(file))
		}
		for _, json := range []bool{false, true} {
			n, werr := WriteDump(io.Discard, bytes.NewReader(file), DumpOptions{JSON: json, KeepGoing: true, Top: 2})
			if n != min(2, len(d.Records)) || (werr == nil) != (err == nil) {
				t.Fatalf("%d stacks written, %v", n, werr)
			}
		}
	})
}

// FuzzReadVmlinux asks any file for symbols.
func FuzzReadVmlinux(f *testing.F) {
	f.Add(readFile(f, selection(), "dump/vmlinux"), uint64(0xffffffff81001031))
	f.Fuzz(func(t *testing.T, file []byte, addr uint64) {
		v, err := ReadVmlinux(bytes.NewReader(file))
		if err != nil {
			return
		}
		for _, a := range []uint64{addr, 0, trampoline, 1<<64 - 1} {
			v.Symbol(a)
		}
	})
}
