// Package blk is the tracer blk, which records what happens to the requests of a block
// device.
//
// Departure: the machine has one device, without partitions. Its trace can be switched
// on only with the files in its folder trace: there is no BLKTRACESETUP, so there are
// no relay files and no file msg. There are no notices (TC_NOTIFY) either, because only
// msg and I/O schedulers write them while the tracer blk is current. The functions that
// make a record are missing in its stack.
//
// Kernel: kernel/trace/blktrace.c.
package blk

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"syscall"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/option"
	"ftracelab/tracer/plugin"
)

// Blk is the tracer and the device that it traces.
type Blk struct {
	ft      plugin.Ftrace
	trace   trace
	scratch []byte
	data    [1]uint64 // the data after a record
}

// trace says what is recorded of the device. It exists while the device is traced.
//
// Kernel: struct blk_trace, include/linux/blktrace_api.h.
type trace struct {
	rec        events.BlkRecord // the record that is written; kept here so that nothing is allocated
	on         bool
	mask       uint16 // act_mask
	start, end uint64 // start_lba and end_lba
	pid        uint32 // 0: all tasks
}

// New makes the tracer.
func New(ft plugin.Ftrace) *Blk { return &Blk{ft: ft} }

// Tracer gives the row of the tracer blk.
func (b *Blk) Tracer() plugin.Tracer {
	return plugin.Tracer{
		Name: "blk", Trace: b.traced, DiskFiles: b.Files,
		// The driver is unloaded, so the trace of the device ends (blk_trace_shutdown).
		ModuleGoes: func(mod *machine.Module) {
			if mod.Block {
				b.trace = trace{}
			}
		},
		Points: []string{
			"block:block_bio_queue", "block:block_bio_backmerge", "block:block_getrq", "block:block_plug",
			"block:block_unplug", "block:block_rq_issue", "block:block_rq_complete",
		},
	}
}

// Actions and their categories, which begin at bit 16.
//
// Kernel: enum blktrace_cat and enum blktrace_act, include/uapi/linux/blktrace_api.h.
const (
	actQueue     = 1 | tcQueue<<tcShift
	actBackmerge = 2 | tcQueue<<tcShift
	actGetrq     = 4 | tcQueue<<tcShift
	actIssue     = 7 | tcIssue<<tcShift
	actComplete  = 8 | tcComplete<<tcShift
	actPlug      = 9 | tcQueue<<tcShift
	actUnplugIO  = 10 | tcQueue<<tcShift
	actCgroup    = 1 << 8 // the record has the id of a cgroup

	tcShift    = 16
	tcRead     = 1 << 0
	tcWrite    = 1 << 1
	tcFlush    = 1 << 2
	tcSync     = 1 << 3
	tcQueue    = 1 << 4
	tcIssue    = 1 << 6
	tcComplete = 1 << 7
	tcFS       = 1 << 8
	tcAhead    = 1 << 11
	tcMeta     = 1 << 12
	tcFUA      = 1 << 15
)

// categories are the names that act_mask has for the categories, the lowest bit first.
// Every bit has a name.
//
// Kernel: mask_maps.
var categories = [16]string{
	"read", "write", "flush", "sync", "queue", "requeue", "issue", "complete",
	"fs", "pc", "notify", "ahead", "meta", "discard", "drv_data", "fua",
}

// traced records what happens to the requests of the device.
//
// Kernel: blk_add_trace_bio, blk_add_trace_rq, blk_add_trace_plug and
// blk_add_trace_unplug.
func (b *Blk) traced(tr plugin.Trace, c *machine.CPU, tp machine.Tracepoint) {
	p, ok := tp.(*machine.Block)
	if !ok || !b.trace.on {
		return
	}
	r := p.Request
	rec := &b.trace.rec
	*rec = events.BlkRecord{Sector: p.Sector, Bytes: p.Bytes, Device: r.Dev}
	op := r.Op
	switch p.ID {
	case machine.EvBlockBioQueue:
		rec.Action = actQueue
	case machine.EvBlockBackmerge:
		rec.Action = actBackmerge
	case machine.EvBlockGetrq:
		rec.Action = actGetrq
	case machine.EvBlockRqIssue:
		rec.Action = actIssue | tcFS<<tcShift
	case machine.EvBlockRqComplete:
		rec.Action = actComplete | tcFS<<tcShift
	case machine.EvBlockPlug:
		op, rec.Action, rec.Sector, rec.Bytes = 0, actPlug, 0, 0
	case machine.EvBlockUnplug:
		op, rec.Action, rec.Sector, rec.Bytes = 0, actUnplugIO, 0, 0
		b.data[0] = bits.ReverseBytes64(uint64(p.Depth)) // big-endian
		rec.PDU = b.data[:]
	default:
		return
	}
	b.add(tr, c, rec, op, p.ID)
}

// rootCgroup is the id of the cgroup in which all tasks of the machine are.
const rootCgroup = 1

