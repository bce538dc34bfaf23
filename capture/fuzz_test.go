package capture

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/fstest"

	"ftracelab/budget"
)

// fuzzed reads data to its end, with and without KeepGoing. Whatever data holds, an
// error is an Error, and with KeepGoing there is none.
func fuzzed(t *testing.T, data []byte, format string) {
	t.Helper()
	strict, err := outcome(OpenReader(bytes.NewReader(data), "fuzz", Options{Format: format}))
	var at *Error
	if err != nil && !errors.As(err, &at) {
		t.Errorf("no Error: %v", err)
	}
	lenient, kerr := outcome(OpenReader(bytes.NewReader(data), "fuzz", Options{Format: format, KeepGoing: true}))
	if kerr != nil && !errors.As(kerr, &at) {
		t.Errorf("keep going: %v", kerr)
	}
	if err == nil && (kerr != nil || strict.Events != lenient.Events || lenient.FirstSkipped != nil) {
		t.Errorf("%d events, keep going %d and %v", strict.Events, lenient.Events, lenient.FirstSkipped)
	}
}

func FuzzFtraceText(f *testing.F) {
	f.Add([]byte(goodFtrace))
	f.Add([]byte("# entries-in-buffer/entries-written: 3/9   #P:2\nCPU:1 [LOST 34 EVENTS]\n a-1 [001] dNh2. 2: x\n"))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzed(t, data, FormatFtrace) })
}

func FuzzPerfText(f *testing.F) {
	f.Add([]byte(goodPerf))
	f.Add([]byte("# c\nWeb C 12/34 [003] 1.5: cycles:ppp:  1 f ([kernel.kallsyms])\n"))
	f.Add([]byte(deferredPerf))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzed(t, data, FormatPerf) })
}

func FuzzFoldedText(f *testing.F) {
	f.Add([]byte("a;b;c 2\na_[k];b_[i] 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if foldedTotal(data) < 1000 {
			fuzzed(t, data, FormatFolded)
		}
	})
}

// foldedTotal gives an upper limit of the records that a text asks for.
func foldedTotal(data []byte) (n uint64) {
	for line := range bytes.Lines(data) {
		_, w, _ := splitFolded(bytes.TrimRight(line, " \r\n"))
		n += min(w, 1000)
	}
	return n
}

// FuzzDetect opens data of any content.
func FuzzDetect(f *testing.F) {
	f.Add([]byte(goodPerf))
	f.Add(gzipped(goodFtrace))
	f.Add(zstded("a;b 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if foldedTotal(data) < 1000 {
			_, err := outcome(OpenReader(bytes.NewReader(data), "fuzz", Options{}))
			var at *Error
			if err != nil && !errors.As(err, &at) {
				t.Errorf("no Error: %v", err)
			}
		}
	})
}

// FuzzFolder reads two pages of any content.
func FuzzFolder(f *testing.F) {
	clean := exampleFS(f)
	f.Add(slices.Clone(clean["cap/cpu0.raw"].Data[:600]))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := maps.Clone(clean)
		image := make([]byte, 2*defaultSubbuf)
		copy(image, data)
		m["cap/cpu0.raw"] = &fstest.MapFile{Data: image}
		delete(m, "cap/cpu1.raw")
		for _, keep := range []bool{false, true} {
			_, err := outcome(OpenFS(m, "cap", Options{KeepGoing: keep}))
			var at *Error
			if err != nil && !errors.As(err, &at) {
				t.Errorf("keep going %v: %v", keep, err)
			}
		}
	})
}

func FuzzKallsyms(f *testing.F) {
	f.Add([]byte("ffffffff81000000 T a\nffffffff81000010 t b\t[mod]\n"), uint64(0xffffffff81000011))
	f.Add([]byte("ffffffff81000010 T a\nffffffff81000000 T b\nffffffff81000010 T c\nffffffff81000000 t d\r\n"), uint64(0xffffffff81000010))
	f.Add([]byte("ffffffff81000000 T \t[m]\nffffffff8100 T _end\nfffffffffffffffff T x\nffffffff81000001 T  y"), ^uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, addr uint64) {
		k := &kallsyms{}
		k.once.Do(func() {})
		k.set(data, nil, false)
		var high highDigits
		for line := range bytes.Lines(data) {
			addr, n := high.address(line)
			if want, long := leadingHex(line[:min(16, len(line))]); addr != want || n != long {
				t.Errorf("%q: %#x in %d digits, want %#x in %d", line, addr, n, want, long)
			}
		}
		if _, _, offset, size, ok := k.Lookup(addr); ok && size != 0 && offset >= size {
			t.Errorf("offset %#x of %#x", offset, size)
		}
	})
}

