package capture

import "bytes"

// perfHeader is the first line of a sample of perf script. Its slices point into
// the line.
//
//	go 21404 [003]  4747.513818:    2004008 cpu-clock:  (rest)
//	comm pid/tid cpu      time       period event
//
// cpu, the process of pid/tid and the period may be missing; rest is the frame of a
// sample without a call chain, or the text of a tracepoint.
//
// With --no-merge-callchains, a user stack that was unwound later has a block of its own:
//
//	pwd 2312 [001] 121.163447: DEFERRED CALLCHAIN [cookie: b00000006]
//
// Kernel: perf_sample__fprintf_start and process_deferred_sample_event,
// tools/perf/builtin-script.c of 6.19.
type perfHeader struct {
	comm   []byte
	tid    int32
	cpu    int
	hasCPU bool
	time   uint64
	period uint64
	event  []byte
	rest   []byte

	deferred bool   // the block is a user stack that was unwound later
	cookie   uint64 // its cookie
}

// parse reads a line. A comm may hold blanks and colons, so the time is the first
// "number.number:" that has a task in front of it.
func (h *perfHeader) parse(line []byte) bool {
	for at := 0; ; {
		i := bytes.IndexByte(line[at:], ':')
		if i < 0 {
			return false
		}
		at += i + 1
		if at < 3 || line[at-2] < '0' || line[at-2] > '9' {
			continue
		}
		start := bytes.LastIndexByte(line[:at-1], ' ') + 1
		time, fraction, ok := parseSeconds(line[start : at-1])
		if ok && fraction && h.task(line[:start]) && h.what(line[at:]) {
			h.time = time
			return true
		}
	}
}

// task reads comm, pid and cpu, the last of them first.
func (h *perfHeader) task(b []byte) bool {
	b = trimBlanks(b)
	h.cpu, h.hasCPU = 0, false
	if n := len(b); n > 2 && b[n-1] == ']' {
		i := bytes.LastIndexByte(b, '[')
		cpu, ok := parseUint(b[i+1 : n-1])
		if i < 0 || !ok || cpu >= maxCPUs {
			return false
		}
		h.cpu, h.hasCPU = int(cpu), true
		b = trimBlanks(b[:i])
	}
	i := bytes.LastIndexByte(b, ' ')
	if i < 0 {
		return false
	}
	id := b[i+1:]
	if slash := bytes.IndexByte(id, '/'); slash >= 0 {
		if _, ok := parseUint(id[:slash]); !ok {
			return false
		}
		id = id[slash+1:]
	}
	tid, ok := parseUint(id)
	if !ok && string(id) == "-1" { // perf prints that for a task that is gone
		tid, ok = 0, true
	}
	if !ok || tid > 1<<31-1 {
		return false
	}
	h.comm, h.tid = trimBlanks(b[:i]), int32(tid)
	return len(h.comm) > 0
}

// what reads the period and the event, which ends at a colon before a blank or at
// the end: names like sched:sched_switch and cycles:ppp hold colons.
func (h *perfHeader) what(b []byte) bool {
	b = trimBlanks(b)
	h.period, h.deferred, h.cookie = 0, false, 0
	if rest, ok := bytes.CutPrefix(b, []byte("DEFERRED CALLCHAIN [cookie: ")); ok {
		digits, ok := bytes.CutSuffix(rest, []byte("]"))
		h.event, h.rest, h.deferred = nil, nil, true
		if ok {
			h.cookie, ok = parseHex(digits)
		}
		return ok
	}
	if n := digits(b); n > 0 && n < len(b) && b[n] == ' ' {
		var ok bool
		if h.period, ok = parseUint(b[:n]); !ok {
			return false
		}
		b = trimBlanks(b[n:])
	}
	for at := 0; ; {
		i := bytes.IndexByte(b[at:], ':')
		if i < 0 || bytes.IndexByte(b[at:at+i], ' ') >= 0 {
			return false
		}
		at += i + 1
		if at == len(b) || b[at] == ' ' {
			h.event, h.rest = b[:at-1], trimBlanks(b[at:])
			return len(h.event) > 0
		}
	}
}

// trimBlanks removes blanks at both ends.
func trimBlanks(b []byte) []byte {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	return b
}
