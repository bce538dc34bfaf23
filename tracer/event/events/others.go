package events

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"sync"

	"ftracelab/tracer/event"
)

// othersText are the format files of Debian's events that are not declared as Go
// structs: those of drivers, file systems, the network and other subsystems that the
// simulated machine does not have. They can be listed, enabled and filtered, and
// pages that hold them can be read; nothing here writes one.
//
// Departure: the system initcall is missing. Its ids are those that the stack_id of a
// patched kernel and the records of deferred unwinding have.
//
// UPDATE_FORMATS=1 go test ./tracer/event/events makes the file.
//
//go:embed others.txt.gz
var othersText []byte

// otherTypes are the events of othersText, but for those that are declared by now.
var otherTypes = sync.OnceValue(func() []*event.Type {
	types, err := parseOthers()
	if err != nil {
		panic(fmt.Sprintf("events: invariant: others.txt.gz: %v", err))
	}
	return types
})

func parseOthers() ([]*event.Type, error) {
	text, err := unpackOthers()
	if err != nil {
		return nil, err
	}
	files, err := event.SplitFormats(text)
	if err != nil {
		return nil, err
	}
	declared, err := event.NewTable(Declared()...)
	if err != nil {
		return nil, err
	}
	types := make([]*event.Type, 0, len(files))
	for _, f := range files {
		if declared.ByName(f.System, f.Name) != nil {
			continue
		}
		t, err := event.ParseFormat(f.System, f.Text)
		if err != nil {
			return nil, err
		}
		types = append(types, t)
	}
	return types, nil
}

func unpackOthers() ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(othersText))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
