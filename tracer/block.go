package tracer

import (
	"ftracelab/machine"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// blockPoints adds the probes of the block system's events to points.
func (ft *Ftrace) blockPoints(points *[machine.NumTracepoints]pointProbe) {
	bio := func(t *event.Type) pointProbe {
		return pointOn(ft, events.BlockBioQueue, t, func(c *machine.CPU, r *events.BlockBioRecord, b *machine.Block) {
			*r = events.BlockBioRecord{
				Dev: b.Request.Dev, Sector: b.Sector, NrSector: b.Bytes >> 9, Rwbs: rwbs(b.Request.Op), Comm: comm16(c.Current.Comm),
			}
		})
	}
	rq := func(t *event.Type) pointProbe {
		return pointOn(ft, events.BlockRqIssue, t, func(c *machine.CPU, r *events.BlockRqRecord, b *machine.Block) {
			*r = events.BlockRqRecord{
				Dev: b.Request.Dev, Sector: b.Sector, NrSector: b.Bytes >> 9, Bytes: b.Bytes, Ioprio: b.Priority,
				Rwbs: rwbs(b.Request.Op), Comm: comm16(c.Current.Comm),
			}
		})
	}
	points[machine.EvBlockPlug] = pointOn(ft, events.BlockPlug, events.BlockPlug.Type, func(c *machine.CPU, r *events.BlockPlugRecord, _ *machine.Block) { r.Comm = comm16(c.Current.Comm) })
	points[machine.EvBlockUnplug] = pointOn(ft, events.BlockUnplug, events.BlockUnplug.Type, func(c *machine.CPU, r *events.BlockUnplugRecord, b *machine.Block) {
		*r = events.BlockUnplugRecord{NrRq: b.Depth, Comm: comm16(c.Current.Comm)}
	})
	points[machine.EvBlockBioQueue] = bio(events.BlockBioQueue.Type)
	points[machine.EvBlockGetrq] = bio(events.BlockGetrq.Type)
	points[machine.EvBlockBackmerge] = bio(events.BlockBioBackmerge.Type)
	points[machine.EvBlockIOStart] = rq(events.BlockIOStart.Type)
	points[machine.EvBlockRqIssue] = rq(events.BlockRqIssue.Type)
	points[machine.EvBlockIODone] = rq(events.BlockIODone.Type)
	points[machine.EvBlockRqComplete] = point(ft, events.BlockRqComplete, func(r *events.BlockRqCompleteRecord, b *machine.Block) {
		*r = events.BlockRqCompleteRecord{
			Dev: b.Request.Dev, Sector: b.Sector, NrSector: b.Bytes >> 9, Ioprio: b.Priority, Rwbs: rwbs(b.Request.Op),
		}
	})
	points[machine.EvBlockDirtyBuffer] = point(ft, events.BlockDirtyBuffer, func(r *events.BlockDirtyBufferRecord, b *machine.Block) {
		*r = events.BlockDirtyBufferRecord{Dev: b.Request.Dev, Sector: b.Sector, Size: uint64(b.Bytes)}
	})
}

// rwbs returns the letters that stand for an operation.
//
// Kernel: blk_fill_rwbs, kernel/trace/blktrace.c.
func rwbs(op uint32) (b [8]byte) {
	s := b[:0]
	flag := func(bit uint32, letter byte) {
		if op&bit != 0 {
			s = append(s, letter)
		}
	}
	flag(machine.ReqPreflush, 'F')
	if op&machine.ReqOp == machine.ReqWrite {
		s = append(s, 'W')
	} else {
		s = append(s, 'R')
	}
	flag(machine.ReqFUA, 'F')
	flag(machine.ReqReadahead, 'A')
	flag(machine.ReqSync, 'S')
	flag(machine.ReqMeta, 'M')
	return b
}
