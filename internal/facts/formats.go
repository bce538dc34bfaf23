package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// eventFormats makes others.txt.gz and full.txt.gz. The first has the format files of
// Debian's events that are not declared in Go. The second has those of events that only
// the kernel with everything switched on has; these get ids from events.FullID on.
func eventFormats(oracle string) (map[string][]byte, error) {
	debian, err := formatFiles(oracle, "debian")
	if err != nil {
		return nil, err
	}
	full, err := formatFiles(oracle, "full")
	if err != nil {
		return nil, err
	}
	declared, err := event.NewTable(events.Declared()...)
	if err != nil {
		return nil, err
	}
	next := events.FullID
	have := map[string]bool{}
	var others, only bytes.Buffer
	for _, f := range debian {
		have[f.System+"/"+f.Name] = true
		if declared.ByName(f.System, f.Name) == nil {
			writeFormat(&others, f, f.Text)
		}
	}
	for _, f := range full {
		if declared.ByName(f.System, f.Name) == nil && !have[f.System+"/"+f.Name] {
			writeFormat(&only, f, idLine.ReplaceAll(f.Text, fmt.Appendf(nil, "ID: %d", next)))
			next++
		}
	}
	files := map[string][]byte{}
	for name, text := range map[string]*bytes.Buffer{"others.txt.gz": &others, "full.txt.gz": &only} {
		if files[name], err = packed(text.Bytes()); err != nil {
			return nil, err
		}
	}
	return files, nil
}

var idLine = regexp.MustCompile(`(?m)^ID: \d+$`)

func writeFormat(b *bytes.Buffer, f event.FormatFile, text []byte) {
	fmt.Fprintf(b, "==== events/%s/%s\n%s\n", f.System, f.Name, bytes.TrimRight(text, "\n"))
}

// formatFiles gives all format files of a kernel of the oracle.
func formatFiles(oracle, kernel string) ([]event.FormatFile, error) {
	path := filepath.Join(oracle, kernel, "static", "formats_all.txt.gz")
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	files, err := event.SplitFormats(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return files, nil
}

// packed packs a text without a time, so that the same text gives the same bytes.
func packed(text []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
