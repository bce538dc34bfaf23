// Package golden compares our text of a capture with that of its kernel.
//
// A capture of the oracle holds the same buffer in many forms: trace.txt,
// trace.percpu0.txt, trace.sym-offset.txt, trace.proc+abstime.txt. Some things are told
// by a text and by no file of the capture, such as when the buffer was reset. They are
// read off the text and added. Pointers that the kernel has hashed are compared by
// where they occur.
package golden

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ftracelab/tracer/output"
)

// Text is the text that a kernel has printed for a capture.
type Text struct {
	File    string   // its path
	Options []string // the options that were set for it, in the form of trace_options
	CPU     int      // it is the text of per_cpu/cpuN/trace; -1: of trace
	Content []byte
	Part    bool   // only the beginning was kept
	Pages   string // the prefix of cpuN.raw in the names of the files with its pages

	// Facts says what was read off the text because no file tells it; see Render.
	Facts []string
}

// Form is the part of the file's name that says how the text was rendered.
func (t *Text) Form() string {
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(t.File), ".gz"), ".txt")
	if t.Pages != "" {
		return name
	}
	if form, found := strings.CutPrefix(name, "trace."); found {
		return form
	}
	return name
}

// Texts reads the texts of a capture folder. skipped names the texts whose form is not
// known.
func Texts(dir string) (texts []Text, skipped []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		t := Text{File: filepath.Join(dir, e.Name()), CPU: -1}
		if !t.named(e.Name()) {
			continue
		}
		file := t.File
		if !t.form() {
			skipped = append(skipped, file)
			continue
		}
		if t.Content, err = ReadFile(file); err != nil {
			return nil, nil, err
		}
		// The oracle kept at most 250,000 lines of a text.
		t.Part = strings.Contains(file, ".head") || bytes.Count(t.Content, []byte("\n")) == 250000
		texts = append(texts, t)
	}
	return texts, skipped, nil
}

// named reports whether a file has the name of a text: trace.*, snapshot.* for the
// pages snapshot_cpuN.raw, or X.trace.txt for X.cpuN.raw.
func (t *Text) named(file string) bool {
	name := strings.TrimSuffix(file, ".gz")
	switch stem, isText := strings.CutSuffix(name, ".txt"); {
	case !isText:
		return false
	case stem == "trace" || strings.HasPrefix(stem, "trace."):
		return true
	case stem == "snapshot" || strings.HasPrefix(stem, "snapshot."):
		t.Pages = "snapshot_"
	case strings.HasSuffix(stem, ".trace"):
		t.Pages = strings.TrimSuffix(stem, "trace")
	default:
		return false
	}
	pages, err := filepath.Glob(filepath.Join(filepath.Dir(t.File), t.Pages+"cpu0.raw*"))
	return err == nil && len(pages) > 0
}

// form reads the settings off the file's name.
func (t *Text) form() bool {
	name := strings.TrimPrefix(t.Form(), "snapshot.")
	switch name {
	case "trace", "snapshot", "head": // trace.head is the beginning of a long text
		return true
	}
	if t.Pages != "" && t.Pages != "snapshot_" {
		return true
	}
	if n, found := strings.CutPrefix(name, "percpu"); found {
		cpu, err := strconv.Atoi(n)
		t.CPU = cpu
		return err == nil
	}
	for word := range strings.SplitSeq(name, "+") {
		option, no := known(word), ""
		if option == "" {
			option, no = known(strings.TrimPrefix(word, "no")), "no"
		}
		if option == "" {
			return false
		}
		t.Options = append(t.Options, no+option)
	}
	return true
}

// known gives the full name of an option that has an effect on text.
func known(name string) string {
	switch {
	case output.OptionByName(name) != 0 || output.GraphOptionByName(name) != 0:
		return name
	case output.GraphOptionByName("funcgraph-"+name) != 0:
		return "funcgraph-" + name
	}
	return ""
}

// ReadFile reads path, which is unpacked if its name ends in .gz; if there is no such
// file, it reads path.gz.
func ReadFile(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err == nil && !strings.HasSuffix(path, ".gz") {
		return b, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		b, err = os.ReadFile(path + ".gz")
	}
	if err != nil {
		return nil, err
	}
	zr, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return io.ReadAll(zr)
}
