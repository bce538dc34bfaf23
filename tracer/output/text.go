package output

import "strconv"

// appendText appends the text of an entry, which stands behind the context.
//
// Kernel: the trace functions of struct trace_event_functions.
func (p *Printer) appendText(dst []byte, r *record, m *Merge, reader int) []byte {
	s := r.shape
	switch s.kind {
	case functionEntry:
		return p.appendFunction(dst, r.u64(0), r.u64(1))
	case eventEntry:
		return p.appendEvent(dst, r)
	case syscallEnter:
		return p.appendSyscallEnter(dst, r)
	case syscallExit:
		dst = append(append(dst, s.name...), " -> 0x"...)
		return append(strconv.AppendUint(dst, r.u64(0), 16), '\n')
	case probeHit, probeReturn, eventProbe:
		return p.appendProbe(dst, r)
	case syntheticEntry:
		return p.appendSynthetic(dst, r)
	case graphEntry, graphExit:
		return p.appendGraphRecord(dst, p.alone, r, m, reader)
	}
	return p.appendFtrace(dst, r)
}

// appendFtrace appends the text of an entry of the ftrace system.
func (p *Printer) appendFtrace(dst []byte, r *record) []byte {
	switch r.shape.kind {
	case contextSwitch:
		return p.appendSwitch(dst, r, "==>")
	case wakeup:
		return p.appendSwitch(dst, r, "  +")
	case stackEntry:
		return p.appendStack(dst, r)
	case userStack:
		return p.appendUserStack(dst, r)
	case stackID:
		dst = strconv.AppendInt(append(dst, "<stack_id "...), int64(int32(r.u32(0))), 10)
		return append(dst, ">\n"...)
	case printEntry, bprintEntry, bputsEntry:
		dst = append(p.appendIP(dst, r.u64(0)), ": "...)
		return p.appendMessage(dst, r)
	case rawData:
		return p.appendRawData(dst, r)
	case funcRepeats:
		dst = p.appendCall(dst, r.u64(0), r.u64(1))
		dst = padded(append(dst, " (repeats: "...), le(r.Data, r.shape.off[2], 2), 0)
		dst = p.appendTime(append(dst, ", last_ts:"...), r.Time-repeatsDelta(r))
		return append(dst, ")\n"...)
	case branchEntry:
		return appendBranch(dst, r)
	case hwlatEntry:
		return appendHwlat(dst, r)
	case osnoiseEntry:
		return appendOsnoise(dst, r)
	case timerlatEntry:
		return appendTimerlat(dst, r)
	case blkEntry:
		return p.appendBlk(dst, r)
	case unwindCookie:
		dst = strconv.AppendUint(append(dst, "cookie="...), r.u64(0), 16)
		return append(dst, '\n')
	case unwindStack:
		return appendUnwindStack(dst, r)
	}
	return appendType(dst, r)
}

// appendType appends the text for an entry without a text of its own: its type.
//
// Kernel: trace_nop_print.
func appendType(dst []byte, r *record) []byte {
	dst = padded(append(dst, "type: "...), uint64(r.common.Type), 0)
	return append(dst, '\n')
}

// appendCall appends a function, and its caller unless that is switched off.
//
// Kernel: print_fn_trace.
func (p *Printer) appendCall(dst []byte, ip, parent uint64) []byte {
	dst = p.appendIP(dst, ip)
	if p.cfg.Options&PrintParent != 0 && parent != 0 {
		dst = p.appendIP(append(dst, " <-"...), parent)
	}
	return dst
}

// appendSwitch appends a context_switch or wakeup entry.
//
// Kernel: trace_ctxwake_print.
func (p *Printer) appendSwitch(dst []byte, r *record, arrow string) []byte {
	dst = paddedInt(append(dst, ' '), int64(int32(r.u32(0))), 7)
	dst = padded(append(dst, ':'), r.u8(1), 3)
	dst = append(dst, ':', stateChar(r.u8(2)), ' ')
	dst = append(append(dst, arrow...), " ["...)
	dst = appendCPU(dst, int(int32(r.u32(6))))
	dst = paddedInt(append(dst, "] "...), int64(int32(r.u32(3))), 7)
	dst = padded(append(dst, ':'), r.u8(4), 3)
	dst = append(dst, ':', stateChar(r.u8(5)), ' ')
	return append(append(dst, p.comm(int32(r.u32(3)))...), '\n')
}

// stateChar gives the letter for the index of a task's state.
//
// Kernel: task_index_to_char, include/linux/sched.h.
func stateChar(index uint64) byte {
	const letters = "RSDTtXZPI"
	if index >= uint64(len(letters)) {
		return '?'
	}
	return letters[index]
}

// trampolineMarker stands in a recorded stack for an address in an ftrace trampoline.
//
// Kernel: FTRACE_TRAMPOLINE_MARKER, kernel/trace/trace.h.
const trampolineMarker = 0x7fffffff

