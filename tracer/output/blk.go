package output

import "strconv"

// Offsets in a block layer entry, whose first 8 bytes are the common header.
//
// Kernel: struct blk_io_trace, include/uapi/linux/blktrace_api.h.
const (
	blkSector = 16
	blkBytes  = 24
	blkWhat   = 28
	blkDevice = 36
	blkError  = 44
	blkPDULen = 46
	blkSize   = 48
)

// Bits of an entry's action.
const (
	blkCgroup  = 1 << 8
	blkMessage = 1<<26 | 2

	blkWrite   = 1 << 17
	blkFlush   = 1 << 18
	blkSync    = 1 << 19
	blkPC      = 1 << 25
	blkAhead   = 1 << 27
	blkMeta    = 1 << 28
	blkDiscard = 1 << 29
	blkFUA     = 1 << 31
)

// blkAction is what happened to a request.
type blkAction struct {
	short, long string
	print       func(p *Printer, dst []byte, r *record, pdu []byte) []byte
}

// blkActionOf finds an action by its number.
//
// Kernel: what2act, kernel/trace/blktrace.c.
func blkActionOf(what uint32) (blkAction, bool) {
	switch what {
	case 1:
		return blkAction{"Q", "queue", (*Printer).appendBlkGeneric}, true
	case 2:
		return blkAction{"M", "backmerge", (*Printer).appendBlkGeneric}, true
	case 3:
		return blkAction{"F", "frontmerge", (*Printer).appendBlkGeneric}, true
	case 4:
		return blkAction{"G", "getrq", (*Printer).appendBlkGeneric}, true
	case 5:
		return blkAction{"S", "sleeprq", (*Printer).appendBlkGeneric}, true
	case 6:
		return blkAction{"R", "requeue", (*Printer).appendBlkError}, true
	case 7:
		return blkAction{"D", "issue", (*Printer).appendBlkGeneric}, true
	case 8:
		return blkAction{"C", "complete", (*Printer).appendBlkError}, true
	case 9:
		return blkAction{"P", "plug", (*Printer).appendBlkPlug}, true
	case 10:
		return blkAction{"U", "unplug_io", (*Printer).appendBlkUnplug}, true
	case 11:
		return blkAction{"UT", "unplug_timer", (*Printer).appendBlkUnplug}, true
	case 12:
		return blkAction{"I", "insert", (*Printer).appendBlkGeneric}, true
	case 13:
		return blkAction{"X", "split", (*Printer).appendBlkSplit}, true
	case 14:
		return blkAction{"B", "bounce", (*Printer).appendBlkGeneric}, true
	case 15:
		return blkAction{"A", "remap", (*Printer).appendBlkRemap}, true
	}
	return blkAction{}, false
}

// appendBlk appends an entry of the block layer: the device, the action, the kind of
// request, and what belongs to that action.
//
// Kernel: print_one_line, kernel/trace/blktrace.c.
func (p *Printer) appendBlk(dst []byte, r *record) []byte {
	action := le32(r.Data, blkWhat)
	pdu := r.Data[min(blkSize, len(r.Data)):]
	pdu = pdu[:min(int(le(r.Data, blkPDULen, 2)), len(pdu))]
	var cgroup []byte
	if action&blkCgroup != 0 && len(pdu) >= 8 {
		cgroup, pdu = pdu[:8], pdu[8:]
	}
	long := p.cfg.Options&Verbose != 0
	if action&^blkCgroup == blkMessage {
		act := "m"
		if long {
			act = "message"
		}
		return append(append(p.appendBlkAction(dst, r, act, cgroup), pdu...), '\n')
	}
	what := action & 0xffff &^ blkCgroup
	a, ok := blkActionOf(what)
	if !ok {
		dst = strconv.AppendUint(append(dst, "Unknown action "...), uint64(what), 16)
		return append(dst, '\n')
	}
	act := a.short
	if long {
		act = a.long
	}
	return a.print(p, p.appendBlkAction(dst, r, act, cgroup), r, pdu)
}

// appendBlkAction appends the columns that all actions share.
//
// Kernel: blk_log_action and blk_log_action_classic.
func (p *Printer) appendBlkAction(dst []byte, r *record, act string, cgroup []byte) []byte {
	dev := le32(r.Data, blkDevice)
	dst = padded(dst, uint64(dev>>20), 3)
	dst = append(left(append(dst, ','), int64(dev&(1<<20-1)), 3), ' ')
	if p.cfg.Options&BlkClassic != 0 && p.form.classic {
		dst = append(paddedInt(dst, int64(r.CPU), 2), ' ')
		dst = append(padded(dst, r.Time/1e9, 5), '.')
		dst = append(zeros(dst, r.Time%1e9, 9), ' ')
		dst = append(padded(dst, uint64(uint32(r.common.PID)), 5), ' ')
	} else if cgroup != nil && p.cfg.Options&BlkCgname != 0 {
		dst = append(dst, cgroupPath(le64(cgroup, 0))...)
	} else if cgroup != nil {
		id := le64(cgroup, 0)
		dst = append(strconv.AppendUint(dst, id&0xffffffff, 16), ',')
		dst = append(strconv.AppendUint(dst, id>>32, 16), ' ')
	}
	dst = append(right(dst, act, 2), ' ')
	var kinds [8]byte
	return append(right(dst, string(appendBlkKinds(kinds[:0], r)), 3), ' ')
}

// cgroupPath gives the path of a cgroup, followed by a blank.
//
// Departure: only the path of the root is known. Those of other cgroups are known to
// their kernel alone.
//
// Kernel: cgroup_path_from_kernfs_id, kernel/cgroup/cgroup.c.
func cgroupPath(id uint64) string {
	if id == 1 {
		return "/ "
	}
	return "<...> "
}

