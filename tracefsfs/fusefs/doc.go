// Package fusefs serves a tracefs to programs that know nothing of ftracelab: a
// FUSE file system of the tree that package tracefsfs holds.
//
//	client ── open, read, write ──→ kernel ── FUSE ──→ Mount ── Handle ──→ tracer
//	client ── splice, select ─────→ FIFO ←── pump ───┘   │
//	                                                     └── Clock ──→ machine
//
// What a client can tell from a real tracefs is kept to what FUSE cannot do:
//
//   - O_TRUNC arrives with the open (atomic O_TRUNC), each write(2) is one
//     Handle.Write, and what a file does at the end of writing happens in close(2)
//     (FLUSH), before the next command of a script looks at it.
//   - No content is cached: files have size 0 and direct I/O; every errno passes.
//   - trace_pipe blocks, is interrupted by a signal and honours O_NONBLOCK of open(2).
//   - trace_pipe_raw is a FIFO, because splice(2) on a file of FUSE does not reach its
//     server: the kernel's own pipe gives clients splice, poll(2) and select(2), and a
//     pump moves sub-buffers into it (see fifo).
//   - poll(2) waits on trace_pipe and hist (see device and Config.Polls).
//   - Each file has an owner and a mode, set by chown, chmod and a remount, and the kernel
//     checks them as it does for tracefs.
//
// A server must not wait for itself. Whatever goes through the mount on its behalf (opening
// FIFOs, looking at a path that a client gave) does a second process, the Helper, which does
// not have the device and takes the mount away when the server has ended. A third one, which
// the user has started, may see to it that both come to an end (Supervise).
//
//	Supervise ── starts, signals, kills ──→ server ── jobs ──→ Helper ── opens ──→ mount
//	    └─────────────── a leash: when it ends, the mount goes ───┘ └ aborts, unmounts ┘
//
// Simulated time is live here: it follows the wall clock, and each request moves
// it by a scheduling round (Clock). Nothing below this package knows.
//
// Departure: errno 524 (ENOTSUPP), which no FUSE server can send, is EOPNOTSUPP.
//
// Departure: the type of the mounted file system is fuse.tracefs, statfs says FUSE, and
// splice, sendfile and copy_file_range find each file empty, as FUSE does of files without a
// size. Package cell answers these calls of its programs.
//
// Departure: without Config.Polls, poll(2) says of each file at once that it can be read and
// written, and a read of trace_pipe waits, while tracing is on, although O_NONBLOCK is
// set, unless it was set by open(2). With it, epoll_ctl(2) accepts each file, where the
// kernel answers EPERM for those without a poll operation, and who waits is woken every
// 10 ms to look.
//
// Departure: lseek(2) to a place counted from the end is 0 plus the offset, where most files
// of a kernel answer EINVAL. Times cannot be set, and truncate(2) to a length leaves the size 0.
//
// Departure: opening trace_pipe_raw moves that CPU's pages from the ring to the FIFO, because
// a reader that does not wait must find them; what was not read when it is closed stays
// there for the next reader. Where it is not known whether a lookup is for an open
// (Config.Opens), each lookup does so while tracing is off, and none while it is on.
//
// Left out: mmap of trace_pipe_raw where the kernel does not ask this process before (see
// Map): it is ENODEV, and clients do without. Systems other than Linux.
//
// Kernel: fs/tracefs/inode.c, fs/fuse/file.c, fs/fuse/dir.c.
package fusefs
