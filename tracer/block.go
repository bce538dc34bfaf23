package tracer

import (
	"ftracelab/tracer/event/events"
	"ftracelab/workload/machine"
)

// traceBlock makes the records of the block system.
func (ft *Ftrace) traceBlock(c *machine.CPU, b *machine.Block) {
	r, comm := b.Request, comm16(c.Current.Comm)
	switch b.ID {
	case machine.EvBlockPlug:
		ft.recs.blockPlug = events.BlockPlugRecord{Comm: comm}
		emit(ft, c, events.BlockPlug, &ft.recs.blockPlug)
	case machine.EvBlockUnplug:
		ft.recs.blockUnplug = events.BlockUnplugRecord{NrRq: b.Depth, Comm: comm}
		emit(ft, c, events.BlockUnplug, &ft.recs.blockUnplug)
	case machine.EvBlockBioQueue, machine.EvBlockGetrq, machine.EvBlockBackmerge:
		ft.recs.blockBio = events.BlockBioRecord{
			Dev: r.Dev, Sector: b.Sector, NrSector: b.Bytes >> 9, Rwbs: rwbs(r.Op), Comm: comm,
		}
		t := pick(b.ID, machine.EvBlockGetrq, events.BlockGetrq.Type, machine.EvBlockBackmerge, events.BlockBioBackmerge.Type, events.BlockBioQueue.Type)
		emitAs(ft, c, events.BlockBioQueue, t, &ft.recs.blockBio)
	case machine.EvBlockIOStart, machine.EvBlockRqIssue, machine.EvBlockIODone:
		ft.recs.blockRq = events.BlockRqRecord{
			Dev: r.Dev, Sector: b.Sector, NrSector: b.Bytes >> 9, Bytes: b.Bytes, Ioprio: b.Priority, Rwbs: rwbs(r.Op), Comm: comm,
		}
		t := pick(b.ID, machine.EvBlockIOStart, events.BlockIOStart.Type, machine.EvBlockIODone, events.BlockIODone.Type, events.BlockRqIssue.Type)
		emitAs(ft, c, events.BlockRqIssue, t, &ft.recs.blockRq)
	case machine.EvBlockRqComplete:
		ft.recs.blockDone = events.BlockRqCompleteRecord{
			Dev: r.Dev, Sector: b.Sector, NrSector: b.Bytes >> 9, Ioprio: b.Priority, Rwbs: rwbs(r.Op),
		}
		emit(ft, c, events.BlockRqComplete, &ft.recs.blockDone)
	case machine.EvBlockDirtyBuffer:
		ft.recs.blockBuffer = events.BlockDirtyBufferRecord{Dev: r.Dev, Sector: b.Sector, Size: uint64(b.Bytes)}
		emit(ft, c, events.BlockDirtyBuffer, &ft.recs.blockBuffer)
	}
}

// rwbs is the letters of an operation.
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
