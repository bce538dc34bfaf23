//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ftracelab/internal/testutil"
)

// writers are the commands that write a file, as arguments in front of its name. In
// the folder where they run are a capture, cap, and a trace.dat, in.dat.
var writers = map[string][]string{
	"estimate": {"estimate", "cap", "--html"},
	"convert":  {"convert", "in.dat"},
	"run":      {"run", "--set", "current_tracer=function", "--duration", "2ms", "--out"},
}

// workFolder is a folder with what the writers need, and its own temporary folder.
func workFolder(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	ftracelab(t, "run", "--set", "set_event=kmem:kmem_cache_alloc", "--duration", "20ms", "--out", filepath.Join(dir, "cap"))
	ftracelab(t, "run", "--set", "set_event=sched:*", "--duration", "20ms", "--out", filepath.Join(dir, "in.dat"))
	t.Chdir(dir)
	return dir
}

// clean fails if a temporary file is left.
func clean(t *testing.T) {
	t.Helper()
	for _, name := range append(files(t, "."), files(t, os.Getenv("TMPDIR"))...) {
		if strings.HasPrefix(name, ".ftracelab") {
			t.Errorf("left: %s", name)
		}
	}
}

// TestOutputFiles: what each writer writes is the same wherever it goes, and what stands
// there keeps what it is.
func TestOutputFiles(t *testing.T) {
	workFolder(t)
	for name, args := range writers {
		t.Run(name, func(t *testing.T) {
			defer clean(t)
			write := func(to string) {
				t.Helper()
				ftracelab(t, append(slices.Clone(args), to)...)
			}
			write("new.dat")
			want, err := os.ReadFile("new.dat")
			if err != nil || len(want) < 10_000 {
				t.Fatalf("%d bytes, %v", len(want), err)
			}
			same := func(what, path string, mode fs.FileMode) {
				t.Helper()
				got, err := os.ReadFile(path)
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s: %d bytes, want %d, %v", what, len(got), len(want), err)
				}
				if info, err := os.Lstat(path); err != nil || info.Mode() != mode {
					t.Errorf("%s: %v, want %v", what, info.Mode(), mode)
				}
			}
			put := func(path string, mode fs.FileMode) {
				t.Helper()
				_ = os.Remove(path)
				if err := os.WriteFile(path, bytes.Repeat([]byte("old"), 1e6), mode); err != nil {
					t.Fatal(err)
				}
			}

			put("private.dat", 0o600)
			write("private.dat")
			same("a private file", "private.dat", 0o600)

			put("target.dat", 0o640)
			_ = os.Remove("link.dat")
			if err := os.Symlink("target.dat", "link.dat"); err != nil {
				t.Fatal(err)
			}
			write("link.dat")
			same("behind a link", "target.dat", 0o640)
			if to, err := os.Readlink("link.dat"); err != nil || to != "target.dat" {
				t.Errorf("the link: %q, %v", to, err)
			}

			if err := os.Remove("target.dat"); err != nil {
				t.Fatal(err)
			}
			write("link.dat")
			if to, err := os.Readlink("link.dat"); err != nil || to != "target.dat" {
				t.Errorf("the link to nothing: %q, %v", to, err)
			}
			info, err := os.Stat("new.dat")
			if err != nil {
				t.Fatal(err)
			}
			same("behind a link to nothing", "target.dat", info.Mode())

			put("one.dat", 0o600)
			_ = os.Remove("other.dat")
			if err := os.Link("one.dat", "other.dat"); err != nil {
				t.Fatal(err)
			}
			write("one.dat")
			same("a file with two names", "other.dat", 0o600)
			if err := os.WriteFile("one.dat", nil, 0); err != nil {
				t.Fatal(err)
			}
			write("one.dat")
			same("an empty file with two names", "other.dat", 0o600)

			if got := ftracelab(t, append(slices.Clone(args), "-")...); !bytes.Equal(got, want) {
				t.Errorf("standard output: %d bytes, want %d", len(got), len(want))
			}
			if os.Geteuid() == 0 {
				put("owned.dat", 0o604)
				if err := os.Chown("owned.dat", 12345, 54321); err != nil {
					t.Fatal(err)
				}
				write("owned.dat")
				same("another's file", "owned.dat", 0o604)
				st := syscall.Stat_t{}
				if err := syscall.Stat("owned.dat", &st); err != nil || st.Uid != 12345 || st.Gid != 54321 {
					t.Errorf("owner %d:%d, %v", st.Uid, st.Gid, err)
				}
			}
		})
	}
}

