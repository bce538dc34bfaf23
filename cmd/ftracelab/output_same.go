package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

var errSameFile = errors.New("is input and output at once")

// refuse finds an input that the output would overwrite, whatever the names are. In an
// input folder nothing that is there may be overwritten, except what is named like the
// output of an earlier run.
func (o *outputFile) refuse(inputs []string) error {
	if o.old == nil || o.old.Mode()&fs.ModeCharDevice != 0 {
		return nil // a terminal or the null device can be both
	}
	for _, in := range inputs {
		info, err := os.Stat(in)
		switch {
		case err != nil: // who reads it will say so
		case os.SameFile(info, o.old):
			return errSameFile
		case info.IsDir() && !isProduct(o.path) && holds(in, o.old):
			return errSameFile
		}
	}
	return nil
}

// isProduct says whether a file is named like what commands write.
func isProduct(path string) bool {
	switch filepath.Ext(path) {
	case ".html", ".htm", ".dat":
		return true
	}
	return false
}

// holds says whether a file is one of those a capture folder may have.
func holds(dir string, file fs.FileInfo) bool {
	for _, pattern := range []string{"*", "static/*", "events/*/*/format"} {
		list, err := fs.Glob(os.DirFS(dir), pattern)
		if err != nil {
			continue
		}
		for _, name := range list {
			info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
			if err == nil && os.SameFile(info, file) {
				return true
			}
		}
	}
	return false
}
