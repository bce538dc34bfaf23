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
// So the writer never overwrites what is being read, and a reader that wants
// whole pages gets them without copying event by event. A reader that is faster
// than the writer takes the page that the writer is on; the writer finds its
// way back through the page's next pointer. When the tail comes round to the
// head, the oldest page is overwritten and its events are counted as overrun,
// or, with overwriting off, the new event is dropped.
//
// # Writing
//
// Reserve takes room at the tail and the time of the event; the caller fills
// the room in place; Commit makes the event readable, and Discard takes it
// back. An interrupt may come anywhere in between and do the same: contexts
// nest, and each step of a write leaves a state that an interrupt can work
// with.
//
//	A  read the write index w, the two stamps, and the clock
//	B  before_stamp = time        "somebody is about to write"
//	C  write index += size        the room is ours; if it was w before, nobody came in between
//	D  write_stamp = time         "the last event has this time"
//
// A writer that finds the stamps unequal at A has interrupted another one
// between B and D; the time of the last event is not known then, and an
// absolute stamp is stored. A writer that finds at C that others were faster
// takes a new time (E) and looks whether the time of the last of them is known
// (F). If it is, the delta is counted from that time; otherwise a delta of 0 is
// stored.
//
// A task writes "two." after an event of 8 bytes at 1010, and is interrupted at
// B by an irq that writes as well. before and write are the two stamps; the
// clock counts tens:
//
//	task  A        before 1010, write 1010; 8 bytes written, 8 finished
//	task  B        before 1020, write 1010; 8 bytes written, 8 finished
//	  irq A        before 1020, write 1010; 8 bytes written, 8 finished
//	  irq B        before 1030, write 1010; 8 bytes written, 8 finished
//	  irq C        before 1030, write 1010; 24 bytes written, 8 finished
//	  irq D        before 1030, write 1030; 24 bytes written, 8 finished
//	  irq commits  before 1030, write 1030; 24 bytes written, 8 finished
//	  irq commit   before 1030, write 1030; 24 bytes written, 8 finished
//	  irq lowered  before 1030, write 1030; 24 bytes written, 8 finished
//	task  C        before 1030, write 1030; 32 bytes written, 8 finished
//	task  E        before 1040, write 1030; 32 bytes written, 8 finished
//	task  F        before 1040, write 1030; 32 bytes written, 8 finished
//	task  commits  before 1040, write 1030; 32 bytes written, 8 finished
//	task  commit   before 1040, write 1030; 32 bytes written, 32 finished
//	task  lowered  before 1040, write 1030; 32 bytes written, 32 finished
//	data[4] type_len=1 +0 = 1010: 6f 6e 65 2e
//	time stamp 1030 = 1030
//	data[4] type_len=1 +0 = 1030: 69 72 71 21
//	data[4] type_len=1 +10 = 1040: 74 77 6f 2e
//
// The irq finds 1020 ≠ 1010 at its A, so its event carries a stamp of 1030. The
// task finds at C that 24 bytes were written where it had seen 8: it takes 1040
// (E), and since nobody came after that (F), its event is 10 later than
// write_stamp. This is the example of Buffer.Interrupt, which calls a function
// at each point; try other interrupts there.
//
// If the room ends past the page, the writer gives it up, pads the page, moves
// the tail to the next one and tries again. If that page is the head, its
// events are the oldest and will be overwritten, so the head moves on first
// (see overwriteHead).
//
// Most events are not interrupted, need no more than a header, and follow
// another on their page. They take a short cut that leaves the same bytes
// (plain.go).
//
// Only the end of the outermost event moves the commit, up to where the tail is
// by then, so what a reader finds is always complete. See the examples of
// Buffer.Diagram and DumpPage.
//
// # Readers beside the writer
//
// One goroutine writes to a CPU's ring; any others read, at the same time. The
// writer takes no lock and never waits for a reader. They meet in few words:
//
//	commit word of a page   stored for each event, after its bytes. A reader looks at
//	                        nothing above it, and the writer changes nothing below.
//	                        It is the only atomic store that an event needs.
//	commit page             stored when the writer leaves a page for good. Then the
//	                        page is the reader's who takes it.
//	link to the head        the index of a page, and two bits. Reader and writer
//	                        compete for the head by compare-and-swap of this word: a
//	                        reader to put its empty page there, the writer to mark it
//	                        "update" while it moves the head. Whoever is second sees
//	                        it, and tries again.
//	held, serial of a page  an iterator holds the memory of the page it copies from;
//	                        a writer that comes round leaves it that memory and takes
//	                        other. So no byte is read while it is written, which the
//	                        memory model of Go demands and the kernel does without.
//
// Readers of one CPU take turns by a lock. A reader that waits (Wait) sleeps
// until a commit wakes it. A call that changes the ring itself (Reset, Resize,
// SwapCPU …) stops the writer between two events if the writer has called
// Online.
//
// # The bytes
//
// A sub-buffer begins with a 64-bit time stamp and a 64-bit commit word, the
// number of bytes that follow. An event begins with 32 bits: 5 of type_len and
// 27 of time since the event before. The first event of a page has the time of
// the page. See DumpPage and its example.
//
//	type_len  1…28  data, 4·type_len bytes
//	             0  data, its length + 4 in the next word
//	            29  padding: a discarded event, or nothing more on this page
//	            30  time extend: 32 more bits for the delta of the next event
//	            31  absolute stamp: the time of the next event, 59 bits
//
// PageReader decodes a page without trusting it. The writer keeps a Ledger of
// where its bytes went; PageLedger finds the same from the page.
//
// # What is modelled
//
// The kernel's contexts are nested calls on one goroutine. So the words that
// only they share are plain words where the kernel needs local_t. Readers are
// on other goroutines, as in the kernel they are on other CPUs. The tests run
// every interleaving, within bounds, of interrupts at all the points of the
// writer, steps of a reader and changes of the ring (TestEveryInterleaving),
// and all of it at full speed under the race detector (concurrent_test.go).
// What must hold is a table, invariants in invariants_test.go; a model checks
// it after each of its steps (TestModel). RINGBUF_CHECKS=100000,
// RINGBUF_SCENES=long and RINGBUF_SOAK=1m make the tests run longer. A failing
// test prints a RINGBUF_TAPE, with which that one interleaving runs alone.
//
// SwapCPU takes snapshots; Map shows the ring as a process that maps it sees
// it; Image and Recover are the ring in memory that survives a crash; Wait is
// buffer_percent.
//
// Left out: 8-byte alignment and big-endian hosts.
//
// Kernel: kernel/trace/ring_buffer.c, include/linux/ring_buffer.h,
// Documentation/trace/ring-buffer-design.rst.
package ringbuf