// appendBlkKinds appends the letters of a request.
//
// Kernel: fill_rwbs.
func appendBlkKinds(dst []byte, r *record) []byte {
	a := le32(r.Data, blkWhat)
	if a&^blkCgroup == blkMessage {
		return append(dst, 'N')
	}
	flag := func(bit uint32, letter byte) {
		if a&bit != 0 {
			dst = append(dst, letter)
		}
	}
	flag(blkFlush, 'F')
	switch {
	case a&blkDiscard != 0:
		dst = append(dst, 'D')
	case a&blkWrite != 0:
		dst = append(dst, 'W')
	case le32(r.Data, blkBytes) != 0:
		dst = append(dst, 'R')
	default:
		dst = append(dst, 'N')
	}
	flag(blkFUA, 'F')
	flag(blkAhead, 'A')
	flag(blkSync, 'S')
	flag(blkMeta, 'M')
	return dst
}

func (p *Printer) appendBlkComm(dst []byte, r *record) []byte {
	return append(append(append(dst, '['), p.comm(r.common.PID)...), ']')
}

func appendBlkExtent(dst []byte, r *record) []byte {
	dst = strconv.AppendUint(dst, le64(r.Data, blkSector), 10)
	dst = strconv.AppendUint(append(dst, " + "...), uint64(le32(r.Data, blkBytes)>>9), 10)
	return append(dst, ' ')
}

// Kernel: blk_log_generic.
func (p *Printer) appendBlkGeneric(dst []byte, r *record, pdu []byte) []byte {
	bytes := le32(r.Data, blkBytes)
	switch {
	case le32(r.Data, blkWhat)&blkPC != 0:
		dst = append(strconv.AppendUint(dst, uint64(bytes), 10), ' ')
		dst = appendBlkDump(dst, pdu)
	case bytes>>9 != 0:
		dst = appendBlkExtent(dst, r)
	}
	return append(p.appendBlkComm(dst, r), '\n')
}

// Kernel: blk_log_with_error.
func (p *Printer) appendBlkError(dst []byte, r *record, pdu []byte) []byte {
	switch {
	case le32(r.Data, blkWhat)&blkPC != 0:
		dst = appendBlkDump(dst, pdu)
	case le32(r.Data, blkBytes)>>9 != 0:
		dst = appendBlkExtent(dst, r)
	default:
		dst = append(strconv.AppendUint(dst, le64(r.Data, blkSector), 10), ' ')
	}
	dst = strconv.AppendUint(append(dst, '['), le(r.Data, blkError, 2), 10)
	return append(dst, "]\n"...)
}

// Kernel: blk_log_plug.
func (p *Printer) appendBlkPlug(dst []byte, r *record, _ []byte) []byte {
	return append(p.appendBlkComm(dst, r), '\n')
}

// Kernel: blk_log_unplug.
func (p *Printer) appendBlkUnplug(dst []byte, r *record, pdu []byte) []byte {
	dst = append(p.appendBlkComm(dst, r), ' ')
	return append(strconv.AppendUint(dst, be(pdu, 0, 8), 10), '\n')
}

// Kernel: blk_log_split.
func (p *Printer) appendBlkSplit(dst []byte, r *record, pdu []byte) []byte {
	dst = strconv.AppendUint(dst, le64(r.Data, blkSector), 10)
	dst = strconv.AppendUint(append(dst, " / "...), be(pdu, 0, 8), 10)
	return append(p.appendBlkComm(append(dst, ' '), r), '\n')
}

// Kernel: blk_log_remap.
func (p *Printer) appendBlkRemap(dst []byte, r *record, pdu []byte) []byte {
	from := be(pdu, 0, 4)
	dst = append(appendBlkExtent(dst, r), "<- ("...)
	dst = strconv.AppendUint(dst, from>>20, 10)
	dst = strconv.AppendUint(append(dst, ','), from&(1<<20-1), 10)
	dst = strconv.AppendUint(append(dst, ") "...), be(pdu, 8, 8), 10)
	return append(dst, '\n')
}

// appendBlkDump appends a command in hexadecimal; zeros at its end are left out.
//
// Kernel: blk_log_dump_pdu.
func appendBlkDump(dst, pdu []byte) []byte {
	if len(pdu) == 0 {
		return dst
	}
	end := len(pdu)
	for end > 0 && pdu[end-1] == 0 {
		end--
	}
	dst = append(dst, '(')
	for i, c := range pdu {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = hexPadded(dst, uint64(c), 2)
		if i == end && end != len(pdu)-1 {
			return append(dst, " ..) "...)
		}
	}
	return append(dst, ") "...)
}

// be reads a big-endian number of n bytes; 0 if b is too short.
func be(b []byte, off, n int) uint64 {
	if off+n > len(b) {
		return 0
	}
	var v uint64
	for _, c := range b[off : off+n] {
		v = v<<8 | uint64(c)
	}
	return v
}

// blkMagic is the number with which each entry begins in the files of blktrace.
const blkMagic = 0x65617407

// appendBinBlk appends an entry in the form that blkparse reads.
//
// Kernel: blk_trace_synthesize_old_trace.
func appendBinBlk(dst []byte, r *record) []byte {
	dst = appendLE(dst, blkMagic, 8)
	dst = appendLE(dst, r.Time, 8)
	end := min(blkSize+int(le(r.Data, blkPDULen, 2)), len(r.Data))
	if end > blkSector {
		dst = append(dst, r.Data[blkSector:end]...)
	}
	return dst
}
