// Command facts makes embedded data from the files of a real kernel, either word for
// word or a part of them. docs/provenance.md lists the data and its sources.
//
//	go run ./internal/facts formats DIR    others.txt.gz, full.txt.gz
//	go run ./internal/facts strings DIR    tracepointstrings.txt
//	go run ./internal/facts types DIR      functions.txt, types.txt
//	go run ./internal/facts enums DIR      enums.txt
//	go run ./internal/facts charts DIR     echarts.min.js.gz
//
// DIR is where the files are written; go generate runs each of these commands. The
// environment names the sources: FTRACELAB_ORACLE is the folder with the captures of
// real kernels, FTRACELAB_KERNEL is the folder into which Debian's package of the
// kernel, linux-image-6.12.117+deb12-amd64-unsigned, was unpacked (dpkg-deb -x), and
// FTRACELAB_ECHARTS is the package echarts-6.1.0.tgz (npm pack echarts@6.1.0).
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// datum is a subcommand, which makes files from a source that the environment names.
type datum struct {
	env  string
	make func(from string) (map[string][]byte, error)
}

var data = map[string]datum{
	"formats": {"FTRACELAB_ORACLE", eventFormats},
	"strings": {"FTRACELAB_ORACLE", tracepointStrings},
	"types":   {"FTRACELAB_KERNEL", kernelTypes},
	"enums":   {"FTRACELAB_KERNEL", kernelEnums},
	"charts":  {"FTRACELAB_ECHARTS", charts},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "facts:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: facts formats|strings|types|enums|charts DIR")
	}
	d, ok := data[args[0]]
	if !ok {
		return fmt.Errorf("there is no %q, only %v", args[0], sortedKeys(data))
	}
	from := os.Getenv(d.env)
	if from == "" {
		return fmt.Errorf("%s is not set: %s is made of what it names", d.env, args[0])
	}
	files, err := d.make(from)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	for name, content := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(args[1], name), content, 0o644))
	}
	return err
}

// tracepointStrings gives printk_formats of a kernel in which no module calls
// trace_printk.
func tracepointStrings(oracle string) (map[string][]byte, error) {
	text, err := os.ReadFile(filepath.Join(oracle, "debian", "static", "files", "printk_formats"))
	return map[string][]byte{"tracepointstrings.txt": text}, err
}
