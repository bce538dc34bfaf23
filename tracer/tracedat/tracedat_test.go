package tracedat_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ftracelab/internal/testutil"
	"ftracelab/tracer/tracedat"
)

// oracle opens a file that trace-cmd recorded on a real kernel.
func oracle(t *testing.T, name string) *tracedat.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".dat")
	unzipTo(t, path, filepath.Join(testutil.Oracle(t), "debian/stacks", name+".dat.gz"))
	return open(t, path)
}

func open(t *testing.T, path string) *tracedat.File {
	t.Helper()
	f, err := tracedat.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// unzipTo undoes the gzip of a file.
func unzipTo(t *testing.T, to, from string) {
	t.Helper()
	if err := os.WriteFile(to, testutil.Gunzip(t, from), 0o644); err != nil {
		t.Fatal(err)
	}
}

// write writes a file anew.
func write(t *testing.T, path string, target tracedat.Target, f *tracedat.File) {
	t.Helper()
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := tracedat.Write(out, target, f.CanonicalMeta(), f.Sources()); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// targets are all forms of file that are written.
func targets() []tracedat.Target {
	list := []tracedat.Target{{Version: tracedat.Version6}}
	for _, c := range tracedat.Compressions() {
		list = append(list, tracedat.Target{Version: tracedat.Version7, Compression: c})
	}
	return list
}

// pageSums are sums over the pages of each CPU of each buffer.
func pageSums(t *testing.T, f *tracedat.File) map[string]string {
	t.Helper()
	sums := map[string]string{}
	for i := range f.Buffers {
		b := &f.Buffers[i]
		for _, c := range b.CPUs {
			sum := sha256.New()
			n, err := io.Copy(sum, f.CanonicalPages(b, c.CPU))
			if err != nil {
				t.Fatal(err)
			}
			sums[fmt.Sprintf("%s/%d", b.Name, c.CPU)] = fmt.Sprintf("%d %x", n, sum.Sum(nil))
		}
	}
	return sums
}

// rewrite writes a file anew and opens the result.
func rewrite(t *testing.T, f *tracedat.File, target tracedat.Target) *tracedat.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out.dat")
	write(t, path, target, f)
	return open(t, path)
}

// Every form that is written reads back as what was written.
func TestRewrite(t *testing.T) {
	for _, name := range []string{"trace_ev", "trace_fn"} {
		f := oracle(t, name)
		want := pageSums(t, f)
		for _, target := range targets() {
			t.Run(fmt.Sprintf("%s/%d-%s", name, target.Version, target.Compression), func(t *testing.T) {
				got := rewrite(t, f, target)
				if !reflect.DeepEqual(f.Meta, got.Meta) {
					t.Error("what is beside the pages differs")
				}
				if d := cmp.Diff(want, pageSums(t, got)); d != "" {
					t.Errorf("pages: -want +got\n%s", d)
				}
				if got, want := got.Buffers[0].Clock, f.Buffers[0].Clock; got != want {
					t.Errorf("clock %q, want %q", got, want)
				}
			})
		}
	}
}
