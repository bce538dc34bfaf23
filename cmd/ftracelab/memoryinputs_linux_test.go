package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folderOf copies the example and gives its path; change writes more.
func folderOf(change func(t *testing.T, dir string)) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		t.Helper()
		if err := os.CopyFS(path, os.DirFS("../../capture/example/kmem_stack")); err != nil {
			t.Fatal(err)
		}
		change(t, path)
	}
}

// file writes a file of a folder, packed if its name says so.
func file(t *testing.T, dir, name string, in io.Reader) {
	t.Helper()
	switch filepath.Ext(name) {
	case ".gz":
		in = bytes.NewReader(pack(t, "gzip", in))
	case ".zst":
		in = bytes.NewReader(pack(t, "zstd", in))
	}
	writeTo(t, filepath.Join(dir, name), func(w *bufio.Writer) { _, _ = io.Copy(w, in) })
}

// instead is a file in place of another one of the example.
func instead(of, name string, size int64, line func([]byte, int) []byte) func(t *testing.T, path string) {
	return folderOf(func(t *testing.T, dir string) {
		if err := os.Remove(filepath.Join(dir, of)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		file(t, dir, name, text(size, line))
	})
}

func folderBombs() []bombs {
	folders := [][]string{{"estimate"}, {"report"}, {"convert"}}
	const tooLarge = "allows: at least --memory"
	field := same("\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n")
	formats := func(body func([]byte, int) []byte, size int64) func(t *testing.T, path string) {
		return folderOf(func(t *testing.T, dir string) {
			old, err := os.Open(filepath.Join(dir, "formats_all.txt"))
			if err != nil {
				t.Fatal(err)
			}
			defer old.Close()
			file(t, dir, "formats_all.txt.gz", io.MultiReader(old,
				strings.NewReader("==== events/a/b\nname: b\nID: 999\nformat:\n"), text(size, body), strings.NewReader("\nprint fmt: \"\"\n")))
			if err := os.Remove(old.Name()); err != nil {
				t.Fatal(err)
			}
		})
	}
	return []bombs{
		{name: "kallsyms.txt.gz of 1 GB", make: instead("kallsyms.txt", "kallsyms.txt.gz", 1<<30, same("A")), args: [][]string{{"convert"}}, want: tooLarge},
		{name: "kallsyms.txt of 100 MB", make: instead("kallsyms.txt", "kallsyms.txt", symbolsOf(100<<20), symbolLine), args: [][]string{{"convert"}}, want: tooLarge},
		{name: "kallsyms.txt of 30 MB", make: instead("kallsyms.txt", "kallsyms.txt", symbolsOf(30<<20), symbolLine), args: folders},
		{name: "saved_cmdlines of 60 MB", make: instead("saved_cmdlines", "saved_cmdlines", 60<<20, func(b []byte, n int) []byte { return fmt.Appendf(b, "%d a\n", n) }), args: folders[:2]},
		{name: "saved_cmdlines of one line", make: instead("saved_cmdlines", "saved_cmdlines", 60<<20, same("1 AAAAAAA")), args: folders, want: "saved_cmdlines: line 1: not PID COMM"},
		{name: "state.txt of short lines", make: instead("state.txt", "state.txt", 70<<20, func(b []byte, n int) []byte { return fmt.Appendf(b, "%x: a\n", n) }), args: reportTrace, want: tooLarge},
		{name: "printk_formats of short lines", make: instead("printk_formats", "printk_formats", 20<<20, func(b []byte, n int) []byte { return fmt.Appendf(b, "%x : \"\"\n", n) }), args: reportTrace, want: tooLarge},
		{name: "maps of short lines", make: instead("maps.1", "maps.1", 60<<20, same("0-1 a b c d\n")), args: reportTrace, want: tooLarge},
		{name: "maps of a million lines", make: instead("maps.1", "maps.1", 11<<20, same("0-1 a b c d\n")), args: reportTrace},
		{name: "a format with a million fields", make: formats(field, 42*(1<<20)), args: folders, want: tooLarge},
		{name: "a format with 100000 fields", make: formats(field, 42*100000), args: folders},
		{name: "a million formats", make: instead("formats_all.txt", "formats_all.txt", 60<<20, same("==== a\n")), args: folders, want: tooLarge},
		{name: "64 CPUs with windows of 8 MB", make: folderOf(func(t *testing.T, dir string) {
			page := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 13 << 3, 1, 0, 0} // a frame without content
			for cpu := 2; cpu < 64; cpu++ {
				file(t, dir, fmt.Sprintf("cpu%d.raw.zst", cpu), strings.NewReader(""))
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("cpu%d.raw.zst", cpu)), page, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}), args: folders, want: tooLarge},
		{name: "250 CPUs", make: folderOf(func(t *testing.T, dir string) {
			for cpu := 2; cpu < 250; cpu++ {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("cpu%d.raw", cpu)), page(4096, 1), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}), args: folders},
		{name: "1024 CPUs", make: folderOf(func(t *testing.T, dir string) {
			for cpu := 2; cpu < 1024; cpu++ {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("cpu%d.raw", cpu)), page(4096, 1), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}), args: [][]string{{"report"}, {"convert"}}},
		{name: "1024 CPUs with sub-buffers of 1 MB", make: folderOf(func(t *testing.T, dir string) {
			file(t, dir, "state.txt", strings.NewReader("buffer_subbuf_size_kb: 1024\n"))
			for cpu := range 1024 {
				file(t, dir, fmt.Sprintf("cpu%d.raw", cpu), strings.NewReader(""))
			}
			for cpu := range 2 {
				_ = os.Remove(filepath.Join(dir, fmt.Sprintf("cpu%d.raw.gz", cpu)))
			}
		}), args: folders, want: tooLarge},
		{name: "header_page with 2^31", make: folderOf(func(t *testing.T, dir string) {
			file(t, dir, "state.txt", strings.NewReader("\n"))
			file(t, dir, "header_page", strings.NewReader(fmt.Sprintf(headerPageText, uint32(1)<<31)))
		}), args: folders, want: "no size of the data of a page"},
	}
}

