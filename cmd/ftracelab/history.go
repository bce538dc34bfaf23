package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// historyFile is where the lines of interactive sessions are kept; "" if there is no home.
func historyFile() string {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "ftracelab", "history")
}

// historyBytes is how large a file of history may be when a session begins. A larger one
// becomes the older file.
const historyBytes = 1 << 18

// keptLines gives the lines in a file of history and in the one before it, the oldest
// first, and a function that appends one. Sessions beside each other lose nothing: they
// only append, and the file is renamed, not written anew. A file that cannot be read or
// written is no error: nothing is kept then.
func keptLines(file string) (lines []string, keep func(string)) {
	if file == "" {
		return nil, nil
	}
	older := file + ".old"
	text := append(lastBytes(older), lastBytes(file)...)
	if len(text) > 0 {
		lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
	makeOlder(file, older)
	return lines, func(line string) {
		if os.MkdirAll(filepath.Dir(file), 0o700) != nil {
			return
		}
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return
		}
		_, _ = f.WriteString(line + "\n") // a full disk loses the line
		_ = f.Close()
	}
}

// lastBytes is the end of a file, from the beginning of a line on; nil if there is none.
func lastBytes(file string) []byte {
	f, err := openRegular(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	start := max(info.Size()-historyBytes, 0)
	text := make([]byte, info.Size()-start)
	n, _ := f.ReadAt(text, start) // what can be read is the history
	text = text[:n]
	if start > 0 {
		_, text, _ = bytes.Cut(text, []byte("\n")) // a part of a line
	}
	return text
}

// makeOlder renames a file that has become large. Only one session does so at a time, or
// the second would rename what others have written since the first.
func makeOlder(file, older string) {
	if !large(file) {
		return
	}
	lock := file + ".lock"
	f, err := os.OpenFile(lock, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return // another session does it
	}
	defer os.Remove(lock)
	defer f.Close()
	if large(file) {
		_ = os.Rename(file, older) // or it stays large
	}
}

func large(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Size() > historyBytes
}
