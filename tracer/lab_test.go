package tracer_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
	"ftracelab/workload"
)

// lab is a running machine with its tracefs.
type lab struct {
	t  testing.TB
	m  *machine.Machine
	ft *tracer.Ftrace
	fs *tracefsfs.FS
}

func newLab(t testing.TB, cfg tracer.Config) *lab {
	t.Helper()
	return newLabOn(t, machine.Config{}, cfg)
}

func newLabOn(t testing.TB, mcfg machine.Config, cfg tracer.Config) *lab {
	t.Helper()
	return newLabIn(t, "", mcfg, cfg)
}

func newLabIn(t testing.TB, scenario string, mcfg machine.Config, cfg tracer.Config) *lab {
	t.Helper()
	m, err := machine.New(mcfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := workload.Find(scenario)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(m); err != nil {
		t.Fatal(err)
	}
	ft, err := tracer.New(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &lab{t, m, ft, tracefsfs.New(ft.Root())}
}

// write is echo TEXT > NAME.
func (l *lab) write(name, text string) {
	l.t.Helper()
	if err := tracefsfs.WriteFile(l.fs, name, text+"\n"); err != nil {
		l.t.Fatalf("write %q to %s: %v", text, name, err)
	}
}

// append is echo TEXT >> NAME.
func (l *lab) append(name, text string) {
	l.t.Helper()
	if err := tracefsfs.Append(l.fs, name, text+"\n"); err != nil {
		l.t.Fatalf("append %q to %s: %v", text, name, err)
	}
}

// errno is what echo TEXT > NAME fails with.
func (l *lab) errno(name, text string) error {
	l.t.Helper()
	if err := tracefsfs.WriteFile(l.fs, name, text+"\n"); err != nil {
		return tracefile.Errno(err)
	}
	return nil
}

func (l *lab) read(name string) string {
	l.t.Helper()
	text, err := l.fs.ReadFile(name)
	if err != nil {
		l.t.Fatalf("read %s: %v", name, err)
	}
	return string(text)
}

// want compares a file with a text.
func (l *lab) want(name, text string) {
	l.t.Helper()
	if got := l.read(name); got != text {
		l.t.Errorf("%s reads %q, want %q", name, got, text)
	}
}

// open opens a file for the ways flags say; the test's end closes it.
func (l *lab) open(name string, flags tracefile.Flags) tracefile.Handle {
	l.t.Helper()
	h, err := l.fs.OpenHandle(context.Background(), name, flags)
	if err != nil {
		l.t.Fatalf("open %s: %v", name, err)
	}
	l.t.Cleanup(func() { h.Close() })
	return h
}

// drain reads h until it is at its end or would have to wait.
func (l *lab) drain(h tracefile.Handle) (text string, end error) {
	l.t.Helper()
	buf, chunk := []byte(nil), make([]byte, 4096)
	for {
		n, err := h.Read(context.Background(), chunk)
		buf = append(buf, chunk[:n]...)
		if errors.Is(err, io.EOF) {
			return string(buf), io.EOF
		}
		if err != nil {
			return string(buf), tracefile.Errno(err)
		}
	}
}

// body is the text of trace without its header.
func body(trace string) []string {
	var lines []string
	for line := range strings.Lines(trace) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// oracle is a file of the kernel captures, unpacked if it is stored packed. A
// test that needs it is skipped where there are none, but not in CI.
func oracle(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testutil.Oracle(t), name))
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, ".gz") {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return string(data)
}

func golden(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