// textBombs are texts that come through a pipe.
func textBombs() []bombs {
	piped := func(size int64, line func([]byte, int) []byte) func() io.Reader {
		return func() io.Reader { return text(size, line) }
	}
	long := strings.Repeat("n", 5000)
	perf := func(b []byte, n int) []byte { // each stack is another
		b = fmt.Appendf(b, "c%d %d [%03d] %d.%06d: cycles:\n", n, n, n%64, n/1000, n%1000)
		for i := range 60 {
			b = fmt.Appendf(b, "\t%x f%d+0x0 ([kernel.kallsyms])\n", 0xffffffff81000000+uint64(n*61+i), n*61+i)
		}
		return append(b, '\n')
	}
	return []bombs{
		{name: "a perf script without line breaks", stdin: piped(300<<20, same("AAAA")), args: estimates, want: "no known form of capture"},
		{name: "a perf script without line breaks, said", stdin: piped(300<<20, same("AAAA")), args: [][]string{{"estimate", "--format", "perf"}}, want: "longer than 1 MiB"},
		{name: "100 MB of stacks of 60 frames, no two alike", stdin: piped(100<<20, perf), args: [][]string{{"estimate", "--keep-going"}}},
		// The maps of the designs and of the sweep are not counted yet.
		{name: "300000 stacks of 60 frames, no two alike", stdin: piped(600<<20, perf), args: [][]string{{"estimate", "--keep-going"}}, most: 256_000_000},
		{name: "perf: a million comms and events of 5 KB", stdin: piped(300<<20, func(b []byte, n int) []byte {
			return fmt.Appendf(b, "c%d%s %d [000] %d.000001: e%d%s:\n\tffffffff81000000 f%d%s ([k])\n\n", n, long, n, n+1, n%1000, long, n, long)
		}), args: [][]string{{"estimate", "--format", "perf", "--keep-going"}}},
		{name: "ftrace: a million comms of 300 bytes", stdin: piped(300<<20, func(b []byte, n int) []byte {
			return fmt.Appendf(b, "%s%d-%d [000] ..... %d.000001: f%d_%s <-g%d_%s\n", long[:300], n, n, n+1, n, long[:100], n, long[:100])
		}), args: [][]string{{"estimate", "--format", "ftrace", "--keep-going"}}},
		{name: "ftrace: 1000 CPUs", stdin: piped(50<<20, func(b []byte, n int) []byte {
			return fmt.Appendf(b, "a-1 [%03d] ..... %d.000001: f <-g%d\n", n%1000, n+1, n)
		}), args: [][]string{{"estimate", "--format", "ftrace"}}, want: "3 designs on 4"},
		{name: "ftrace: 300 CPUs with user stacks", stdin: piped(50<<20, func(b []byte, n int) []byte {
			return fmt.Appendf(b, "a-1 [%03d] ..... %d.000001: f <-g%d\na-1 [%03d] ..... %d.000001: <user stack trace>\n => <0000%08x>\n", n%300, n+1, n, n%300, n+1, n)
		}), args: [][]string{{"estimate", "--format", "ftrace"}}, want: "5 designs on 300"},
		{name: "ftrace: 16000 unknown events", stdin: piped(100<<20, func(b []byte, n int) []byte {
			return fmt.Appendf(b, "a-1 [000] ..... %d.000001: e%d_%s: x\n", n+1, n%16000, long[:200])
		}), args: [][]string{{"estimate", "--format", "ftrace", "--keep-going"}}},
		{
			name: "folded: a pipe of 300 MB", stdin: piped(300<<20, func(b []byte, n int) []byte { return fmt.Appendf(b, "a;f%d_%s 1\n", n, long[:100]) }),
			args: [][]string{{"estimate", "--format", "folded"}}, want: "give them as a file",
		},
		{name: "folded: a million frames", make: func(t *testing.T, path string) {
			file(t, filepath.Dir(path), "input", text(103*1000000, func(b []byte, n int) []byte { return fmt.Appendf(b, "a;b%07d;f%07d_%s 1\n", n, n, long[:80]) }))
		}, args: [][]string{{"estimate", "--format", "folded"}}},
		{name: "a text with a zstd window of 1 GB", make: func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 20 << 3, 1, 0, 0}, 0o600); err != nil {
				t.Fatal(err)
			}
		}, args: estimates, want: "allows: at least --memory"},
	}
}

func dumpBombs() []bombs {
	dump := [][]string{{"stackmap-dump"}}
	record := func(depth int) func(b []byte, n int) []byte {
		return func(b []byte, n int) []byte {
			b = append(b, byte(n), byte(n>>8), byte(n>>16), 0, byte(depth), byte(depth>>8), byte(depth>>16), byte(depth>>24), 1, 0, 0, 0, 0, 0, 0, 0)
			return append(b, make([]byte, 8*min(depth, 64))...)
		}
	}
	head := "\x42\x53\x4d\x46\x02\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00"
	of := func(depth int, size int64) func() io.Reader {
		return func() io.Reader { return io.MultiReader(strings.NewReader(head), text(size, record(depth))) }
	}
	return []bombs{
		{name: "stack_map_bin of 100 MB without addresses", stdin: of(0, 100<<20), args: dump, want: "allows: at least --memory"},
		{name: "stack_map_bin of 300 MB", stdin: of(64, 300<<20), args: dump, want: "allows: at least --memory"},
		{name: "stack_map_bin with a stack of 2^31", stdin: of(1<<31-1, 100<<20), args: dump, want: "more than 65536 addresses"},
	}
}
