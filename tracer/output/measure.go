package output

import "strconv"

// appendHwlat appends a hardware latency found by the hwlat tracer.
//
// Kernel: trace_hwlat_print, kernel/trace/trace_output.c.
func appendHwlat(dst []byte, r *record) []byte {
	dst = left(append(dst, '#'), int64(r.u32(6)), 5)
	dst = padded(append(dst, " inner/outer(us): "...), r.u64(0), 4)
	dst = left(append(dst, '/'), int64(r.u64(1)), 5)
	dst = paddedInt(append(dst, " ts:"...), int64(r.u64(3)), 0)
	dst = zeros(append(dst, '.'), r.u64(4), 9)
	dst = paddedInt(append(dst, " count:"...), int64(int32(r.u32(7))), 0)
	if n := r.u32(5); n != 0 {
		dst = padded(append(dst, " nmi-total:"...), r.u64(2), 0)
		dst = padded(append(dst, " nmi-count:"...), uint64(n), 0)
	}
	return append(dst, '\n')
}

// appendOsnoise appends a period of the osnoise tracer; the third column is the
// part of the time that was free of noise, in percent.
//
// Kernel: trace_osnoise_print.
func appendOsnoise(dst []byte, r *record) []byte {
	noise, runtime := r.u64(0), r.u64(1)
	var ratio uint64
	if runtime != 0 {
		ratio = (runtime - noise) * 10000000 / runtime
	}
	dst = append(padded(dst, runtime, 0), ' ')
	dst = append(padded(dst, noise, 10), ' ')
	dst = append(padded(dst, ratio/100000, 3), '.')
	dst = append(zeros(dst, ratio%100000, 5), ' ')
	dst = padded(dst, r.u64(2), 7)
	for field := 3; field <= 7; field++ {
		dst = padded(append(dst, ' '), uint64(r.u32(field)), 6)
	}
	return append(dst, '\n')
}

// appendTimerlat appends a latency of the timerlat tracer.
//
// Kernel: trace_timerlat_print.
func appendTimerlat(dst []byte, r *record) []byte {
	context := "?"
	switch r.u32(1) {
	case 0:
		context = "irq"
	case 1:
		context = "thread"
	case 2:
		context = "user-ret"
	}
	dst = left(append(dst, '#'), int64(r.u32(0)), 5)
	dst = right(append(dst, " context "...), context, 6)
	dst = padded(append(dst, " timer_latency "...), r.u64(2), 9)
	return append(dst, " ns\n"...)
}

// appendBranch appends a branch that is annotated with likely or unlikely, and whether
// that was right.
//
// Kernel: trace_branch_print, kernel/trace/trace_branch.c.
func appendBranch(dst []byte, r *record) []byte {
	verdict := "[ MISS ] "
	if r.u8(3) != 0 {
		verdict = "[  ok  ] "
	}
	dst = append(append(dst, verdict...), text(r.Data, r.shape.off[1])...)
	dst = append(append(dst, ':'), text(r.Data, r.shape.off[2])...)
	dst = padded(append(dst, ':'), uint64(r.u32(0)), 0)
	return append(dst, '\n')
}

// appendRawLatency appends an entry of hwlat, osnoise or timerlat with the option raw.
func appendRawLatency(dst []byte, r *record) []byte {
	num := func(v uint64) { dst = append(strconv.AppendUint(dst, v, 10), ' ') }
	switch r.shape.kind {
	case hwlatEntry:
		num(r.u64(0))
		num(r.u64(1))
		num(r.u64(3))
		dst = append(zeros(dst, r.u64(4), 9), ' ')
		num(uint64(r.u32(6)))
	case osnoiseEntry:
		num(r.u64(1))
		num(r.u64(0))
		num(r.u64(2))
		for field := 3; field <= 7; field++ {
			num(uint64(r.u32(field)))
		}
	case timerlatEntry:
		num(uint64(r.u32(0)))
		num(uint64(r.u32(1)))
		num(r.u64(2))
	}
	dst[len(dst)-1] = '\n'
	return dst
}
