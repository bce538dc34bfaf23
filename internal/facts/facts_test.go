package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
)

// unavailable is the value of FTRACELAB_KERNEL if Debian's archive does not have the
// package of the kernel any more, or cannot be reached.
const unavailable = "unavailable"

// sums are the SHA-256 sums of the files that are made from that package. Without the
// package, nothing else shows that a file was changed by hand.
var sums = map[string]string{
	"machine/btf/functions.txt":       "8db340b7d91c0bfa104900327168d9ef76921c269e031e39749bbe6600550109",
	"machine/btf/types.txt":           "97b233f23b63ea77961e640e268580f760089e0460c1ac1a037f8ba76e261b91",
	"machine/callsites.txt":           "f2d8b33c3c39c1ec5ef4211be6e74dce79979b66df2f48bee922cdb9e2a2b836",
	"tracer/event/printfmt/enums.txt": "ced2c34847cb88b3ae0222f8b31af49a63d90cdedd0dfe24d24f7a106d0ab466",
	"workload/model.bin":              "75743ea82e344b7c4985db049a83b2fb5886b43741ea4bd12c9be9a7c2928a45",
}

// TestEmbeddedFilesAreCurrent: the embedded files are what their sources give, byte for
// byte. Only npm can fetch the script of the charts, so its sum and its packing are
// compared.
func TestEmbeddedFilesAreCurrent(t *testing.T) {
	for name, dir := range map[string]string{
		"formats": "tracer/event/events", "strings": "tracer/printk", "types": "machine/btf",
		"enums": "tracer/event/printfmt",
	} {
		t.Run(name, func(t *testing.T) {
			d := data[name]
			from := testutil.FromEnv(t, d.env, "what "+name+" is made of")
			if from == unavailable {
				t.Logf("%s is %s: only sums are compared", d.env, from)
				return
			}
			t.Setenv(d.env, from)
			out := t.TempDir()
			if err := run([]string{name, out}); err != nil {
				t.Fatal(err)
			}
			made, err := filepath.Glob(filepath.Join(out, "*"))
			if err != nil || len(made) == 0 {
				t.Fatalf("%d files, %v", len(made), err)
			}
			for _, path := range made {
				have := filepath.Join("../..", dir, filepath.Base(path))
				if !bytes.Equal(read(t, path), read(t, have)) {
					t.Errorf("%s: run go generate ./%s", have, dir)
				}
			}
		})
	}
	t.Run("charts", func(t *testing.T) {
		have := read(t, "../../report/html/assets/echarts.min.js.gz")
		z, err := gzip.NewReader(bytes.NewReader(have))
		if err != nil {
			t.Fatal(err)
		}
		script, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(script)); sum != scriptSum {
			t.Errorf("the script has the SHA-256 %s, want %s", sum, scriptSum)
		}
		again, err := packed(script)
		if err != nil || !bytes.Equal(again, have) {
			t.Errorf("packed again it has %d bytes, not these %d: %v", len(again), len(have), err)
		}
	})
}

func TestSums(t *testing.T) {
	for name, want := range sums {
		if sum := fmt.Sprintf("%x", sha256.Sum256(read(t, filepath.Join("../..", name)))); sum != want {
			t.Errorf("%s has the SHA-256 %s, want %s: go generate makes it; then change the sum", name, sum, want)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestErrors(t *testing.T) {
	t.Setenv("FTRACELAB_KERNEL", "")
	for _, c := range []struct{ args, want string }{
		{"", "usage: facts formats|strings|types|enums|charts DIR"},
		{"birds .", `there is no "birds", only [charts enums formats strings types]`},
		{"types .", "FTRACELAB_KERNEL is not set: types is made of what it names"},
	} {
		if err := run(strings.Fields(c.args)); err == nil || err.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.args, err, c.want)
		}
	}
	t.Setenv("FTRACELAB_KERNEL", t.TempDir())
	if err := run([]string{"types", "."}); err == nil || !strings.HasSuffix(err.Error(), "0 files, want one") {
		t.Errorf("an empty folder: %v", err)
	}
}