// TestUmask: a new file is what the umask leaves of 0666, a new folder of 0777.
func TestUmask(t *testing.T) {
	workFolder(t)
	for name, args := range writers {
		for _, to := range []string{name + ".dat", name + ".folder"} {
			if name != "run" && strings.HasSuffix(to, ".folder") {
				continue
			}
			cmd := exec.Command("sh", append([]string{"-c", `umask 027; exec ftracelab "$@"`, "sh"}, append(slices.Clone(args), to)...)...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			want := fs.FileMode(0o640)
			if strings.HasSuffix(to, ".folder") {
				want = fs.ModeDir | 0o750
			}
			if info, err := os.Stat(to); err != nil || info.Mode() != want {
				t.Errorf("%s: %v, want %v, %v", to, info.Mode(), want, err)
			}
		}
	}
}

// TestOutputFIFO: the reader of a FIFO gets the content, and the FIFO stays one.
func TestOutputFIFO(t *testing.T) {
	workFolder(t)
	if err := syscall.Mkfifo("fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range writers {
		ftracelab(t, append(slices.Clone(args), name+".dat")...)
		want, err := os.ReadFile(name + ".dat")
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan []byte)
		go func() {
			data, _ := os.ReadFile("fifo")
			got <- data
		}()
		ftracelab(t, append(slices.Clone(args), "fifo")...)
		if data := <-got; !bytes.Equal(data, want) {
			t.Errorf("%s: %d bytes, want %d", name, len(data), len(want))
		}
		if info, err := os.Stat("fifo"); err != nil || info.Mode() != fs.ModeNamedPipe|0o600 {
			t.Errorf("%s: the FIFO is %v, %v", name, info.Mode(), err)
		}
		clean(t)
	}
}

// device is a copy of a device of the machine, whose own no test may come near to. Who
// cannot make one cannot harm the machine's either.
func device(t *testing.T, name string, minor uint64) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return "/dev/" + name
	}
	path := filepath.Join(t.TempDir(), name)
	if err := makeDevice(path, minor); err != nil {
		testutil.Missing(t, "a device of its own: %v", err)
	}
	return path
}

// TestOutputDevice: a device is written to, by its name, by a link, and as what the
// standard output is.
func TestOutputDevice(t *testing.T) {
	workFolder(t)
	null, full := device(t, "null", 3), device(t, "full", 7)
	if err := os.Symlink(null, "null"); err != nil {
		t.Fatal(err)
	}
	for name, args := range writers {
		for _, to := range []string{null, "null"} {
			ftracelab(t, append(slices.Clone(args), to)...)
			if info, err := os.Stat(null); err != nil || info.Mode()&fs.ModeCharDevice == 0 {
				t.Fatalf("%s: the null device is %v, %v", name, info.Mode(), err)
			}
		}
		var out, errs bytes.Buffer
		if status := run(t.Context(), append(slices.Clone(args), full), strings.NewReader(""), &out, &errs); status != exitFailed ||
			!strings.Contains(errs.String(), full+": no space left on device") {
			t.Errorf("%s: status %d: %s", name, status, errs.String())
		}
		cmd := exec.Command("ftracelab", append(slices.Clone(args), "/dev/stdout")...)
		got, err := cmd.Output()
		if err != nil || len(got) < 10_000 {
			t.Errorf("%s to /dev/stdout: %d bytes, %v", name, len(got), err)
		}
		clean(t)
	}
}