// TestKallsymsOrder: of several symbols with the same address the first in the file
// counts, whatever the order of the addresses is.
func TestKallsymsOrder(t *testing.T) {
	k := &kallsyms{}
	k.once.Do(func() {})
	k.set([]byte("ffffffff81000020 T c\nffffffff81000010 T b\nffffffff81000010 T alias\nffffffff81000000 T _stext\nno line\nffffffff81000020 t other\n"),
		[]byte("ffffffffc0000000 t in_module\t[mod]\n"), true)
	for addr, want := range map[uint64]string{
		0xffffffff81000000: "_stext+0/16", 0xffffffff8100001f: "b+15/16", 0xffffffff81000021: "c+1/1056964576",
		0xffffffffc0000004: "in_module[mod]+4/4096", 0xffffffff80ffffff: "",
	} {
		got := ""
		if name, module, offset, size, ok := k.Lookup(addr); ok {
			if module != "" {
				module = "[" + module + "]"
			}
			got = fmt.Sprintf("%s%s+%d/%d", name, module, offset, size)
		}
		if got != want {
			t.Errorf("%#x: %q, want %q", addr, got, want)
		}
	}
}

// TestModuleSymbols: a function of a module may be longer than a page. The code ends with
// the page of the last function, which data may follow, or another module's memory.
func TestModuleSymbols(t *testing.T) {
	k := &kallsyms{}
	k.once.Do(func() {})
	k.set([]byte("ffffffff81000000 T _stext\nffffffff82000000 T _end\n"), []byte("ffffffffc0000000 t long\t[mod]\n"+
		"ffffffffc0002100 t last\t[mod]\nffffffffc0004000 d data\t[mod]\nffffffffc0008010 t init_mod\t[mod]\nffffffffc0009000 t other\t[next]\n"), true)
	for addr, want := range map[uint64]string{
		0xffffffffc0001fff: "long+0x1fff/0x2100", 0xffffffffc0002fff: "last+0xeff/0xf00", 0xffffffffc0003000: "",
		0xffffffffc0008010: "init_mod+0x0/0xff0", 0xffffffffc000a000: "",
	} {
		got := ""
		if name, _, offset, size, ok := k.Lookup(addr); ok {
			got = fmt.Sprintf("%s+%#x/%#x", name, offset, size)
		}
		if got != want {
			t.Errorf("%#x: %q, want %q", addr, got, want)
		}
	}
}

// FuzzStackMap gives stack maps of any content. An error is an Error and the next call
// returns it again, and every id is counted.
func FuzzStackMap(f *testing.F) {
	const text = "stack_id 5 [ref 2, depth 2]\n  [0] vfs_read+0x10/0x20\n  [1] 0xffffffff81000000\n"
	f.Add([]byte(text))
	f.Add([]byte("BSMF\x02\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x81\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, file []byte) {
		memory := budget.New(budget.Default)
		b := &base{frames: newFrames(), opt: Options{Memory: memory}}
		s := &stackIDs{b: b, place: place{&files{fstest.MapFS{"map": {Data: file}}, memory}, ".", "."}, name: "map"}
		err := s.load()
		var at *Error
		if err != nil && !errors.As(err, &at) {
			t.Fatalf("no Error: %v", err)
		}
		known := uint64(0)
		for id := range uint32(8) {
			ips, ok, again := s.stack(id)
			if ok {
				known++
			}
			if again != err || len(ips) > maxMapped || ok && err != nil {
				t.Fatalf("id %d: %d addresses, %v, %v after %v", id, len(ips), ok, again, err)
			}
		}
		if err == nil && (s.replaced != known || s.replaced+s.unknown != 8) {
			t.Fatalf("%d and %d of 8 ids, %d known", s.replaced, s.unknown, known)
		}
		s.caveats()
	})
}
