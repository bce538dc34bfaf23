// Package tracedat reads and writes trace.dat, the file of trace-cmd: the pages of a
// trace with all that is needed to read them elsewhere.
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
// [Open] and [New] read either form; kernels of 32 or 64 bit and of both byte orders
// are read. A file has one [Buffer] for the top of the tracefs and one for each
// instance. [File.Pages] gives their pages, and [File.Folder] the whole as the capture
// folder that package capture reads.
//
// [Write] writes a little-endian 64-bit file of either version; what a [File] holds,
// [Meta] and [Source] values, is what Write takes, so that reading and writing is
// converting.
//
// # Memory
//
// The parts around the pages are held as they are, and taken from a [budget.Budget]
// before they are read or unpacked: a file that claims, or packs, more than there is
// memory for is refused before anything is allocated. Of the pages of a CPU one chunk is
// held, at most 16 MiB; whoever reads them takes that from a budget, see [SourceFile].
//
// # Errors
//
// What is impossible is an [*Error] that says at which byte of the file, and where that
// byte is packed, at which byte of what was packed.
//
// Format: trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5) of trace-cmd, and what its
// version 3.1.6 reads and writes.
//
// Departure: pages are packed with the compressor's default level; trace-cmd takes
// another, so the sizes of packed files differ.
//
// Departure: host and guest traces (options TIME_SHIFT, GUEST and TSC2NSEC) keep their
// options when converted, but their times are not shifted.
package tracedat
