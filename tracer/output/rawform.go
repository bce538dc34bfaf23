package output

import "strconv"

// appendRaw appends an entry in the form of option raw: numbers in decimal.
//
// Kernel: print_raw_fmt, kernel/trace/trace.c.
func (p *Printer) appendRaw(dst []byte, r *record) []byte {
	if p.cfg.Options&ContextInfo != 0 {
		dst = append(paddedInt(dst, int64(r.common.PID), 0), ' ')
		dst = append(paddedInt(dst, int64(r.CPU), 0), ' ')
		dst = append(strconv.AppendUint(dst, r.Time, 10), ' ')
	}
	num := func(field int) { dst = append(strconv.AppendUint(dst, r.u64(field), 10), ' ') }
	switch r.shape.kind {
	case unknownEntry:
		return append(padded(dst, uint64(r.common.Type), 0), " ?\n"...)
	case functionEntry:
		dst = append(strconv.AppendUint(dst, r.u64(0), 16), ' ')
		return append(strconv.AppendUint(dst, r.u64(1), 16), '\n')
	case contextSwitch:
		return appendRawSwitch(dst, r, stateChar(r.u8(2)))
	case wakeup:
		return appendRawSwitch(dst, r, '+')
	case printEntry:
		dst = append(strconv.AppendUint(append(dst, "# "...), r.u64(0), 16), ' ')
		return p.appendMessage(dst, r)
	case bprintEntry, bputsEntry:
		dst = append(strconv.AppendUint(append(dst, ": "...), r.u64(0), 16), " : "...)
		return p.appendMessage(dst, r)
	case rawData:
		return p.appendRawData(dst, r)
	case funcRepeats:
		num(0)
		num(1)
		dst = append(strconv.AppendUint(dst, le(r.Data, r.shape.off[2], 2), 10), ' ')
		return append(strconv.AppendUint(dst, repeatsDelta(r), 10), '\n')
	case hwlatEntry, osnoiseEntry, timerlatEntry:
		return appendRawLatency(dst, r)
	}
	return appendType(dst, r)
}

func appendRawSwitch(dst []byte, r *record, state byte) []byte {
	dst = append(paddedInt(dst, int64(int32(r.u32(0))), 0), ' ')
	dst = append(padded(dst, r.u8(1), 0), ' ', state, ' ')
	dst = append(paddedInt(dst, int64(int32(r.u32(6))), 0), ' ')
	dst = append(paddedInt(dst, int64(int32(r.u32(3))), 0), ' ')
	return append(padded(dst, r.u8(4), 0), ' ', stateChar(r.u8(5)), '\n')
}

// appendHex appends an entry in the form of option hex: numbers of fixed width, each
// followed by a blank. Entries that have no form of their own here are followed by an
// empty line.
//
// Kernel: print_hex_fmt, kernel/trace/trace.c.
func (p *Printer) appendHex(dst []byte, r *record) []byte {
	field := func(v uint64, size int) {
		dst = append(hexPadded(dst, v&(1<<(8*size)-1), 2*size), ' ')
	}
	if p.cfg.Options&ContextInfo != 0 {
		field(uint64(uint32(r.common.PID)), 4)
		field(uint64(uint32(r.CPU)), 4)
		field(r.Time, 8)
	}
	switch r.shape.kind {
	case unknownEntry:
	case functionEntry:
		field(r.u64(0), 8)
		field(r.u64(1), 8)
	case contextSwitch, wakeup:
		state := stateChar(r.u8(2))
		if r.shape.kind == wakeup {
			state = '+'
		}
		field(uint64(r.u32(0)), 4)
		field(r.u8(1), 1)
		field(uint64(state), 1)
		field(uint64(r.u32(6)), 4)
		field(uint64(r.u32(3)), 4)
		field(r.u8(4), 1)
		field(uint64(stateChar(r.u8(5))), 4)
	default:
		dst = appendType(dst, r)
	}
	return append(dst, '\n')
}

// appendBin appends an entry in the form of option bin: the numbers as they are in
// memory, without a newline.
//
// Kernel: print_bin_fmt, kernel/trace/trace.c.
func (p *Printer) appendBin(dst []byte, r *record) []byte {
	if p.cfg.Options&ContextInfo != 0 {
		dst = appendLE(dst, uint64(uint32(r.common.PID)), 4)
		dst = appendLE(dst, uint64(uint32(r.CPU)), 4)
		dst = appendLE(dst, r.Time, 8)
	}
	switch r.shape.kind {
	case unknownEntry:
		return dst
	case functionEntry:
		return appendLE(appendLE(dst, r.u64(0), 8), r.u64(1), 8)
	case contextSwitch, wakeup:
		dst = appendLE(dst, uint64(r.u32(0)), 4)
		dst = append(dst, byte(r.u8(1)), byte(r.u8(2)))
		dst = appendLE(dst, uint64(r.u32(6)), 4)
		dst = appendLE(dst, uint64(r.u32(3)), 4)
		return append(dst, byte(r.u8(4)), byte(r.u8(5)))
	case blkEntry:
		return appendBinBlk(dst, r)
	}
	return appendType(dst, r)
}
