package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ftracelab/internal/testutil"
)

// TestSubbufSizes: of every size that a kernel has, as a folder and as a trace.dat, the
// capture's own is the default, and its pages are re-created whatever size is asked for.
func TestSubbufSizes(t *testing.T) {
	for kb := 4; kb <= 512; kb *= 2 {
		if testing.Short() && kb > 4 && kb != 64 {
			continue
		}
		for _, form := range []string{"folder", "6.dat", "7.dat"} {
			out := filepath.Join(t.TempDir(), form)
			args := []string{
				"run", "--out", out, "--duration", "50ms", "--set", "buffer_size_kb=4096", "--set", fmt.Sprintf("buffer_subbuf_size_kb=%d", kb),
				"--set", "options/stacktrace=1", "--set", "set_event=kmem",
			}
			if form != "folder" {
				args = append(args, "--file-version", form[:1])
			}
			ftracelab(t, args...)
			for _, asked := range []int{0, 32768} {
				size, flags := kb<<10, []string{}
				if asked != 0 {
					size, flags = asked, []string{"--subbuf-size", fmt.Sprint(asked)}
				}
				if kb > 256 { // a ring for each design on each of four CPUs
					flags = append(flags, "--memory", "256M")
				}
				r := estimate(t, append(flags, out)...)
				v := &r.Verification
				if r.Settings.SubbufSize != size || v.PagesSize != kb<<10 || v.PagesIdentical == 0 || v.PagesIdentical != v.PagesCompared || v.PagesUnmatched != 0 {
					t.Errorf("%d KB, %s, asked for %d: sub-buffers of %d bytes, %+v", kb, form, asked, r.Settings.SubbufSize, v)
				}
			}
		}
	}
}

// TestTraceCmdPages: the pages of files that trace-cmd recorded on a real kernel are
// re-created, which its reader takes while the kernel writes.
func TestTraceCmdPages(t *testing.T) {
	for name, pages := range map[string]uint64{"trace_ev": 247, "trace_fn": 3} {
		dat := filepath.Join(t.TempDir(), "trace.dat")
		if err := os.WriteFile(dat, testutil.Gunzip(t, oracle(t, "debian/stacks/"+name+".dat.gz")), 0o666); err != nil {
			t.Fatal(err)
		}
		v := estimate(t, dat).Verification
		if v.PagesIdentical != pages || v.PagesCompared != pages || v.PagesUnmatched != 0 {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestSubbufCaptures: likewise with captures of real kernels. What an interrupted write
// leaves on their pages no record tells.
func TestSubbufCaptures(t *testing.T) {
	for _, c := range []struct {
		name             string
		size             int
		pages, identical uint64
	}{
		{"debian/function/subbuf_8", 8192, 57, 56},
		{"debian/function/subbuf_64", 65536, 8, 7},
		{"full/function/subbuf_8", 8192, 51, 51},
		{"full/function/subbuf_16", 16384, 28, 25},
	} {
		dir := oracle(t, c.name)
		dat := filepath.Join(t.TempDir(), "x.dat")
		ftracelab(t, "convert", dir, dat)
		for _, args := range [][]string{{dir}, {dat}, {"--subbuf-size", "4096", dir}} {
			r := estimate(t, args...)
			v := &r.Verification
			if v.PagesSize != c.size || v.PagesCompared != c.pages || v.PagesIdentical != c.identical || v.PagesUnmatched != 0 ||
				v.RecordsIdentical != v.RecordsCompared || v.RecordsCompared != r.Input.Events || v.CaptureBytes-v.RecreatedBytes > 32 {
				t.Errorf("%v: %+v", args, v)
			}
		}
	}
}
