package events

import "ftracelab/tracer/event"

// blockTypes are the events of the system block that the simulated machine has.
//
// Kernel: include/trace/events/block.h.
func blockTypes() []*event.Type {
	return []*event.Type{
		BlockUnplug.Type,
		BlockPlug.Type,
		BlockGetrq.Type,
		BlockBioQueue.Type,
		BlockBioBackmerge.Type,
		BlockIODone.Type,
		BlockIOStart.Type,
		BlockRqIssue.Type,
		BlockRqComplete.Type,
		BlockDirtyBuffer.Type,
	}
}

// BlockUnplugRecord is the record of block_unplug.
type BlockUnplugRecord struct {
	NrRq int32    `c:"int nr_rq"`
	Comm [16]byte `c:"char comm[16]"`
}

// BlockUnplug is block:block_unplug.
var BlockUnplug = event.Define[BlockUnplugRecord](1159, "block", "block_unplug",
	`"[%s] %d", REC->comm, REC->nr_rq`)

// BlkRecord is what the tracer blk records. The kernel's struct begins with a magic
// number and a sequence number; here the common fields are in their place. PDU has
// PDULen bytes: the id of a cgroup, and further data that depends on the action.
//
// Kernel: struct blk_io_trace, include/uapi/linux/blktrace_api.h.
type BlkRecord struct {
	Time   uint64   `c:"__u64 time"`
	Sector uint64   `c:"__u64 sector"`
	Bytes  uint32   `c:"__u32 bytes"`
	Action uint32   `c:"__u32 action"`
	PID    uint32   `c:"__u32 pid"`
	Device uint32   `c:"__u32 device"`
	CPU    uint32   `c:"__u32 cpu"`
	Error  uint16   `c:"__u16 error"`
	PDULen uint16   `c:"__u16 pdu_len"`
	PDU    []uint64 `c:"__u64 pdu[]"`
}

// Blk is TRACE_BLK. There is no format file for it, so it is in no list of types.
var Blk = event.Define[BlkRecord](13, "ftrace", "blk", `""`)

// BlockPlugRecord is the record of block_plug.
type BlockPlugRecord struct {
	Comm [16]byte `c:"char comm[16]"`
}

// BlockPlug is block:block_plug.
var BlockPlug = event.Define[BlockPlugRecord](1160, "block", "block_plug", `"[%s]", REC->comm`)

// BlockBioRecord is the record of block_getrq, block_bio_queue and
// block_bio_backmerge.
type BlockBioRecord struct {
	Dev      uint32   `c:"dev_t dev"`
	Sector   uint64   `c:"sector_t sector"`
	NrSector uint32   `c:"unsigned int nr_sector"`
	Rwbs     [8]byte  `c:"char rwbs[8]"`
	Comm     [16]byte `c:"char comm[16]"`
}

// BlockGetrq is block:block_getrq.
var BlockGetrq = event.Define[BlockBioRecord](1161, "block", "block_getrq", blockBioText)

// BlockBioQueue is block:block_bio_queue.
var BlockBioQueue = event.Define[BlockBioRecord](1162, "block", "block_bio_queue", blockBioText)

// BlockBioBackmerge is block:block_bio_backmerge.
var BlockBioBackmerge = event.Define[BlockBioRecord](1164, "block", "block_bio_backmerge", blockBioText)

const (
	blockDev      = `((unsigned int) ((REC->dev) >> 20)), ((unsigned int) ((REC->dev) & ((1U << 20) - 1)))`
	blockPriority = `__print_symbolic((((REC->ioprio) >> 13) & (8 - 1)), { IOPRIO_CLASS_NONE, "none" }, { IOPRIO_CLASS_RT, "rt" }, { IOPRIO_CLASS_BE, "be" }, { IOPRIO_CLASS_IDLE, "idle" }, { IOPRIO_CLASS_INVALID, "invalid"}), (((REC->ioprio) >> 3) & ((1 << 10) - 1)), ((REC->ioprio) & ((1 << 3) - 1))`
	blockBioText  = `"%d,%d %s %llu + %u [%s]", ` + blockDev + `, REC->rwbs, (unsigned long long)REC->sector, REC->nr_sector, REC->comm`
	blockRqText   = `"%d,%d %s %u (%s) %llu + %u %s,%u,%u [%s]", ` + blockDev + `, REC->rwbs, REC->bytes, __get_str(cmd), (unsigned long long)REC->sector, REC->nr_sector, ` + blockPriority + `, REC->comm`
)

// BlockRqRecord is the record of block_io_done, block_io_start and block_rq_issue.
type BlockRqRecord struct {
	Dev      uint32   `c:"dev_t dev"`
	Sector   uint64   `c:"sector_t sector"`
	NrSector uint32   `c:"unsigned int nr_sector"`
	Bytes    uint32   `c:"unsigned int bytes"`
	Ioprio   uint16   `c:"unsigned short ioprio"`
	Rwbs     [8]byte  `c:"char rwbs[8]"`
	Comm     [16]byte `c:"char comm[16]"`
	Cmd      string   `c:"__data_loc char[] cmd"`
}

// BlockIODone is block:block_io_done.
var BlockIODone = event.Define[BlockRqRecord](1167, "block", "block_io_done", blockRqText)

// BlockIOStart is block:block_io_start.
var BlockIOStart = event.Define[BlockRqRecord](1168, "block", "block_io_start", blockRqText)

// BlockRqIssue is block:block_rq_issue.
var BlockRqIssue = event.Define[BlockRqRecord](1170, "block", "block_rq_issue", blockRqText)

// BlockRqCompleteRecord is the record of block_rq_complete.
type BlockRqCompleteRecord struct {
	Dev      uint32  `c:"dev_t dev"`
	Sector   uint64  `c:"sector_t sector"`
	NrSector uint32  `c:"unsigned int nr_sector"`
	Error    int32   `c:"int error"`
	Ioprio   uint16  `c:"unsigned short ioprio"`
	Rwbs     [8]byte `c:"char rwbs[8]"`
	Cmd      string  `c:"__data_loc char[] cmd"`
}

// BlockRqComplete is block:block_rq_complete.
var BlockRqComplete = event.Define[BlockRqCompleteRecord](1173, "block", "block_rq_complete",
	`"%d,%d %s (%s) %llu + %u %s,%u,%u [%d]", `+blockDev+`, REC->rwbs, __get_str(cmd), (unsigned long long)REC->sector, REC->nr_sector, `+blockPriority+`, REC->error`)

// BlockDirtyBufferRecord is the record of block_dirty_buffer.
type BlockDirtyBufferRecord struct {
	Dev    uint32 `c:"dev_t dev"`
	Sector uint64 `c:"sector_t sector"`
	Size   uint64 `c:"size_t size"`
}

// BlockDirtyBuffer is block:block_dirty_buffer.
var BlockDirtyBuffer = event.Define[BlockDirtyBufferRecord](1175, "block", "block_dirty_buffer",
	`"%d,%d sector=%llu size=%zu", `+blockDev+`, (unsigned long long)REC->sector, REC->size`)