// add records an action if the filters of the device let it through.
//
// Departure: the field time is 0. The kernel does not set it, so that it has what was
// in the page before.
//
// Kernel: __blk_add_trace and act_log_check.
func (b *Blk) add(tr plugin.Trace, c *machine.CPU, rec *events.BlkRecord, op uint32, e machine.Event) {
	bt := &b.trace
	category := uint32(tcRead)
	if op&machine.ReqOp == machine.ReqWrite {
		category = tcWrite
	}
	for _, f := range []struct{ flag, bit uint32 }{
		{machine.ReqSync, tcSync},
		{machine.ReqReadahead, tcAhead},
		{machine.ReqMeta, tcMeta},
		{machine.ReqPreflush, tcFlush},
		{machine.ReqFUA, tcFUA},
	} {
		if op&f.flag != 0 {
			category |= f.bit
		}
	}
	rec.Action |= category << tcShift
	if tr.Has(option.BlkCgroup) && e != machine.EvBlockPlug && e != machine.EvBlockUnplug {
		rec.Action |= actCgroup
		b.data[0] = rootCgroup
		rec.PDU = b.data[:]
	}
	rec.PID, rec.CPU, rec.PDULen = uint32(c.Current.PID), uint32(c.ID), uint16(8*len(rec.PDU))
	switch {
	case uint32(bt.mask)<<tcShift&rec.Action == 0:
		return
	case rec.Sector != 0 && (rec.Sector < bt.start || rec.Sector > bt.end):
		return
	case bt.pid != 0 && rec.PID != bt.pid:
		return
	}
	h := b.ft.Common(c).Unpreemptible() // the tracepoint disables preemption around it
	h.Flags |= event.FlagIRQsOff        // the tracer asks for this flag
	b.scratch = events.Blk.Append(b.scratch[:0], h, rec)
	_ = tr.Record(c, events.Blk.Type, h, b.scratch) // the buffer counts what it refuses
}

// Files gives the files of the folder trace, in the sysfs folder of a block device with
// that many sectors.
//
// Kernel: blk_trace_attrs and sysfs_blk_trace_attr_show and _store.
func (b *Blk) Files(sectors uint64) []*tracefile.File {
	bt := &b.trace
	setup := func() { *bt = trace{on: true, mask: 1<<16 - 1, end: sectors} }
	file := func(name string, show func() string, parse func(string) (uint64, error), store func(uint64)) *tracefile.File {
		return b.ft.Value(name, 0o644, show, func(s string) error {
			n, err := parse(tracefile.CString(s))
			if err != nil {
				return fmt.Errorf("%s: %q: %w", name, s, syscall.EINVAL)
			}
			store(n)
			return nil
		}).(*tracefile.File)
	}
	number := func(s string) (uint64, error) { return tracefile.ParseUlong(s, 0) }
	attr := func(name string, show func() string, parse func(string) (uint64, error), store func(uint64)) *tracefile.File {
		shown := func() string {
			if !bt.on {
				return "disabled\n"
			}
			return show() + "\n"
		}
		return file(name, shown, parse, func(n uint64) {
			if !bt.on {
				setup()
			}
			store(n)
		})
	}
	enabled := func() string {
		if bt.on {
			return "1\n"
		}
		return "0\n"
	}
	enable := func(n uint64) {
		switch {
		case n != 0 == bt.on:
		case bt.on:
			*bt = trace{}
		default:
			setup()
		}
	}
	return []*tracefile.File{
		file("enable", enabled, number, enable),
		attr("act_mask", bt.showMask, parseMask, func(n uint64) { bt.mask = uint16(n) }),
		attr("pid", func() string { return strconv.FormatUint(uint64(bt.pid), 10) }, number, func(n uint64) { bt.pid = uint32(n) }),
		attr("start_lba", func() string { return strconv.FormatUint(bt.start, 10) }, number, func(n uint64) { bt.start = n }),
		attr("end_lba", func() string { return strconv.FormatUint(bt.end, 10) }, number, func(n uint64) { bt.end = n }),
	}
}

// Kernel: blk_trace_mask2str.
func (bt *trace) showMask() string {
	var names []string
	for bit, name := range categories {
		if bt.mask>>bit&1 != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// parseMask reads a number, or names of categories with commas between them. Upper and
// lower case mean the same.
//
// Kernel: blk_trace_str2mask.
func parseMask(s string) (mask uint64, err error) {
	if n, err := tracefile.ParseUlong(s, 0); err == nil {
		return n, nil
	}
	for word := range strings.SplitSeq(tracefile.Stripped(s), ",") {
		if word == "" {
			continue
		}
		bit := maskOf(word)
		if bit == 0 {
			return 0, fmt.Errorf("act_mask: no category %q: %w", word, syscall.EINVAL)
		}
		mask |= bit
	}
	return mask, nil
}

func maskOf(name string) uint64 {
	for bit, known := range categories {
		if strings.EqualFold(name, known) {
			return 1 << bit
		}
	}
	return 0
}
