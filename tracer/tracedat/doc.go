// Package tracedat reads and writes trace.dat, the file of trace-cmd. It holds the
// pages of a trace and everything that is needed to read them elsewhere.
//
//	version 6                            version 7
//	17 08 44 "tracing" "6" order long page   the same with "7", then compression and
//	header_page, header_event            ┐   where the options are
//	formats of ftrace/*                  │   ┌ section: id flags name size ┐
//	formats of the systems               ├── │ the same bodies, each in a  │ in any
//	kallsyms, printk_formats             │   │ section, packed or not      │ order
//	saved_cmdlines                       ┘   └─────────────────────────────┘
//	number of CPUs                           options: CPUCOUNT
//	options                                  options: where each section is,
//	table: pages of each CPU                 and the table of each buffer
//	pages                                    pages, packed by chunks
//
// [Open] and [New] read both versions, from machines of 32 or 64 bits and of either
// byte order. A file has one [Buffer] for the top of the tracefs and one for each
// instance. [File.Pages] gives the pages of a buffer. [File.Folder] shows a buffer as a
// capture folder, which package capture reads.
//
// [Write] writes a little-endian 64-bit file of either version. It takes [Meta] and
// [Source] values, which a [File] gives, so a file is converted by reading and writing
// it.
//
// # Memory
//
// The parts around the pages are kept in memory as they are. Their memory is taken from
// a [budget.Budget] before they are read or unpacked, so a file that claims, or unpacks
// to, more than the budget allows is refused before anything is allocated. Of the pages
// of a CPU, one chunk of at most 16 MiB is held at a time. The reader of the pages
// takes that from a budget, see [SourceFile].
//
// # Errors
//
// If something in a file cannot be right, the [*Error] tells at which byte of the file,
// and inside a packed part also at which byte of the unpacked content.
//
// The format is described in trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5); where these
// are silent, it is what trace-cmd 3.1.6 reads and writes.
//
// Departure: pages are packed with the default level of the compressor. trace-cmd uses
// another level, so the sizes of packed files differ.
//
// Departure: host and guest traces (options TIME_SHIFT, GUEST and TSC2NSEC) keep their
// options when converted, but their times are not shifted.
package tracedat
