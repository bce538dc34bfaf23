package tracedat_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"ftracelab/internal/testutil"
	"ftracelab/tracer/tracedat"
)

// traceCmd runs the real trace-cmd and gives what it prints.
func traceCmd(t *testing.T, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "trace-cmd", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("trace-cmd %v: %v\n%s", args, err, stderr.Bytes())
	}
	return out
}

// What trace-cmd reports of a file does not change when it is written by us in any
// form, nor when trace-cmd converts what we wrote to another form.
func TestTraceCmdConvert(t *testing.T) {
	testutil.Program(t, "trace-cmd")
	dir := t.TempDir()
	known := traceCmd(t, "list", "-c") // Debian's knows zstd only
	for _, name := range []string{"trace_fn", "trace_ev"} {
		if name == "trace_ev" && testing.Short() {
			break // 3 MiB of text, nine times
		}
		f := oracle(t, name)
		ours := func(target tracedat.Target) string {
			path := filepath.Join(dir, fmt.Sprintf("%s-%d-%s.dat", name, target.Version, target.Compression))
			write(t, path, target, f)
			return path
		}
		report := func(path string) []byte { return traceCmd(t, "report", path) }
		original := filepath.Join(dir, name+".dat")
		unzipTo(t, original, filepath.Join(testutil.Oracle(t), "debian/stacks", name+".dat.gz"))
		want := report(original)
		if lines := bytes.Count(want, []byte("\n")); lines < 200 {
			t.Fatalf("the report has only %d lines", lines)
		}
		for _, target := range targets() {
			if c := target.Compression; c != "" && c != "none" && !bytes.Contains(known, []byte(c)) {
				t.Logf("this trace-cmd does not know %s", c)
				continue
			}
			path := ours(target)
			if !bytes.Equal(report(path), want) {
				t.Errorf("%s: the report of our version %d %s differs", name, target.Version, target.Compression)
			}
			for _, to := range []string{"6", "7"} {
				converted := filepath.Join(dir, "converted.dat")
				traceCmd(t, "convert", "--file-version", to, "-i", path, "-o", converted)
				if !bytes.Equal(report(converted), want) {
					t.Errorf("%s: our version %d %s, converted by trace-cmd to %s: the report differs",
						name, target.Version, target.Compression, to)
				}
				back, err := tracedat.Open(converted, nil)
				if err != nil {
					t.Errorf("%s: what trace-cmd converted to %s: %v", name, to, err)
					continue
				}
				if got, want := pageSums(t, back), pageSums(t, f); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s: converted to %s, our reader finds other pages: %v, want %v", name, to, got, want)
				}
				back.Close()
				if err := os.Remove(converted); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