// TestDiskFull: a write that fails leaves nothing new, and what was there as it was.
func TestDiskFull(t *testing.T) {
	workFolder(t)
	for name, args := range writers {
		for _, to := range []string{"new.dat", "old.dat", "linked.dat", "folder"} {
			if to == "folder" && name != "run" {
				continue
			}
			switch to {
			case "linked.dat":
				_ = os.Remove("link")
				if err := os.WriteFile(to, []byte("old"), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Link(to, "link"); err != nil {
					t.Fatal(err)
				}
			case "old.dat":
				if err := os.WriteFile(to, []byte("old"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			before := files(t, ".")
			cmd := exec.Command("sh", append([]string{"-c", `ulimit -f 8; exec ftracelab "$@"`, "sh"}, append(slices.Clone(args), to)...)...)
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(string(out), to) || !strings.Contains(string(out), "file too large") {
				t.Errorf("%s to %s: %v: %s", name, to, err, out)
			}
			if after := files(t, "."); !slices.Equal(before, after) {
				t.Errorf("%s to %s: files %v, before %v", name, to, after, before)
			}
			if text, err := os.ReadFile(to); err == nil && string(text) != "old" {
				t.Errorf("%s to %s: %d bytes", name, to, len(text))
			}
			clean(t)
		}
	}
}

// TestOverwriteFull: a file that cannot be replaced is only written over once there is
// room for the new content.
func TestOverwriteFull(t *testing.T) {
	if os.Getenv("FTRACELAB_TEST_OVERWRITE") == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestOverwriteFull$")
		cmd.Env = append(os.Environ(), "FTRACELAB_TEST_OVERWRITE=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	dir := t.TempDir()
	newLifetime(t.Context()).watch() // SIGXFSZ
	from, err := os.Create(filepath.Join(dir, "from"))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	if _, err := from.Write(bytes.Repeat([]byte("new"), 1e5)); err != nil {
		t.Fatal(err)
	}
	old := bytes.Repeat([]byte("old"), 1e3)
	to := filepath.Join(dir, "to")
	if err := os.WriteFile(to, old, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100_000, Max: syscall.RLIM_INFINITY & (1<<63 - 1)}); err != nil {
		t.Fatal(err)
	}
	o := outputFile{to: to}
	if err := o.overwrite(from); err == nil {
		t.Error("no error")
	}
	if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, old) {
		t.Errorf("%d bytes, want the old %d, %v", len(got), len(old), err)
	}
}

// TestSameFile: no command overwrites what it reads, whatever the names are.
func TestSameFile(t *testing.T) {
	workFolder(t)
	ftracelab(t, "convert", "--compression", "none", "cap", "cap.dat")
	for from, to := range map[string]string{"in.dat": "hard.dat", "cap/cpu0.raw": "raw.html", "cap/kallsyms.txt": "symbols"} {
		if err := os.Link(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"in.dat": "soft.dat", "cap": "cap2"} {
		if err := os.Symlink(from, to); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename("raw.html", "raw"); err != nil {
		t.Fatal(err)
	}
	sum := func() string { return fmt.Sprint(treeOf(t, ".")) }
	before := sum()
	for _, line := range []string{
		"convert in.dat in.dat", "convert in.dat ./in.dat", "convert in.dat hard.dat", "convert soft.dat in.dat", "convert in.dat soft.dat",
		"convert cap cap/cpu0.raw", "convert cap2 cap/cpu0.raw", "convert cap raw", "convert cap symbols", "convert cap cap2/trace.txt",
		"estimate cap --html cap/trace.txt", "estimate cap --html raw", "estimate in.dat --html hard.dat",
		"estimate in.dat --kernel cap --html cap/kallsyms.txt",
	} {
		var out, errs bytes.Buffer
		status := run(t.Context(), strings.Fields(line), strings.NewReader(""), &out, &errs)
		if status != exitFailed || !strings.Contains(errs.String(), "is input and output at once") {
			t.Errorf("%s: status %d: %s", line, status, errs.String())
		}
	}
	if after := sum(); after != before {
		t.Errorf("the files were\n%s\nand are\n%s", before, after)
	}
	for _, line := range []string{ // a file of an earlier run is no input
		"convert cap cap/out.dat", "convert cap cap/out.dat", "estimate cap --html cap/page.html", "estimate cap --html cap/page.html",
	} {
		ftracelab(t, strings.Fields(line)...)
	}
}

// TestOutputErrors: what cannot be written is said, with the name that was given, before
// the work and without leaving anything.
func TestOutputErrors(t *testing.T) {
	workFolder(t)
	if err := os.Symlink("loop", "loop"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, to, want string }{
		{"estimate cap --html", "no/page.html", "no/page.html: there is no folder no"},
		{"convert in.dat", "no/x.dat", "no/x.dat: there is no folder no"},
		{"run --out", "no/x.dat", "no/x.dat: there is no folder no"},
		{"run --out", "no/cap", "no/cap: there is no folder no"},
		{"run --out", "cap", "cap: file already exists"},
		{"run --out", "in", "in: file already exists"},
		{"estimate cap --html", "cap", "cap: is a directory"},
		{"convert in.dat", "cap", "cap: is a directory"},
		{"run --out", "cap.dat", "cap.dat: is a directory"},
		{"convert in.dat", "loop", "loop: too many levels of symbolic links"},
		{"convert in.dat", "in.dat/x", "in.dat/x: not a directory"},
	} {
		_ = os.WriteFile("in", nil, 0o600)
		_ = os.Mkdir("cap.dat", 0o700)
		before := files(t, ".")
		var out, errs bytes.Buffer
		status := run(t.Context(), append(strings.Fields(c.args), c.to), strings.NewReader(""), &out, &errs)
		if status != exitFailed || !strings.HasSuffix(errs.String(), ": "+c.want+"\n") {
			t.Errorf("%s %s: status %d: %s", c.args, c.to, status, errs.String())
		}
		if after := files(t, "."); !slices.Equal(before, after) {
			t.Errorf("%s %s: files %v, before %v", c.args, c.to, after, before)
		}
	}
}
