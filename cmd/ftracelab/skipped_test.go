package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"ftracelab/ringbuf"
)

// runLine runs a command line whatever comes of it.
func runLine(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), args, strings.NewReader(""), &out, &errs)
	return status, out.String(), errs.String()
}

// smallCapture makes a folder of one CPU with several pages.
func smallCapture(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "cap")
	ftracelab(t, "run", "--cpus", "1", "--set", "set_event=sched:* kmem:kmem_cache_alloc", "--set", "options/stacktrace=1",
		"--duration", "60ms", "--out", dir)
	return dir
}

// change changes the content of a file.
func change(t *testing.T, path string, f func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, f(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readers are the commands that read a capture, as arguments in front of its name.
func readers(t *testing.T) map[string][]string {
	out := filepath.Join(t.TempDir(), "out.dat")
	return map[string][]string{
		"estimate": {"estimate"}, "report": {"report", "--as", "trace"}, "report as trace-cmd": {"report", "--as", "trace-cmd"},
		"convert": {"convert", "OUT", out},
	}
}

// reads are the arguments of a reader for a capture.
func reads(reader []string, path string, flags ...string) []string {
	args := append([]string{reader[0]}, flags...)
	if reader[0] == "convert" {
		return append(args, path, reader[2])
	}
	return append(append(args, reader[1:]...), path)
}

// TestDamagedPages: each command that reads pages names the first that cannot be
// decoded, with its file and place, and fails; with --keep-going it leaves out what it
// must, says so, and its status is 3; of nothing but damage nothing is made.
func TestDamagedPages(t *testing.T) {
	const at = 2 * 4096
	commit := func(b []byte) []byte { b[at+9] = 0xff; return b }
	id := func(b []byte) []byte { // of the first record on the page
		r, err := ringbuf.ReadPageImage(b[at : at+4096])
		if err != nil {
			t.Fatal(err)
		}
		for {
			e, ok := r.Next()
			if !ok {
				t.Fatal("no record")
			}
			if e.IsData() {
				copy(b[at+e.Offset+e.Size-len(e.Data):], "\xff\xef")
				return b
			}
		}
	}
	cut := func(b []byte) []byte { return b[:at+100] }
	all := func(b []byte) []byte {
		for i := 0; i < len(b); i += 4096 {
			b[i+9] = 0xff
		}
		return b
	}
	for _, c := range []struct {
		name    string
		damage  func([]byte) []byte
		nothing bool // is left
	}{{"commit word", commit, false}, {"event id", id, false}, {"cut", cut, false}, {"all", all, true}} {
		t.Run(c.name, func(t *testing.T) {
			dir := smallCapture(t)
			whole := filepath.Join(t.TempDir(), "whole.dat")
			ftracelab(t, "convert", "--file-version", "6", dir, whole)
			pages, err := os.ReadFile(filepath.Join(dir, "cpu0.raw"))
			if err != nil {
				t.Fatal(err)
			}
			change(t, filepath.Join(dir, "cpu0.raw"), c.damage)
			dat := filepath.Join(t.TempDir(), "bad.dat")
			change(t, whole, func(b []byte) []byte {
				i := bytes.Index(b, pages)
				if i < 0 {
					t.Fatal("the pages are not in the file")
				}
				bad := c.damage(bytes.Clone(pages))
				if len(bad) == len(pages) {
					copy(b[i:], bad)
				}
				return b
			})
			if err := os.Rename(whole, dat); err != nil {
				t.Fatal(err)
			}
			inputs := []string{dir, dat}
			if c.name == "cut" {
				inputs = inputs[:1] // a trace.dat tells how many pages there are
			}
			for _, in := range inputs {
				for name, reader := range readers(t) {
					if in == dir && name == "report as trace-cmd" || c.name == "event id" && name == "report" {
						continue // it needs a trace.dat; and trace has a line for an event that is not known
					}
					status, _, errs := runLine(t, reads(reader, in)...)
					place := in + "/cpu0.raw: offset 8192: bad page"
					if c.nothing {
						place = in + "/cpu0.raw: offset 0: bad page"
					}
					if status != exitFailed || !strings.Contains(errs, place) {
						t.Errorf("%s %s: status %d: %s", name, in, status, errs)
					}
					if reader[0] == "convert" {
						if _, err := os.Stat(reader[2]); err == nil {
							t.Errorf("convert %s: it writes a file", in)
						}
					}
					want, says := exitSkipped, "damaged parts were skipped: "
					if c.nothing {
						want, says = exitFailed, "nothing could be read: "
					}
					status, _, errs = runLine(t, reads(reader, in, "--keep-going")...)
					if status != want || !strings.Contains(errs, says) || !strings.Contains(errs, place) {
						t.Errorf("%s --keep-going %s: status %d: %s", name, in, status, errs)
					}
					if reader[0] != "convert" {
						continue
					}
					_, err := os.Stat(reader[2])
					if c.nothing != (err != nil) {
						t.Errorf("convert --keep-going %s: %v", in, err)
					}
					if !c.nothing {
						status, text, errs := runLine(t, "report", "--as", "trace", reader[2])
						lost := strings.Count(text, "[LOST EVENTS]")
						if status != 0 || lost != 1 && c.name != "cut" {
							t.Errorf("what convert --keep-going %s wrote: status %d, %d losses: %s", in, status, lost, errs)
						}
						if err := os.Remove(reader[2]); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		})
	}
}

// TestDamagedDump: stackmap-dump prints what it could read, and its status says that it
// was not all.
func TestDamagedDump(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cap")
	ftracelab(t, "run", "--set", "set_event=kmem:kmem_cache_alloc", "--set", "options/stacktrace=1", "--set", "options/stackmap=1", "--out", dir)
	file := filepath.Join(dir, "stack_map_bin")
	change(t, file, func(b []byte) []byte { return b[:len(b)-3] })
	if status, out, errs := runLine(t, "stackmap-dump", file); status != exitFailed || out != "" || !strings.Contains(errs, "offset ") {
		t.Errorf("status %d, %d bytes: %s", status, len(out), errs)
	}
	if status, out, errs := runLine(t, "stackmap-dump", "--keep-going", file); status != exitSkipped || out == "" || !strings.Contains(errs, "offset ") {
		t.Errorf("keep going: status %d, %d bytes: %s", status, len(out), errs)
	}
	change(t, file, func(b []byte) []byte { return b[:20] })
	if status, out, errs := runLine(t, "stackmap-dump", "--keep-going", file); status != exitFailed || out != "" {
		t.Errorf("nothing left: status %d, %d bytes: %s", status, len(out), errs)
	}
}

// TestBadKallsyms: symbols that are there and cannot be used are an error, or with
// --keep-going said, in each command that reads a capture.
func TestBadKallsyms(t *testing.T) {
	gz := func(b []byte) []byte {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		_, _ = z.Write(b)
		_ = z.Close()
		return out.Bytes()
	}
	for _, c := range []struct {
		name, want string
		file       func(text []byte) []byte
	}{
		{"cut", "the text ends inside a line", func(b []byte) []byte { return b[:len(b)/2+3] }},
		{"cut gzip", "the compressed data ends early", func(b []byte) []byte { b = gz(b); return b[:len(b)/2] }},
		{"too large", "too large: its content would take", func(b []byte) []byte { return gz(append(b, make([]byte, 65<<20)...)) }},
		{"something else", "line 1: no line of kallsyms", func([]byte) []byte { return []byte("hello\n") }},
		{"without addresses", "all addresses are 0", func([]byte) []byte { return []byte("0000000000000000 T _text\n0000000000000000 T vfs_read\n") }},
		{"a folder", "cannot read", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := smallCapture(t)
			file := filepath.Join(dir, "kallsyms.txt")
			if c.file != nil {
				change(t, file, c.file)
			} else if err := os.Remove(file); err != nil {
				t.Fatal(err)
			} else if err := os.Mkdir(file, 0o700); err != nil {
				t.Fatal(err)
			}
			text := filepath.Join(dir, "trace.txt") // in the same folder
			for name, reader := range readers(t) {
				if name == "report as trace-cmd" {
					continue
				}
				inputs := []string{dir}
				if name == "estimate" {
					inputs = append(inputs, text)
				}
				for _, in := range inputs {
					status, out, errs := runLine(t, reads(reader, in)...)
					if status != exitFailed || out != "" || !strings.Contains(errs, "kallsyms.txt") || !strings.Contains(errs, c.want) {
						t.Errorf("%s %s: status %d: %s", name, in, status, errs)
					}
					status, _, errs = runLine(t, reads(reader, in, "--keep-going")...)
					if status != exitSkipped || !strings.Contains(errs, "stay without names: ") || !strings.Contains(errs, c.want) {
						t.Errorf("%s --keep-going %s: status %d: %s", name, in, status, errs)
					}
				}
			}
		})
	}
}
