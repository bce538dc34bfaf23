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

// historyBytes is as much as is kept of the history when a session begins.
const historyBytes = 1 << 18

// keptLines gives the lines in a file of history, the oldest first, and a function that
// appends one. A file that cannot be read or written is no error: nothing is kept then.
func keptLines(file string) (lines []string, keep func(string)) {
	if file == "" {
		return nil, nil
	}
	if f, err := openRegular(file); err == nil {
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil, nil
		}
		start := max(info.Size()-historyBytes, 0)
		text := make([]byte, info.Size()-start)
		n, _ := f.ReadAt(text, start) // what can be read is the history
		text = text[:n]
		if start > 0 {
			_, text, _ = bytes.Cut(text, []byte("\n")) // a part of a line
			_ = os.WriteFile(file, text, 0o600)        // or it stays large
		}
		lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
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
