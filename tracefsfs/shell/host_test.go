package shell

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// recordingHost is a host of the files given, which notes every access.
type recordingHost struct {
	mu     sync.Mutex
	files  map[string]string
	opened []string
}

func (h *recordingHost) note(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opened = append(h.opened, name)
}

func (h *recordingHost) OpenFile(name string, flag int, _ fs.FileMode) (io.ReadWriteCloser, error) {
	h.note(name)
	text, ok := h.files[name]
	switch {
	case flag&(os.O_WRONLY|os.O_RDWR) != 0:
		return nil, errors.New("the host was written")
	case !ok:
		return nil, syscall.ENOENT
	}
	return readOnly{strings.NewReader(text)}, nil
}

func (h *recordingHost) Stat(name string) (fs.FileInfo, error) {
	h.note(name)
	text, ok := h.files[name]
	if !ok {
		return nil, syscall.ENOENT
	}
	return memoryInfo{name: name, mode: 0o644, size: int64(len(text))}, nil
}

func (h *recordingHost) Mkdir(name string, _ fs.FileMode) error {
	h.note(name)
	return errors.New("the host was written")
}

func (h *recordingHost) Remove(name string) error { return h.Mkdir(name, 0) }

func (h *recordingHost) ReadDir(name string) ([]fs.DirEntry, error) {
	h.note(name)
	return nil, syscall.ENOENT
}

// No command of the host can be run, and no file of it is written, or looked at
// that the script does not name.
func TestHostIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"frobnicate", "cat", "tool"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\ntouch "+filepath.Join(dir, "ran")+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	t.Setenv("FTRACELAB_LEAK", "leaked")
	l := newLab(t)
	l.host.files = map[string]string{"/srv/lib.sh": "lib() { echo lib $1; }\n"}
	script := `PATH=` + dir + `:$PATH
. /srv/lib.sh
lib x
frobnicate; command frobnicate; exec_() { :; }
cat trace > /dev/null
command -v frobnicate; type frobnicate; hash frobnicate; which frobnicate
echo $FTRACELAB_LEAK ${TMPDIR-unset}
echo x > /srv/new; rm /srv/lib.sh; mkdir /srv/d; mv /srv/lib.sh /tmp/l; touch /srv/t; cp trace /srv/c; sed -n 1p /srv/lib.sh | tee /srv/tee
ls events/* > /dev/null; cd /tmp; pwd -P; cd - > /dev/null
echo y > '/sh-interp-1'; echo z > '/tmp/sh-interp-2'; cat /tmp/sh-interp-2
HOME=/srv/home; cat missing */missing ~/x 2>/dev/null
`
	if _, err := l.sh.Run(context.Background(), strings.NewReader(script), "test"); err != nil {
		t.Fatal(err)
	}
	if got, want := l.out.String(), "lib x\nunset\nlib() { echo lib $1; }\n/tmp\nz\n"; got != want {
		t.Errorf("out %q, want %q\nstderr %s", got, want, l.err.String())
	}
	allowed := []string{"/srv/", "/tmp/l"}
	for _, name := range l.host.opened {
		if !slices.ContainsFunc(allowed, func(p string) bool { return strings.HasPrefix(name, p) }) {
			t.Errorf("the host was asked for %s", name)
		}
	}
	for _, name := range []string{"/tmp/sh-interp-2", "/sh-interp-1", filepath.Join(dir, "ran")} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s was made on the host", name)
		}
	}
	if strings.Count(l.err.String(), "Read-only file system") != 7 {
		t.Errorf("writes to the host: %s", l.err.String())
	}
}

// Only namespace.go, interactive.go and tests may use package os to reach files,
// and nothing may run programs.
func TestNoOtherWayOut(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []string{`"os/exec"`, "os.Getenv", "os.Environ", "os.Open", "os.Create", "os.ReadFile", "os.WriteFile", "os.Stat", "os.ReadDir", "os.StartProcess", "os.Getpid", "DefaultExecHandler", "DefaultOpenHandler", "interp.Dir("} {
			if strings.Contains(string(text), call) && name != "namespace.go" {
				for line := range strings.Lines(string(text)) {
					if strings.Contains(line, call) && !strings.Contains(line, "//") {
						t.Errorf("%s uses %s", name, call)
					}
				}
			}
		}
	}
}
