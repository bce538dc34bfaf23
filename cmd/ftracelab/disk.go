package main

import (
	"context"
	"fmt"
	"io"

	"ftracelab/machine"
	"ftracelab/tracefsfs/shell"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/workload"
)

// hasDisk reports whether the driver of the machine's disk is loaded.
func (l *lab) hasDisk() (has bool) {
	_ = l.ft.Do(func(m *machine.Machine) error { has = workload.HasDisk(m); return nil }) // returns no error
	return has
}

// blockDir is /sys/block: the disk, if there is one.
//
// Departure: the folder of a disk has few files, and is not a symbolic link.
func (l *lab) blockDir() *tracefile.Dir {
	fixed := func(name string, n ...any) tracefile.Node {
		return tracefile.Value(name, 0o444, func() string { return fmt.Sprintln(n...) }, nil)
	}
	var trace []tracefile.Node
	for _, f := range l.ft.BlockFiles(workload.DiskSectors) {
		trace = append(trace, f)
	}
	disk := folder(workload.DiskName,
		fixed("dev", fmt.Sprintf("%d:0", workload.DiskMajor)), fixed("ro", 0), fixed("size", workload.DiskSectors),
		folder("trace", trace...),
	)
	return &tracefile.Dir{Name: "block", Mode: 0o755, Children: func() []tracefile.Node {
		if !l.hasDisk() {
			return nil
		}
		return []tracefile.Node{disk}
	}}
}

// diskNode is /dev/vda: a process of the machine reads and writes it.
func (l *lab) diskNode() *tracefile.File {
	return &tracefile.File{Name: workload.DiskName, Mode: 0o660, Open: func(ctx context.Context, _ tracefile.Flags) (tracefile.Handle, error) {
		f, err := workload.OpenDisk(l.ft, shell.Program(ctx))
		if err != nil {
			return nil, err
		}
		return diskHandle{f}, nil
	}}
}

// diskHandle is an open disk. Reads give zeros.
type diskHandle struct{ f *workload.DiskFile }

func (h diskHandle) Read(_ context.Context, p []byte) (int, error) {
	n, err := h.f.Read(len(p))
	if err == nil && n == 0 && len(p) > 0 {
		err = io.EOF
	}
	clear(p[:n])
	return n, err
}

func (h diskHandle) Write(_ context.Context, p []byte) (int, error) { return h.f.Write(len(p)) }
func (h diskHandle) Flush() error                                   { return nil }
func (h diskHandle) Poll() tracefile.Events                         { return tracefile.PollAlways }
func (h diskHandle) Close() error                                   { return h.f.Close() }

func folder(name string, nodes ...tracefile.Node) *tracefile.Dir {
	return &tracefile.Dir{Name: name, Mode: 0o755, Children: func() []tracefile.Node { return nodes }}
}
