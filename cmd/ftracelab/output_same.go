package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

var errSameFile = errors.New("is input and output at once")

// refuse gives an error if the output would overwrite an input, whatever the names are.
// No file in an input folder may be overwritten, unless it has a name like the output
// of an earlier run.
func (o *outputFile) refuse(inputs []string) error {
	if o.old == nil || o.old.Mode()&fs.ModeCharDevice != 0 {
		return nil // a terminal or the null device can be input and output
	}
	for _, in := range inputs {
		info, err := os.Stat(in)
		switch {
		case err != nil: // the command that reads it will report that
		case os.SameFile(info, o.old):
			return errSameFile
		case info.IsDir() && !isProduct(o.path) && holds(in, o.old):
			return errSameFile
		}
	}
	return nil
}

// isProduct reports whether a file has a name like the outputs of commands.
func isProduct(path string) bool {
	switch filepath.Ext(path) {
	case ".html", ".htm", ".dat":
		return true
	}
	return false
}

// holds reports whether a file is one of those in a capture folder.
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
