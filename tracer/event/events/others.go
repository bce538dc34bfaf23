package events

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/klauspost/compress/gzip"

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

func parseOthers(packed []byte) ([]*event.Type, error) {
	text, err := unpack(packed)
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
	types := make([]*event.Type, 0, len(files)+1)
	for _, f := range files {
		if declared.ByName(f.System, f.Name) != nil {
			continue
		}
		t, err := event.ParseFormat(f.System, f.Text)
		if err != nil {
			return nil, err
		}
		types = append(types, t)
		if t.ID == StackID.ID {
			moved, err := event.ParseFormat(f.System, withID(f.Text, movedID))
			if err != nil {
				return nil, err
			}
			types = append(types, moved)
		}
	}
	return types, nil
}

// withID gives a format file with another id.
func withID(format []byte, id int) []byte {
	before, rest, _ := bytes.Cut(format, []byte("\nID: "))
	_, after, _ := bytes.Cut(rest, []byte("\n"))
	return bytes.Join([][]byte{before, []byte(strconv.Itoa(id) + "\n" + string(after))}, []byte("\nID: "))
}

func unpack(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	text.Grow(16 * len(packed)) // such texts become that much smaller
	_, err = io.Copy(&text, z)
	return text.Bytes(), err
}
