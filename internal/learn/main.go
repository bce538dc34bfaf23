// Command learn makes the embedded data of workload and machine from
// captures of a real kernel and its code: the symbol table and the model of its call
// trees.
//
//	go run ./internal/learn -oracle DIR -subsystems DIR -kernel DIR -kallsyms FILE -o FILE
//
// With -trails it makes the trails of recorded stacks.
//
//	go run ./internal/learn -oracle DIR -subsystems DIR -trails FILE
//
// With -users it makes the processes that have the user stacks of a capture.
//
//	go run ./internal/learn -oracle DIR -subsystems DIR -users FILE
//
// With -calls it makes the places of calls for code of the kernel that is written by hand.
//
//	go run ./internal/learn -kernel DIR -calls FILE
//
// With -place it finds anew where the functions of learned activities call each other.
//
//	go run ./internal/learn -oracle DIR -kernel DIR -place FILE
//
// With -check it compares the traces of the machine that these make with the captures,
// and prints what is only in the machine's.
//
//	go run ./internal/learn -oracle DIR -subsystems DIR -check
//
// With -stacks it compares the kernel stacks of that machine's traces with those of the
// captures, and writes the table to docs/calibration.md.
//
//	go run ./internal/learn -oracle DIR -subsystems DIR -stacks docs/calibration.md
//
// With -stays it counts the functions and the events of their stays in the kernel, and writes
// the tables to docs/calibration.md.
//
//	go run ./internal/learn -oracle DIR -stays docs/calibration.md
package main

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ftracelab/machine"
)

func main() {
	kernel := flag.String("kernel", os.Getenv("FTRACELAB_KERNEL"), "folder into which the kernel's package was unpacked")
	dir := flag.String("oracle", os.Getenv("FTRACELAB_ORACLE"), "folder of the captures")
	symsOut := flag.String("kallsyms", "", "write the symbol table to this file")
	modelOut := flag.String("o", "", "write the model to this file")
	subsystems := flag.String("subsystems", os.Getenv("FTRACELAB_SUBSYSTEMS"), "folder of the captures of subsystems")
	captured := flag.String("captures", os.Getenv("FTRACELAB_ACTIVITIES"), "folder of the captures of activities")
	activitiesOut := flag.String("activities", "", "write the activities to this file")
	formatsOut := flag.String("formats", "", "with -activities: write the format files of ext4 and jbd2 to this file")
	only := flag.Bool("check", false, "compare the machine's traces with the captures, and write nothing")
	about := flag.String("about", "", "with -check: print what is known of this function")
	table := flag.String("stacks", "", "measure the stacks of the captures and of the machine, and write the table to this file")
	stays := flag.String("stays", "", "count what happens in the stays of captures and of the machine, and write the tables to this file")
	trails := flag.String("trails", "", "write the trails to this file")
	sites := flag.String("calls", "", "write where functions that the sources beside this file name call each other")
	again := flag.String("place", "", "find the places of the calls in this file of activities anew")
	users := flag.String("users", "", "write the processes with user stacks to this file")
	flag.Parse()
	if *sites != "" {
		if err := learnCallSites(*kernel, filepath.Join(filepath.Dir(*sites), ".."), *sites); err != nil {
			fmt.Fprintf(os.Stderr, "learn: %v\n", err)
			os.Exit(1)
		}
		return
	}
	if *again != "" {
		if err := placeAgain(oracle(filepath.Join(*dir, "debian")), *kernel, *again); err != nil {
			fmt.Fprintf(os.Stderr, "learn: %v\n", err)
			os.Exit(1)
		}
		return
	}
	if *users != "" {
		if err := learnUsers(*dir, *subsystems, *users); err != nil {
			fmt.Fprintf(os.Stderr, "learn: %v\n", err)
			os.Exit(1)
		}
		return
	}
	if *trails != "" {
		if err := learnTrails(*dir, *subsystems, *trails); err != nil {
			fmt.Fprintf(os.Stderr, "learn: %v\n", err)
			os.Exit(1)
		}
		return
	}
	if *table != "" {
		if err := updateTable(*table, *dir, *subsystems); err != nil {
			fmt.Fprintf(os.Stderr, "learn: %v\n", err)
			os.Exit(1)
		}
		return
	}
	if *stays != "" {
		if err := updateWhole(*stays, *dir); err != nil {
			fmt.Fprintf(os.Stderr, "learn: %v\n", err)
			os.Exit(1)
		}
		return
	}
	if *only {
		if err := check(os.Stdout, *dir, *subsystems, *kernel, *about); err != nil {
			fmt.Fprintf(os.Stderr, "learn: %v\n", err)
			os.Exit(1)
		}
		return
	}
	if *activitiesOut != "" {
		if *captured == "" {
			fmt.Fprintln(os.Stderr, "learn: FTRACELAB_ACTIVITIES is not set, the activities stay as they are")
			return
		}
		if err := learnActivities(oracle(filepath.Join(*dir, "debian")), oracle(*captured), *kernel, *activitiesOut, *formatsOut); err != nil {
			fmt.Fprintf(os.Stderr, "learn: %v\n", err)
			os.Exit(1)
		}
		return
	}
	if err := run(oracle(filepath.Join(*dir, "debian")), oracle(filepath.Join(*dir, "full")), *subsystems, *kernel, *symsOut, *modelOut); err != nil {
		fmt.Fprintf(os.Stderr, "learn: %v\n", err)
		os.Exit(1)
	}
}

func run(o, full oracle, subsystems, kernel, symsOut, modelOut string) error {
	syms, err := readSymbols(o)
	if err != nil {
		return err
	}
	if symsOut != "" {
		if err := os.WriteFile(symsOut, machine.EncodeKallsyms(syms), 0o644); err != nil {
			return err
		}
	}
	if modelOut == "" {
		return nil
	}
	return learn(o, full, subsystems, kernel, modelOut)
}

// oracle is the folder with the captures of one kernel.
type oracle string

// bytes reads a file, and unpacks it if its name says that it is packed.
func (o oracle) bytes(name string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(string(o), name))
	if err != nil || !strings.HasSuffix(name, ".gz") {
		return b, err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	b, err = io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

func (o oracle) text(name string) (string, error) {
	b, err := o.bytes(name)
	return string(b), err
}

// writeGzip packs b without a time and writes it, so that the same input gives the same
// file.
func writeGzip(name string, b []byte) error {
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(b); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(name, buf.Bytes(), 0o644)
}
