package sampler

import (
	"fmt"
	"io"

	"ftracelab/machine"
)

// Text writes records in the form of perf script --no-merge-callchains.
//
//	bash     206 [002]     0.002705:      20000 cycles:P:
//		ffffffff81234567 vfs_read+0x17 ([kernel.kallsyms])
//		       300000003 (cookie) ([unknown])
//
//	bash     206 [002]     0.002709: DEFERRED CALLCHAIN [cookie: 300000003]
//		    7ffff7e9bea9 [unknown] (/lib/x86_64-linux-gnu/libc.so.6)
//
// Kernel: perf_sample__fprintf_start, process_event and
// process_deferred_sample_event, tools/perf/builtin-script.c of 6.19.
type Text struct {
	w       io.Writer
	symbols *machine.Kallsyms
	period  machine.Time
	line    []byte
}

// NewText returns a writer of the records of s.
func NewText(w io.Writer, s *Sampler) *Text {
	return &Text{w: w, symbols: s.m.Kallsyms(), period: s.cfg.Period}
}

// Write writes a record.
func (t *Text) Write(r *Record) error {
	b := fmt.Appendf(t.line[:0], "%s %7d [%03d] %5d.%06d: ", r.Comm, r.TID, r.CPU, r.Time/1e9, r.Time/1e3%1e6)
	if r.Deferred {
		b = fmt.Appendf(b, "DEFERRED CALLCHAIN [cookie: %x]\n", uint64(r.Cookie))
		for i, ip := range r.IPs {
			b = frame(b, ip, "[unknown]", r.Files[i])
		}
	} else {
		b = fmt.Appendf(b, "%10d cycles:P: \n", t.period)
		for _, ip := range r.IPs {
			b = t.kernelFrame(b, ip)
		}
		if r.Cookie != 0 {
			b = frame(b, uint64(r.Cookie), "(cookie)", "")
		}
	}
	t.line = append(b, '\n')
	_, err := t.w.Write(t.line)
	return err
}

// frame appends the line of an address. A file that is not known is [unknown].
func frame(b []byte, ip uint64, name, file string) []byte {
	if file == "" {
		file = "[unknown]"
	}
	return fmt.Appendf(b, "\t%16x %s (%s)\n", ip, name, file)
}

func (t *Text) kernelFrame(b []byte, ip uint64) []byte {
	name, module, offset, _, ok := t.symbols.Lookup(ip)
	if !ok {
		return frame(b, ip, "[unknown]", "[kernel.kallsyms]")
	}
	if module == "" {
		module = "kernel.kallsyms"
	}
	return frame(b, ip, fmt.Sprintf("%s+0x%x", name, offset), "["+module+"]")
}
