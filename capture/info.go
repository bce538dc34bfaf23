package capture

import (
	"errors"
	"fmt"
	"strconv"

	"ftracelab/tracer/record"
)

// Info tells what is known about a capture.
type Info struct {
	Path, Format string

	Events, KernelStacks, UserStacks uint64 // how many records of each kind were delivered
	Losses, Lost                     uint64 // how many gaps there were, and how many events are known to be missing in them
	First, Last                      uint64 // earliest and latest time, in nanoseconds unless a caveat says otherwise
	Timed                            bool   // the capture has times
	Ticks                            string // the clock, if it is known to count something other than nanoseconds
	CPUs                             int    // highest CPU number seen + 1

	// InBuffer and Written are the numbers in the header of a trace file: how many
	// entries the buffer held, and how many were ever written to it.
	InBuffer, Written uint64

	// SubbufSize and Stats are set for a folder: the size of its pages in bytes, and an
	// entry for each stats.cpuN file.
	SubbufSize int
	Stats      []CPUStats

	// How much KeepGoing skipped.
	SkippedEvents, SkippedBytes, SkippedPages uint64
	FirstSkipped                              error

	// Nameless is set with KeepGoing: it says why addresses of the kernel have no names
	// although there is a kallsyms.
	Nameless error
}

// Skipped tells what KeepGoing left out; nil if nothing was.
func (info Info) Skipped() error {
	var errs []error
	if info.FirstSkipped != nil {
		errs = append(errs, fmt.Errorf("%s: %s", info.Path, info.skipped()))
	}
	if info.Nameless != nil {
		errs = append(errs, fmt.Errorf("the kernel's addresses stay without names: %w", info.Nameless))
	}
	return errors.Join(errs...)
}

// NothingLeft is an error if KeepGoing skipped everything that the capture holds. It is
// nil if anything could be read, and if the capture is empty.
func (info Info) NothingLeft() error {
	if info.FirstSkipped == nil || info.Entries() > 0 {
		return nil
	}
	return fmt.Errorf("%s: nothing could be read: %s", info.Path, info.skipped())
}

func (info Info) skipped() string {
	return fmt.Sprintf("damaged parts were skipped: %d events or lines, %d bytes and the rest of %d pages; the first: %v",
		info.SkippedEvents, info.SkippedBytes, info.SkippedPages, info.FirstSkipped)
}

// CPUStats are the numbers of a stats.cpuN file.
type CPUStats struct {
	CPU                                    int
	Entries, Overrun, CommitOverrun, Bytes uint64
	OldestTS, NowTS                        string // as printed
	DroppedEvents, ReadEvents              uint64
}

// Entries is the number of records delivered. Like the kernel, it counts a stack as an
// entry of its own.
func (info Info) Entries() uint64 { return info.Events + info.KernelStacks + info.UserStacks }

func (info *Info) count(r *record.Record) {
	switch r.Kind {
	case record.Event:
		info.Events++
	case record.KernelStack:
		info.KernelStacks++
	case record.UserStack:
		info.UserStacks++
	case record.Lost:
		info.Losses++
		if r.Count != record.LostUnknown {
			info.Lost += r.Count
		}
		return
	}
	if info.Entries() == 1 || r.Time < info.First {
		info.First = r.Time
	}
	info.Last = max(info.Last, r.Time)
	info.CPUs = max(info.CPUs, r.CPU+1)
}

// skip counts what KeepGoing passes over.
func (info *Info) skip(err error, events, bytes, pages uint64) {
	if info.FirstSkipped == nil {
		info.FirstSkipped = err
	}
	info.SkippedEvents += events
	info.SkippedBytes += bytes
	info.SkippedPages += pages
}

func (info *Info) caveats() []string {
	var out []string
	if info.FirstSkipped != nil {
		out = append(out, info.skipped())
	}
	if info.InBuffer != 0 && info.InBuffer != info.Entries() {
		out = append(out, fmt.Sprintf("the header counts %d entries in the buffer, the text has %d: if it was cut, its last stack may be, too",
			info.InBuffer, info.Entries()))
	}
	if info.Written > info.InBuffer {
		out = append(out, fmt.Sprintf("the buffer had overwritten %d entries when the text was taken", info.Written-info.InBuffer))
	}
	return out
}

func hex(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }
