package capture

import (
	"errors"
	"fmt"
	"strconv"

	"ftracelab/tracer/record"
)

// Info is what is known about a capture.
type Info struct {
	Path, Format string

	Events, KernelStacks, UserStacks uint64 // records delivered
	Losses, Lost                     uint64 // gaps, and the events known to be missing in them
	First, Last                      uint64 // earliest and latest time, nanoseconds unless a caveat says otherwise
	Timed                            bool   // the capture has times
	CPUs                             int    // highest CPU number seen + 1

	// InBuffer and Written are what the header of a trace file says of the buffer
	// the text comes from; the records delivered are what is left of InBuffer.
	InBuffer, Written uint64

	// SubbufSize and Stats are those of a folder; Stats has an entry for each CPU
	// that has a stats.cpuN file.
	SubbufSize int
	Stats      []CPUStats

	// What KeepGoing skipped.
	SkippedEvents, SkippedBytes, SkippedPages uint64
	FirstSkipped                              error

	// Nameless is, with KeepGoing, why addresses of the kernel have no names although
	// there is a kallsyms.
	Nameless error
}

// Skipped tells what KeepGoing left out; nil: nothing.
func (i Info) Skipped() error {
	var errs []error
	if i.FirstSkipped != nil {
		errs = append(errs, fmt.Errorf("%s: %s", i.Path, i.skipped()))
	}
	if i.Nameless != nil {
		errs = append(errs, fmt.Errorf("the kernel's addresses stay without names: %w", i.Nameless))
	}
	return errors.Join(errs...)
}

// NothingLeft is the error of a capture of which KeepGoing has skipped all; nil: there
// was something to read, or nothing at all.
func (i Info) NothingLeft() error {
	if i.FirstSkipped == nil || i.Entries() > 0 {
		return nil
	}
	return fmt.Errorf("%s: nothing could be read: %s", i.Path, i.skipped())
}

func (i Info) skipped() string {
	return fmt.Sprintf("damaged parts were skipped: %d events or lines, %d bytes and the rest of %d pages; the first: %v",
		i.SkippedEvents, i.SkippedBytes, i.SkippedPages, i.FirstSkipped)
}

// CPUStats are the numbers of a stats.cpuN file.
type CPUStats struct {
	CPU                                    int
	Entries, Overrun, CommitOverrun, Bytes uint64
	OldestTS, NowTS                        string // as printed
	DroppedEvents, ReadEvents              uint64
}

// Entries is the number of records delivered, as the kernel counts entries.
func (i Info) Entries() uint64 { return i.Events + i.KernelStacks + i.UserStacks }

func (i *Info) count(r *record.Record) {
	switch r.Kind {
	case record.Event:
		i.Events++
	case record.KernelStack:
		i.KernelStacks++
	case record.UserStack:
		i.UserStacks++
	case record.Lost:
		i.Losses++
		if r.Count != record.LostUnknown {
			i.Lost += r.Count
		}
		return
	}
	if i.Entries() == 1 || r.Time < i.First {
		i.First = r.Time
	}
	i.Last = max(i.Last, r.Time)
	i.CPUs = max(i.CPUs, r.CPU+1)
}

// skip counts what KeepGoing passes over.
func (i *Info) skip(err error, events, bytes, pages uint64) {
	if i.FirstSkipped == nil {
		i.FirstSkipped = err
	}
	i.SkippedEvents += events
	i.SkippedBytes += bytes
	i.SkippedPages += pages
}

func (i *Info) caveats() []string {
	var out []string
	if i.FirstSkipped != nil {
		out = append(out, i.skipped())
	}
	if i.InBuffer != 0 && i.InBuffer != i.Entries() {
		out = append(out, fmt.Sprintf("the header counts %d entries in the buffer, the text has %d: if it was cut, its last stack may be, too",
			i.InBuffer, i.Entries()))
	}
	if i.Written > i.InBuffer {
		out = append(out, fmt.Sprintf("the buffer had overwritten %d entries when the text was taken", i.Written-i.InBuffer))
	}
	return out
}

func hex(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }
