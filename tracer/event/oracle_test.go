package event_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/tracer/event"
)

// oracleDir is where the whole set of kernel captures is. Without it the test
// is skipped, except in CI, which must have it.
func oracleDir(tb testing.TB) string {
	tb.Helper()
	return testutil.Oracle(tb)
}

// readFile reads a file or, if there is none, its gzipped form.
func readFile(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		b, err = os.ReadFile(name + ".gz")
	}
	if err != nil {
		tb.Fatal(err)
	}
	if !bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		return b
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		tb.Fatal(err)
	}
	if b, err = io.ReadAll(z); err != nil {
		tb.Fatal(err)
	}
	return b
}

// formatFile is one file of a formats_all.txt.
type formatFile struct {
	system, name string
	text         []byte
}

// splitFormats cuts a formats_all.txt at its "==== events/SYSTEM/NAME" lines.
func splitFormats(tb testing.TB, all []byte) []formatFile {
	tb.Helper()
	var files []formatFile
	for part := range strings.SplitSeq("\n"+string(all), "\n==== events/") {
		head, text, ok := strings.Cut(part, "\n")
		if !ok {
			continue
		}
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		system, name, _ := strings.Cut(head, "/")
		files = append(files, formatFile{system, name, []byte(text)})
	}
	if len(files) == 0 {
		tb.Fatal("no formats found")
	}
	return files
}

// kernelTypes parses every format of one captured kernel.
func kernelTypes(tb testing.TB, kernel string) *event.Table {
	tb.Helper()
	table := new(event.Table)
	all := readFile(tb, filepath.Join(oracleDir(tb), kernel, "static/formats_all.txt"))
	for _, f := range splitFormats(tb, all) {
		typ, err := event.ParseFormat(f.system, f.text)
		if err != nil {
			tb.Fatal(err)
		}
		if err := table.Add(typ); err != nil {
			tb.Fatal(err)
		}
	}
	return table
}
