package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
)

// bareFrame is a frame of a user stack whose task had ended when the kernel printed it. The
// capture has kept the task's maps, so here the frame has a name.
var bareFrame = regexp.MustCompile(`^ =>  <[0-9a-f]{16}>$`)

// TestSubsystemTexts: what report prints of captures of whole subsystems (ext4, net, idle,
// modules, memory pressure, context switches …) is the kernel's text, line by line. Only
// what the kernel alone can compute, jiffies, is different, and it says so; and frames of
// tasks that had ended have names.
func TestSubsystemTexts(t *testing.T) {
	root := testutil.FromEnv(t, "FTRACELAB_SUBSYSTEMS", "captures of subsystems")
	static := oracle(t, "debian/static")
	dirs, err := filepath.Glob(filepath.Join(root, "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	compared := 0
	for _, dir := range dirs {
		texts, err := filepath.Glob(filepath.Join(dir, "trace.txt*"))
		if err != nil {
			t.Fatal(err)
		}
		if len(texts) == 0 {
			continue
		}
		compared++
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			if status := run(context.Background(), []string{"report", "--kernel", static, dir}, strings.NewReader(""), &out, &errs); status != 0 {
				t.Fatalf("status %d: %s", status, errs.String())
			}
			want, got := lines(textOf(t, texts[0])), lines(out.Bytes())
			if len(got) != len(want) {
				t.Fatalf("%d lines, want %d", len(got), len(want))
			}
			unknown, named, wrong := 0, 0, 0
			for n := range want {
				switch {
				case bytes.Equal(got[n], want[n]):
				case bytes.Contains(got[n], []byte("[unknown jiffies]")):
					unknown++
				case bareFrame.Match(want[n]):
					named++
				default:
					if wrong++; wrong <= 5 {
						t.Errorf("line %d:\n%s\nwant\n%s", n+1, got[n], want[n])
					}
				}
			}
			t.Logf("%d lines; %d with jiffies, %d frames of ended tasks, %d wrong", len(want), unknown, named, wrong)
		})
	}
	if compared == 0 {
		t.Error("no capture has a text")
	}
}

// textOf is the content of a file that may be packed.
func textOf(t *testing.T, path string) []byte {
	t.Helper()
	if strings.HasSuffix(path, ".gz") {
		return testutil.Gunzip(t, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func lines(text []byte) [][]byte { return bytes.Split(text, []byte("\n")) }
