package web

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed assets
var assets embed.FS

//go:embed programs
var embedded embed.FS

// Programs are the names of the files that [Build] makes.
var programs = []string{"step.wasm.gz", "machine.wasm.gz", "estimate.wasm.gz", "timeline.wasm.gz", "example.dat.gz", "wasm_exec.js"}

// A Site is the page with its programs.
type Site struct {
	files map[string][]byte // by their path, without a slash in front
}

// ErrNoPrograms says that this ftracelab was built without the programs of the page.
var ErrNoPrograms = errors.New("web: the programs of the page were not built into this ftracelab")

// New makes the site of the page and its programs, which are files of dir; nil means those
// that were embedded.
//
// The error is ErrNoPrograms if there are none.
func New(dir fs.FS) (*Site, error) {
	if dir == nil {
		var err error
		if dir, err = fs.Sub(embedded, "programs"); err != nil {
			return nil, err
		}
	}
	s := &Site{files: map[string][]byte{}}
	for _, name := range programs {
		text, err := fs.ReadFile(dir, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%w: there is no %s", ErrNoPrograms, name)
		case err != nil:
			return nil, fmt.Errorf("web: %w", err)
		}
		s.files["programs/"+name] = text
	}
	err := fs.WalkDir(assets, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := assets.ReadFile(name)
		if err != nil {
			return err
		}
		name = strings.TrimPrefix(name, "assets/")
		if plain, packed := strings.CutSuffix(name, ".gz"); packed {
			if text, err = unpack(text); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			name = plain
		}
		s.files[name] = text
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return s, nil
}

func unpack(text []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// Export writes the site into a folder, which is made if it is not there. Files of other
// names are left alone.
func (s *Site) Export(dir string) error {
	for name, text := range s.files {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Size is how many bytes the files take whose names match the pattern of path.Match.
func (s *Site) Size(pattern string) (n int) {
	for name, text := range s.files {
		if ok, err := path.Match(pattern, name); err == nil && ok {
			n += len(text)
		}
	}
	return n
}
