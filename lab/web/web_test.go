package web

import (
	"context"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// stand is a site whose programs are nothing but names.
func stand(t *testing.T) *Site {
	t.Helper()
	s, err := New(fstest.MapFS{"step.wasm.gz": {}, "machine.wasm.gz": {}, "estimate.wasm.gz": {}, "timeline.wasm.gz": {}, "example.dat.gz": {}, "wasm_exec.js": {Data: []byte("go")}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestServe asks for files as a browser would, and as a page that should not.
func TestServe(t *testing.T) {
	s := stand(t)
	for _, c := range []struct {
		method, target, host string
		header               [2]string
		status               int
	}{
		{"GET", "/", "127.0.0.1:8080", [2]string{}, 200},
		{"HEAD", "/app.js", "localhost:8080", [2]string{}, 200},
		{"GET", "/vendor/xterm.mjs", "[::1]:8080", [2]string{}, 200},
		{"GET", "/programs/wasm_exec.js", "127.0.0.1:8080", [2]string{"Origin", "http://127.0.0.1:8080"}, 200},
		{"GET", "/", "ftracelab.example:8080", [2]string{}, 421},
		{"GET", "/", "", [2]string{}, 421},
		{"GET", "/", "127.0.0.1.example", [2]string{}, 421},
		{"GET", "/app.js", "127.0.0.1:8080", [2]string{"Origin", "http://evil.example"}, 403},
		{"GET", "/app.js", "127.0.0.1:8080", [2]string{"Origin", "null"}, 403},
		{"GET", "/app.js", "127.0.0.1:8080", [2]string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"POST", "/", "127.0.0.1:8080", [2]string{}, 405},
		{"GET", "/../site.go", "127.0.0.1:8080", [2]string{}, 404},
		{"GET", "/programs/", "127.0.0.1:8080", [2]string{}, 404},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, "http://x"+c.target, nil)
		r.Host = c.host
		if c.header[0] != "" {
			r.Header.Set(c.header[0], c.header[1])
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s %s of %q, %q: %d, want %d", c.method, c.target, c.host, c.header, w.Code, c.status)
		}
		if w.Code == http.StatusOK && w.Header().Get("Content-Type") == "" {
			t.Errorf("%s has no type", c.target)
		}
	}
}

// TestExport writes the folder. Every file that a page or module of it names is there, and
// no other address is.
func TestExport(t *testing.T) {
	dir := t.TempDir()
	if err := stand(t).Export(dir); err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?:from|import|import\(|href=|src=|new URL\()\s*"([^"#]+)"`)
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "vendor") || !strings.HasSuffix(path, ".js") && !strings.HasSuffix(path, ".html") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range names.FindAllStringSubmatch(string(text), -1) {
			if strings.HasPrefix(m[1], "data:") {
				continue
			}
			seen++
			if _, err := os.Stat(filepath.Join(dir, m[1])); err != nil {
				t.Errorf("%s names %q: %v", filepath.Base(path), m[1], err)
			}
		}
		if i := strings.Index(string(text), "://"); i >= 0 {
			t.Errorf("%s holds an address: %.40q", filepath.Base(path), text[i:])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 15 {
		t.Errorf("only %d names were seen", seen)
	}
}

// TestNoPrograms: a build without the programs says so.
func TestNoPrograms(t *testing.T) {
	if _, err := New(fstest.MapFS{}); err == nil || !strings.Contains(err.Error(), "step.wasm.gz") {
		t.Error(err)
	}
}

// The stepper is what a reader waits for, so it must stay small. Each other program is
// loaded only by the part of the page that needs it.
const (
	mostStepper = 2_000_000
	mostOther   = 6_100_000
)

// TestSize builds the programs and looks at how large they are.
func TestSize(t *testing.T) {
	if testing.Short() {
		t.Skip("builds four programs")
	}
	dir := t.TempDir()
	if err := Build(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	s, err := New(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range programs {
		size, most := s.Size("programs/"+name), mostOther
		if name == "step.wasm.gz" {
			most = mostStepper
		}
		t.Logf("%s has %d bytes", name, size)
		if size == 0 || size > most {
			t.Errorf("%s has %d bytes, the most are %d", name, size, most)
		}
	}
}
