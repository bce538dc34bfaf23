package tracer

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/option"
	"ftracelab/workload/machine"
)

// blktrace is what is recorded of a block device while it is traced.
//
// Departure: the machine has one device, without partitions, and its trace can only
// be switched on by the files of its folder trace: there is no BLKTRACESETUP, and so
// no relay files, no file msg, and of the notices (TC_NOTIFY) none, as none but msg
// and I/O schedulers write some while the tracer blk is current. A record's stack
// lacks the functions that make it.
//
// Kernel: struct blk_trace, include/linux/blktrace_api.h; kernel/trace/blktrace.c.
type blktrace struct {
	rec        events.BlkRecord // the one that is written, so that none is allocated
	on         bool
	mask       uint16 // act_mask
	start, end uint64 // start_lba and end_lba
	pid        uint32 // 0: any
}

// blkTracer is the row of blk.
func blkTracer() Tracer {
	return Tracer{Name: "blk", trace: blkTrace, points: []string{
		"block:block_bio_queue", "block:block_bio_backmerge", "block:block_getrq", "block:block_plug",
		"block:block_unplug", "block:block_rq_issue", "block:block_rq_complete",
	}}
}

// Actions and their categories, which begin at bit 16.
//
// Kernel: enum blktrace_cat and enum blktrace_act, include/uapi/linux/blktrace_api.h.
const (
	blkQueue     = 1 | blkTCQueue<<blkTCShift
	blkBackmerge = 2 | blkTCQueue<<blkTCShift
	blkGetrq     = 4 | blkTCQueue<<blkTCShift
	blkIssue     = 7 | blkTCIssue<<blkTCShift
	blkComplete  = 8 | blkTCComplete<<blkTCShift
	blkPlug      = 9 | blkTCQueue<<blkTCShift
	blkUnplugIO  = 10 | blkTCQueue<<blkTCShift
	blkCgroup    = 1 << 8 // the record has a cgroup's id

	blkTCShift    = 16
	blkTCRead     = 1 << 0
	blkTCWrite    = 1 << 1
	blkTCFlush    = 1 << 2
	blkTCSync     = 1 << 3
	blkTCQueue    = 1 << 4
	blkTCIssue    = 1 << 6
	blkTCComplete = 1 << 7
	blkTCFS       = 1 << 8
	blkTCAhead    = 1 << 11
	blkTCMeta     = 1 << 12
	blkTCFUA      = 1 << 15
)

// blkMasks are the categories by their names in act_mask, the lowest bit first but for
// none that is missing.
//
// Kernel: mask_maps.
var blkMasks = [16]string{
	"read", "write", "flush", "sync", "queue", "requeue", "issue", "complete",
	"fs", "pc", "notify", "ahead", "meta", "discard", "drv_data", "fua",
}

// blkTrace records what happens to requests of a device that is traced.
//
// Kernel: blk_add_trace_bio, blk_add_trace_rq, blk_add_trace_plug and
// blk_add_trace_unplug.
func blkTrace(tr *Instance, c *machine.CPU, tp machine.Tracepoint) {
	b, ok := tp.(*machine.Block)
	if !ok || !tr.ft.blk.on {
		return
	}
	r := b.Request
	rec := &tr.ft.blk.rec
	*rec = events.BlkRecord{Sector: b.Sector, Bytes: b.Bytes, Device: r.Dev}
	op := r.Op
	switch b.ID {
	case machine.EvBlockBioQueue:
		rec.Action = blkQueue
	case machine.EvBlockBackmerge:
		rec.Action = blkBackmerge
	case machine.EvBlockGetrq:
		rec.Action = blkGetrq
	case machine.EvBlockRqIssue:
		rec.Action = blkIssue | blkTCFS<<blkTCShift
	case machine.EvBlockRqComplete:
		rec.Action = blkComplete | blkTCFS<<blkTCShift
	case machine.EvBlockPlug:
		op, rec.Action, rec.Sector, rec.Bytes = 0, blkPlug, 0, 0
	case machine.EvBlockUnplug:
		op, rec.Action, rec.Sector, rec.Bytes = 0, blkUnplugIO, 0, 0
		tr.blkData[0] = bits.ReverseBytes64(uint64(b.Depth)) // big-endian
		rec.PDU = tr.blkData[:]
	default:
		return
	}
	tr.blkAdd(c, rec, op, b.ID)
}

