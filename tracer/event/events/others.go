package events

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"ftracelab/tracer/event"
)

//go:generate go run ftracelab/internal/facts formats .

// othersText are the format files of Debian's events that are not declared as Go
// structs: those of drivers, file systems, the network and other subsystems that the
// simulated machine does not have. They can be listed, enabled and filtered, and
// pages that hold them can be read; nothing here writes one.
//
//go:embed others.txt.gz
var othersText []byte

// fullText are the format files of events that Debian's kernel does not have, from a
// kernel built with everything. Their ids begin with FullID.
//
//go:embed full.txt.gz
var fullText []byte

// ext4Text are the format files of the events of the modules ext4 and jbd2, as they were
// in another boot of Debian's kernel. Their ids are ours.
//
//go:embed ext4.txt.gz
var ext4Text []byte

// movedID is the id of initcall:initcall_finish in a kernel with the stack map, in
// which stack_id has its usual one.
const movedID = 1529

// otherTypes are the events of othersText that are still not declared as Go structs.
// initcall_finish is there twice, with both of its ids.
var otherTypes = sync.OnceValue(func() []*event.Type {
	types, err := parseOthers(othersText)
	if err != nil {
		panic(fmt.Sprintf("events: invariant: others.txt.gz: %v", err))
	}
	return types
})

// fullTypes are the events of fullText.
var fullTypes = sync.OnceValue(func() []*event.Type {
	types, err := parseOthers(fullText)
	if err != nil {
		panic(fmt.Sprintf("events: invariant: full.txt.gz: %v", err))
	}
	return types
})

// ext4Types are the events of ext4Text.
var ext4Types = sync.OnceValue(func() []*event.Type {
	types, err := parseOthers(ext4Text)
	if err != nil {
		panic(fmt.Sprintf("events: invariant: ext4.txt.gz: %v", err))
	}
	return types
})

// formatHead is what the line in front of a format file begins with; SYSTEM/NAME follows.
const formatHead = "==== events/"

// declaredNames are those of the events that are declared as Go structs, as SYSTEM/NAME.
var declaredNames = sync.OnceValue(func() map[string]bool {
	declared := Declared()
	names := make(map[string]bool, len(declared))
	for _, t := range declared {
		names[t.String()] = true
	}
	return names
})

func parseOthers(packed []byte) ([]*event.Type, error) {
	text, err := unpack(packed)
	if err != nil {
		return nil, err
	}
	declared := declaredNames()
	types := make([]*event.Type, 0, strings.Count(text, formatHead)+1)
	for file := range strings.SplitSeq(strings.TrimPrefix(text, formatHead), "\n"+formatHead) {
		head, format, _ := strings.Cut(file, "\n")
		if declared[head] {
			continue
		}
		system, _, _ := strings.Cut(head, "/")
		t, err := event.ParseFormatText(system, format)
		if err != nil {
			return nil, err
		}
		types = append(types, t)
		if t.ID == StackID.ID {
			moved, err := event.ParseFormatText(system, withID(format, movedID))
			if err != nil {
				return nil, err
			}
			types = append(types, moved)
		}
	}
	return types, nil
}

// withID gives a format file with another id.
func withID(format string, id int) string {
	before, rest, _ := strings.Cut(format, "\nID: ")
	_, after, _ := strings.Cut(rest, "\n")
	return before + "\nID: " + strconv.Itoa(id) + "\n" + after
}

// unpack gives the text of a gzip file, whose last four bytes are its size.
func unpack(packed []byte) (string, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", err
	}
	var text strings.Builder
	text.Grow(int(binary.LittleEndian.Uint32(packed[len(packed)-4:])))
	_, err = io.Copy(&text, z)
	return text.String(), err
}
