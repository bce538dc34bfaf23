package event_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ftracelab/tracer/event"
)

// dynamicFormats are the format files of probes and synthetic events that
// captures came with.
func dynamicFormats(t *testing.T, kernel string) (files []formatFile) {
	names, err := filepath.Glob(filepath.Join(oracleDir(t), kernel, "*/*/events/*/*/format"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		event := filepath.Dir(name)
		files = append(files, formatFile{filepath.Base(filepath.Dir(event)), filepath.Base(event), readFile(t, name)})
	}
	return files
}

// Every format file of four kernels is read, and written back byte for byte.
func TestFormatOracle(t *testing.T) {
	dir := oracleDir(t)
	for _, kernel := range []string{"debian", "full", "stackmap/v2", "stackmap/v4"} {
		files := splitFormats(t, readFile(t, filepath.Join(dir, kernel, "static/formats_all.txt")))
		files = append(files, dynamicFormats(t, kernel)...)
		compiled := 0
		for _, f := range files {
			typ, err := event.ParseFormat(f.system, f.text)
			if err != nil {
				t.Error(err)
				continue
			}
			if diff := cmp.Diff(string(f.text), string(typ.Format())); diff != "" {
				t.Errorf("%s: %s/%s:\n%s", kernel, f.system, f.name, diff)
			}
			switch err := typ.PrintErr(); {
			case err == nil:
				compiled++
			case strings.Contains(err.Error(), "unknown outside the kernel"):
				t.Logf("%s: %v", kernel, err)
			default:
				t.Errorf("%s: %v", kernel, err)
			}
		}
		t.Logf("%s: of %d formats %d print everything", kernel, len(files), compiled)
	}
}