// rootCgroup is the id of the cgroup that all tasks of the machine are in.
const rootCgroup = 1

// blkAdd records an action if the filters of the device let it through.
//
// Departure: the field time, which the kernel leaves as it was in the page, is 0.
//
// Kernel: __blk_add_trace and act_log_check.
func (tr *Instance) blkAdd(c *machine.CPU, rec *events.BlkRecord, op uint32, e machine.Event) {
	bt := &tr.ft.blk
	category := uint32(blkTCRead)
	if op&machine.ReqOp == machine.ReqWrite {
		category = blkTCWrite
	}
	for _, f := range []struct{ flag, bit uint32 }{
		{machine.ReqSync, blkTCSync},
		{machine.ReqReadahead, blkTCAhead},
		{machine.ReqMeta, blkTCMeta},
		{machine.ReqPreflush, blkTCFlush},
		{machine.ReqFUA, blkTCFUA},
	} {
		if op&f.flag != 0 {
			category |= f.bit
		}
	}
	rec.Action |= category << blkTCShift
	if tr.opts.Has(option.BlkCgroup) && e != machine.EvBlockPlug && e != machine.EvBlockUnplug {
		rec.Action |= blkCgroup
		tr.blkData[0] = rootCgroup
		rec.PDU = tr.blkData[:]
	}
	rec.PID, rec.CPU, rec.PDULen = uint32(c.Current.PID), uint32(c.ID), uint16(8*len(rec.PDU))
	switch {
	case uint32(bt.mask)<<blkTCShift&rec.Action == 0:
		return
	case rec.Sector != 0 && (rec.Sector < bt.start || rec.Sector > bt.end):
		return
	case bt.pid != 0 && rec.PID != bt.pid:
		return
	}
	h := unpreemptible(common(c)) // the tracepoint has preemption off around it
	h.Flags |= flagIRQsOff        // which the tracer asks for
	tr.scratch = events.Blk.Append(tr.scratch[:0], h, rec)
	tr.record(tr.rec, c, contextOf(c), events.Blk.Type, h, tr.scratch)
}

// BlockFiles are the files of the folder trace in the sysfs folder of a block device
// that has so many sectors.
//
// Kernel: blk_trace_attrs and sysfs_blk_trace_attr_show and _store.
func (ft *Ftrace) BlockFiles(sectors uint64) []*tracefile.File {
	bt := &ft.blk
	setup := func() { *bt = blktrace{on: true, mask: 1<<16 - 1, end: sectors} }
	file := func(name string, show func() string, parse func(string) (uint64, error), store func(uint64)) *tracefile.File {
		return ft.top.value(name, 0o644, show, func(s string) error {
			n, err := parse(s)
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
			*bt = blktrace{}
		default:
			setup()
		}
	}
	return []*tracefile.File{
		file("enable", enabled, number, enable),
		attr("act_mask", bt.showMask, parseBlkMask, func(n uint64) { bt.mask = uint16(n) }),
		attr("pid", func() string { return strconv.FormatUint(uint64(bt.pid), 10) }, number, func(n uint64) { bt.pid = uint32(n) }),
		attr("start_lba", func() string { return strconv.FormatUint(bt.start, 10) }, number, func(n uint64) { bt.start = n }),
		attr("end_lba", func() string { return strconv.FormatUint(bt.end, 10) }, number, func(n uint64) { bt.end = n }),
	}
}

// Kernel: blk_trace_mask2str.
func (bt *blktrace) showMask() string {
	var names []string
	for bit, name := range blkMasks {
		if bt.mask>>bit&1 != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// parseBlkMask takes a number or names of categories with commas between, in any case.
//
// Kernel: blk_trace_str2mask.
func parseBlkMask(s string) (mask uint64, err error) {
	if n, err := tracefile.ParseUlong(s, 0); err == nil {
		return n, nil
	}
	for word := range strings.SplitSeq(strings.TrimSpace(s), ",") {
		if word == "" {
			continue
		}
		bit := blkMaskOf(word)
		if bit == 0 {
			return 0, fmt.Errorf("act_mask: no category %q: %w", word, syscall.EINVAL)
		}
		mask |= bit
	}
	return mask, nil
}

func blkMaskOf(name string) uint64 {
	for bit, known := range blkMasks {
		if strings.EqualFold(name, known) {
			return 1 << bit
		}
	}
	return 0
}
