// Package tracefile says what a file of the virtual tracefs is: a node with a
// name and a mode, and handles that read and write the way the kernel's files
// do. A component declares its files with it; tracefsfs hangs them in the tree;
// the shell, io/fs and FUSE only carry bytes to and from a Handle.
//
//	tracer, fgraph, stackmap …            declare Files beside what they show
//	        │  []Node
//	        ▼
//	     tracefsfs                        lookup, readdir, open
//	        │  Handle
//	   ┌────┴─────┬─────────┐
//	 shell      io/fs      FUSE           carry bytes, translate the errno
//
// The kinds bear the names of what the kernel builds its files from:
//
//	Value   simple show and store            buffer_size_kb, max_graph_depth
//	Flag    one bit, "0\n" or "1\n"          options/*
//	Seq     a seq_file: text of one moment   trace, available_events
//	Stream  a seq_file too long to hold      available_filter_functions
//	Pipe    takes what it reads, may wait    trace_pipe
//	Marker  write only, a write is a record  trace_marker
//
// A kind is a *File; OnWrite, OnTrunc and OnTokens add to one what the kernel's
// file does beside reading.
//
// One write(2) is one call of Handle.Write, however long: commands are parsed
// from it as the kernel parses them (ParseUserUlong, Parser), and an error carries
// the errno that write(2) returns. An error with more to say wraps the errno
// with Errorf.
//
// Not modelled: seeking (every tracefs client reads on) and splice.
//
// Kernel: fs/tracefs/inode.c, fs/seq_file.c, kernel/trace/trace.c.
package tracefile
