// Package ringbuf is the per-CPU ring buffer of Linux 6.12, byte for byte: what
// a reader of per_cpu/cpuN/trace_pipe_raw gets from the kernel it gets from
// here, given the same events at the same times.
//
// # The ring
//
// Each CPU has a ring of sub-buffers, by default of 4096 bytes, and one more
// beside it, the reader page:
//
//	 reader page            the ring, the writer goes →
//	+-----------+    +------+   +------+   +------+   +------+
//	| being read|    | full |-->| full |-->| open |-->| free |--+
//	+-----------+    +------+   +------+   +------+   +------+  |
//	      |             ^ ^                   ^ ^               |
//	      +-------------+ |                   | tail page: the next event goes here
//	        its next      |                   commit page: all before its commit
//	                      |                   index is finished
//	                      +-- head page: the oldest        (back to the head)
//
// When the reader page is read to its end, it trades places with the head page.
// So the writer never overwrites what is being read, and a reader who wants
// whole pages gets them without anything being copied event by event. A
// reader that is faster than the writer takes the page that the writer is on;
// the writer finds its way back through the page's next pointer. When the tail
// comes round to the head, the oldest page is overwritten and its events are
// counted as overrun, or, with overwriting off, the new event is dropped.
//
// # Writing
//
// Reserve takes room at the tail and the time of the event, the caller fills it
// in place, Commit makes it readable. An interrupt may come in between and do the
// same: events nest like the contexts, and are in the order of their Reserve.
// Only the end of the outermost moves the commit, so what a reader finds is
// always complete. Discard takes an event back.
//
// # The bytes
//
// A sub-buffer begins with a 64-bit time stamp and a 64-bit commit word, the
// number of bytes that follow. An event begins with 32 bits: 5 of type_len and
// 27 of time since the event before. The first event of a page has the time of
// the page. See DumpPage, and its example.
//
//	type_len  1…28  data, 4·type_len bytes
//	             0  data, its length + 4 in the next word
//	            29  padding: a discarded event, or nothing more on this page
//	            30  time extend: 32 more bits for the delta of the next event
//	            31  absolute stamp: the time of the next event, 59 bits
//
// PageReader decodes a page without trusting it; the writer keeps a Ledger of
// where its bytes went, PageLedger finds the same from the page.
//
// # What is modelled
//
// The kernel's contexts nest on one goroutine: a Buffer's CPU is used by one
// goroutine at a time, for writing as for reading. Nesting is real, though, and
// the time stamp protocol of the kernel (before_stamp and write_stamp, points A
// to F) is here, since its traces are on the pages: absolute stamps after a
// discard, deltas of 0 after an interruption. The commit index is an atomic
// word, stored by the writer after the bytes below it.
//
// Left out: memory mapped and persistent buffers, sleeping readers (see
// WatermarkHit for when to wake them), 8-byte alignment and big-endian hosts.
//
// Kernel: kernel/trace/ring_buffer.c, include/linux/ring_buffer.h,
// Documentation/trace/ring-buffer-design.rst.
package ringbuf