// appendStack appends a kernel stack, innermost first.
//
// Kernel: trace_stack_print.
func (p *Printer) appendStack(dst []byte, r *record) []byte {
	dst = append(dst, "<stack trace>\n"...)
	for off := r.shape.off[0]; off >= 0 && off+8 <= len(r.Data); off += 8 {
		ip := le64(r.Data, off)
		if ip == ^uint64(0) {
			break
		}
		if !p.fits(dst, 4) {
			break
		}
		dst = append(dst, " => "...)
		end := len(dst)
		if ip == trampolineMarker {
			dst = append(dst, p.cfg.TrampolineText...)
		} else {
			dst = p.appendIP(dst, ip)
		}
		if !p.fits(dst[:end], len(dst)-end) {
			return dst[:end]
		}
		dst = p.endLine(dst)
	}
	return dst
}

// userStackEntries is the fixed number of addresses in a user_stack entry.
const userStackEntries = 8

// appendUserStack appends a user_stack entry. The stack ends at the first 0.
//
// Kernel: trace_user_stack_print.
func (p *Printer) appendUserStack(dst []byte, r *record) []byte {
	dst = append(dst, "<user stack trace>\n"...)
	for i := range userStackEntries {
		ip := le64(r.Data, r.shape.off[0]+8*i)
		if ip == 0 {
			break
		}
		dst = append(p.appendUserPlace(append(dst, " => "...), int32(r.u32(1)), ip), '\n')
	}
	return dst
}

// appendUserPlace appends a user address. With sym-userobj it is an offset in a file,
// if that is known.
//
// Kernel: seq_print_user_ip.
func (p *Printer) appendUserPlace(dst []byte, tgid int32, ip uint64) []byte {
	path, start := "", uint64(0)
	if p.cfg.Options&SymUserObj != 0 && p.cfg.UserFile != nil {
		path, start = p.cfg.UserFile(tgid, ip)
	}
	if path != "" {
		dst = append(append(dst, path...), "[+0x"...)
		dst = append(strconv.AppendUint(dst, ip-start, 16), ']')
		if p.cfg.Options&SymAddr == 0 {
			return dst
		}
	}
	return appendUserIP(dst, ip)
}

// appendUserIP appends a user address as a number.
func appendUserIP(dst []byte, ip uint64) []byte {
	return append(hexPadded(append(dst, " <"...), ip, 16), '>')
}

// appendUnwindStack appends a user stack that was walked on the way back to
// user space: file offsets with inode and device.
//
// Kernel: not in 6.12; the ftrace series for deferred unwinding, v6.
func appendUnwindStack(dst []byte, r *record) []byte {
	dst = append(dst, "<user stack unwind>\ncookie="...)
	dst = append(strconv.AppendUint(dst, r.u64(0), 16), '\n')
	stack, inodes, dev := r.array(1), r.array(2), r.array(3)
	for i := 0; 8*i+8 <= len(stack); i++ {
		dst = appendUserIP(append(dst, " => "...), le64(stack, 8*i))
		if 8*i+8 <= len(inodes) && 4*i+4 <= len(dev) {
			d := le32(dev, 4*i)
			dst = strconv.AppendInt(append(dst, " : "...), int64(le64(inodes, 8*i)), 10)
			dst = strconv.AppendUint(append(dst, " : "...), uint64(d>>20), 10)
			dst = strconv.AppendUint(append(dst, ':'), uint64(d&(1<<20-1)), 10)
		}
		dst = append(dst, '\n')
	}
	return dst
}

// array gives the part of the record to which a __data_loc word points.
func (r *record) array(field int) []byte {
	loc := r.u32(field)
	off, n := int(loc&0xffff), int(loc>>16)
	if off+n > len(r.Data) {
		return nil
	}
	return r.Data[off : off+n]
}

// appendRawData appends what was written to trace_marker_raw.
//
// Kernel: trace_raw_data.
func (p *Printer) appendRawData(dst []byte, r *record) []byte {
	dst = strconv.AppendUint(append(dst, "# "...), uint64(r.u32(0)), 16)
	dst = append(dst, " buf:"...)
	for off := r.shape.off[1]; off >= 0 && off < len(r.Data) && p.fits(dst, 3); off++ {
		dst = hexPadded(append(dst, ' '), uint64(r.Data[off]), 2)
	}
	return p.endLine(dst)
}

// repeatsDelta is how long before the entry the last repetition happened, in ns.
//
// Kernel: FUNC_REPEATS_GET_DELTA_TS, kernel/trace/trace.h.
func repeatsDelta(r *record) uint64 {
	return le(r.Data, r.shape.off[3], 2)<<32 | uint64(r.u32(4))
}

// appendMessage appends the message of a print, bprint or bputs entry. The message ends
// with its own newline.
//
// Kernel: trace_print_printk_msg_only and its kin.
func (p *Printer) appendMessage(dst []byte, r *record) []byte {
	switch r.shape.kind {
	case printEntry:
		if msg := text(r.Data, r.shape.off[1]); p.fits(dst, len(msg)) {
			dst = append(dst, msg...)
		}
		return dst
	case bputsEntry:
		return append(dst, p.kernelString(r.u64(1))...)
	}
	buf := r.shape.off[2]
	if buf < 0 || buf > len(r.Data) {
		return dst
	}
	return p.appendBinaryPrintf(dst, p.kernelString(r.u64(1)), r.Data[buf:])
}

// kernelString gives the string at a kernel address; "" if it is not known.
func (p *Printer) kernelString(addr uint64) string {
	if p.cfg.String != nil {
		if s, ok := p.cfg.String(addr); ok {
			return s
		}
	}
	return "(unknown format)\n"
}
