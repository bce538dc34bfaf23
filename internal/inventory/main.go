// Command inventory writes docs/formats.md and docs/tree.md. They show which events and
// files of a real kernel are here, compared with the listings of the oracle that
// FTRACELAB_ORACLE names. Without the oracle, the documents stay as they are.
//
//	go generate ./internal/departures
package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"ftracelab/tracer"
	"ftracelab/tracer/event/events"
)

// kernels are the two kernels of the oracle, and how ours is built for the comparison
// with each.
var kernels = []struct {
	name, what string
	events     events.Kernel
	build      tracer.Config
}{
	{"debian", "Debian's 6.12.117", events.Kernel{}, tracer.Config{NoStackmap: true, NoExt4: true}},
	{
		"full", "the same with everything switched on",
		events.Kernel{Full: true, Retval: true},
		tracer.Config{NoStackmap: true, NoExt4: true, FunctionProfiler: true, FunctionGraphRetval: true},
	},
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: inventory DOCS")
	}
	oracle := os.Getenv("FTRACELAB_ORACLE")
	if oracle == "" {
		log.Print("inventory: FTRACELAB_ORACLE is not set, formats.md and tree.md stay as they are")
		return
	}
	for _, doc := range []struct {
		name string
		make func(oracle string) ([]byte, error)
	}{{"formats.md", formats}, {"tree.md", trees}} {
		text, err := doc.make(oracle)
		if err != nil {
			log.Fatalf("inventory: %s: %v", doc.name, err)
		}
		if err := os.WriteFile(filepath.Join(os.Args[1], doc.name), text, 0o666); err != nil {
			log.Fatal(err)
		}
	}
}

// read gives the unpacked content of a static file of a kernel.
func read(oracle, kernel, name string) (text []byte, err error) {
	path := filepath.Join(oracle, kernel, "static", name)
	if text, err = os.ReadFile(path); err == nil {
		return text, nil
	}
	f, err := os.Open(path + ".gz")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return io.ReadAll(z)
}
