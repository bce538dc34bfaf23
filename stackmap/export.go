package stackmap

import (
	"io"
	"strconv"
)

// trampoline stands for a frame in an ftrace trampoline, whose address says
// nothing once the trampoline is gone.
//
// Kernel: FTRACE_TRAMPOLINE_MARKER, trace.h.
const trampoline = 0x7fffffff

// Stats are the counters of stack_map_stat.
type Stats struct {
	Entries   uint64 // elements handed out since the last reset, duplicates included
	Capacity  uint64 // elements there are
	TableSize uint64 // slots
	Successes uint64 // calls that returned an id, first inserts included
	Drops     uint64 // calls that failed with ErrNoSpace; no other error counts
}

// Stats sums the counters of all CPUs.
func (m *Map) Stats() Stats {
	g := m.current.Load()
	hits, drops := g.counters.sums()
	entries := uint64(g.pool.entries())
	successes := entries + hits
	return Stats{
		Entries:   entries,
		Capacity:  uint64(m.cfg.capacity()),
		TableSize: uint64(m.cfg.slots()),
		Successes: m.cfg.counter(successes),
		Drops:     m.cfg.counter(drops),
	}
}

// successRate is the percentage of successes, rounded down; ok is false if
// nothing was counted yet.
func (s Stats) successRate() (percent uint64, ok bool) {
	sum := s.Successes + s.Drops
	if sum == 0 {
		return 0, false
	}
	return s.Successes * 100 / sum, true
}

// AppendText appends the text of stack_map_stat to dst.
//
// Kernel: stackmap_stat_show, trace_stackmap.c.
func (s Stats) AppendText(dst []byte) []byte {
	line := func(label string, n uint64) {
		dst = strconv.AppendUint(append(dst, label...), n, 10)
	}
	line("entries:      ", s.Entries)
	line(" / ", s.Capacity)
	line("\ntable_size:   ", s.TableSize)
	line("\nsuccesses:    ", s.Successes)
	line("\ndrops:        ", s.Drops)
	dst = append(dst, '\n')
	if percent, ok := s.successRate(); ok {
		line("success_rate: ", percent)
		dst = append(dst, "%\n"...)
	}
	return dst
}

// AppendStat appends the text of stack_map_stat to dst. For a nil map that text
// says that there is none.
func (m *Map) AppendStat(dst []byte) []byte {
	if m == nil {
		return append(dst, "stackmap not initialized\n"...)
	}
	return m.Stats().AppendText(dst)
}

// WriteText writes the text of stack_map to w, one stack after the other in
// order of their ids. sym appends the text of an address, name+0xoff/0xsize or,
// without a symbol, the bare number; a nil sym prints numbers only. An empty
// map writes nothing.
//
// Errors are those of w.
//
// Kernel: stackmap_seq_show, trace_stackmap.c.
func (m *Map) WriteText(w io.Writer, sym func(dst []byte, addr uint64) []byte) error {
	var buf []byte
	for s := range m.Slots() {
		if s.IPs == nil {
			continue
		}
		buf = appendHead(buf[:0], s.ID, s.Ref, len(s.IPs))
		for i, ip := range s.IPs {
			buf = appendIndex(buf, i)
			switch {
			case ip == trampoline && m.cfg.TrampolineText != "":
				buf = append(buf, m.cfg.TrampolineText...)
			case ip == trampoline || sym == nil:
				buf = appendHex(buf, ip)
			default:
				buf = sym(buf, ip)
			}
			buf = append(buf, '\n')
		}
		if _, err := w.Write(append(buf, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// AppendBinary appends the content of stack_map_bin to dst: a header of 16
// bytes (magic, version, number of stacks, 0), then per stack its id, depth and
// ref_count, 0, and the addresses; all little-endian.
//
// Kernel: stackmap_bin_open, trace_stackmap.c.
func (m *Map) AppendBinary(dst []byte) []byte {
	dst = appendU32(dst, m.cfg.ABI.Magic)
	dst = appendU32(dst, m.cfg.ABI.Version)
	count := len(dst) // known only after the walk
	dst = appendU64(dst, 0)
	var n uint32
	for s := range m.Slots() {
		if s.IPs == nil {
			continue
		}
		n++
		dst = appendU32(dst, s.ID)
		dst = appendU32(dst, uint32(len(s.IPs)))
		dst = appendU64(dst, uint64(s.Ref))
		for _, ip := range s.IPs {
			dst = appendU64(dst, ip)
		}
	}
	appendU32(dst[:count], n)
	return dst
}

// appendHead appends the first line of a stack, which stack_map and the dump
// tool share.
func appendHead(b []byte, id, ref uint32, depth int) []byte {
	b = strconv.AppendUint(append(b, "stack_id "...), uint64(id), 10)
	b = strconv.AppendUint(append(b, " [ref "...), uint64(ref), 10)
	b = strconv.AppendInt(append(b, ", depth "...), int64(depth), 10)
	return append(b, "]\n"...)
}

// appendIndex appends the number of a frame.
func appendIndex(b []byte, i int) []byte {
	b = strconv.AppendInt(append(b, "  ["...), int64(i), 10)
	return append(b, "] "...)
}

func appendHex(b []byte, n uint64) []byte {
	return strconv.AppendUint(append(b, "0x"...), n, 16)
}

func appendU32(b []byte, n uint32) []byte {
	return append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}

func appendU64(b []byte, n uint64) []byte {
	return appendU32(appendU32(b, uint32(n)), uint32(n>>32))
}
