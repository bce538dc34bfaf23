// Package tracefsfs is the tracefs itself: it hangs the files that components
// declare (tracefsfs/tracefile) into one tree and opens, reads and writes them by
// path, with the errno a Linux tracefs answers.
//
//	FS ── root Dir ─┬─ trace, tracing_on, …       *tracefile.File
//	                ├─ events/sched/sched_switch/ *tracefile.Dir
//	                └─ instances/                 the one folder with mkdir
//
// The tree is asked at each lookup and nothing is cached: an instance made by
// Mkdir is there for the next path. Files have size 0 and no time, as tracefs's.
//
// There are three ways in. Open, ReadFile, ReadDir and Stat make an FS an
// io/fs file system, so that fs.WalkDir, http.FileServerFS and testing/fstest
// work on it. OpenHandle gives a tracefile.Handle, which also writes and whose
// reads can be cancelled; package shell and FUSE stand on it. WriteFile and
// Append are "echo > file" and "echo >> file" for Go programs.
//
// What tracefs forbids is forbidden here: a file cannot be created (EACCES) or
// removed (EPERM), and mkdir and rmdir exist in instances only.
//
// Left out: ownership and the mount options that set it, hard links, times.
//
// Kernel: fs/tracefs/inode.c, fs/tracefs/event_inode.c.
package tracefsfs
