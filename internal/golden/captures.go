package golden

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Capture is a folder of the oracle that has pages.
type Capture struct {
	Name   string // the path below the oracle, with slashes
	Dir    string
	Kernel string // the folder with its kernel's static files
}

// Captures lists the captures of the oracle in the order of their names.
func Captures(oracle string) (list []Capture, err error) {
	err = filepath.WalkDir(oracle, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !hasPages(d.Name()) {
			return err
		}
		dir := filepath.Dir(path)
		rel, err := filepath.Rel(oracle, dir)
		if name := filepath.ToSlash(rel); err == nil && (len(list) == 0 || list[len(list)-1].Name != name) {
			list = append(list, Capture{name, dir, kernelOf(oracle, dir)})
		}
		return err
	})
	return list, err
}

func hasPages(file string) bool {
	return strings.HasSuffix(strings.TrimSuffix(file, ".gz"), "cpu0.raw")
}

// kernelOf gives the nearest folder above dir that has a folder static.
func kernelOf(oracle, dir string) string {
	for dir != oracle {
		dir = filepath.Dir(dir)
		if _, err := os.Stat(filepath.Join(dir, "static")); err == nil {
			return dir
		}
	}
	return ""
}

// NoPair reports whether the texts of a capture do not show its pages. Its README says
// so: trace shows the buffer of the longest latency, but cpuN.raw are the pages of the
// live buffer. See Rebuild.
func (c *Capture) NoPair() bool {
	text, err := os.ReadFile(filepath.Join(c.Dir, "README"))
	return err == nil && bytes.Contains(text, []byte("MAX buffer"))
}

// WithoutPages lists the texts of trace in the oracle for which no pages were kept.
func WithoutPages(oracle string) (list []string, err error) {
	err = filepath.WalkDir(oracle, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		if err != nil || d.IsDir() || !strings.HasSuffix(strings.TrimSuffix(name, ".gz"), ".txt") ||
			!strings.Contains(name, "trace") && !strings.Contains(name, "snapshot") {
			return err
		}
		t := Text{File: path, CPU: -1}
		if t.named(name) && t.form() {
			return nil
		}
		content, err := ReadFile(path)
		rel, _ := filepath.Rel(oracle, path)
		if bytes.HasPrefix(content, []byte("# tracer: ")) || strings.HasPrefix(name, "trace_pipe") {
			list = append(list, filepath.ToSlash(rel))
		}
		return err
	})
	return list, err
}
