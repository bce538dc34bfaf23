// Package cell runs a program of this computer that shall use the emulation and
// believe it is the kernel's: ftracelab exec.
//
//	ftracelab exec ── Reexec ──→ itself in mounts of its own: the server
//	                               │ New       the trees are mounted where nobody else looks
//	                               └ Run ────→ itself in all namespaces of the cell
//	                                             │ furnish    mounts: what is there
//	                                             │ dropRights capabilities
//	                                             │ filter     system calls
//	                                             └ watch ───→ the program, whose calls
//	                                                          the server observes
//
// The program must never reach the host's tracing, nor the server. It is to find:
//
//   - Mounts of its own. File systems of the kernel are taken out wherever they are
//     (see interfaces); /proc and /sys are mounted anew and can only be read, with the
//     overlays on them; /dev has six devices, terminals and shared memory. What is left
//     are the host's files, and no device among them opens. After all is set up the mounts
//     are read again: if a path leads to one of the host's that must not be there, the
//     cell does not start.
//   - Processes of its own: a PID namespace. The server is not in it. Its first process,
//     which has no more rights than the program, lets nobody look into it.
//   - A network that is a loopback of its own (unless Config.Network), and shared memory
//     and message queues of its own.
//   - Few capabilities (see rights), no_new_privs, and EPERM of the system calls that
//     mount, make or enter namespaces, open files by handles, or change the kernel (see
//     forbidden). Calls of another architecture end the process.
//   - No descriptor but the three standard ones, which must not be folders; and the working
//     folder by its name.
//
// A test in cmd/ftracelab tries some eighty ways out, of root and of nobody.
//
// What this does not keep it from: the host's files are the host's. A program that root
// runs may write what root may write, and connect to sockets that are files, as those of
// a container engine or of X. It keeps clients from the host's kernel and processes; it is
// no place for programs that nobody trusts.
//
// Without root a cell is made in a user namespace, where the host allows one and /dev/fuse
// can be opened. The host's mounts cannot be taken out there, so they are covered, and the
// program cannot uncover them.
//
// Which processes a program starts and which files it names is shown in the trace, so the
// server is told of these calls before they happen (Program.Observe). That restricts
// nothing: what a program must not do is forbidden as above.
//
// What FUSE cannot say of a mount, the server says when a program asks (answer_linux.go): what
// is mounted, of which type it is, and that files without a size cannot be copied within the
// kernel.
//
// A program that maps trace_pipe_raw would fail, as FUSE and a FIFO cannot do both splice
// and mmap. The server is told of shared mappings as well, and gives the program another file
// before it goes on (mmap_linux.go).
//
// Departure: perf_event_open is EPERM, or the host's (Config.PerfEvents).
//
// Departure: a program in a cell cannot be stopped by the terminal (SIGTSTP); a shell in a
// cell can stop its own.
//
// Left out: systems other than Linux, Linux before 5.12, architectures other than amd64 and
// arm64.
package cell
