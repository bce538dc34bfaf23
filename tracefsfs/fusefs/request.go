package fusefs

import "syscall"

// Request is what a client asks for.
type Request struct {
	PID  int // thread of the caller as this process sees it, 0 if the kernel did it on its own
	Op   Op
	Path string // relative to the mount
	Size int    // bytes asked for, of a read or a write
	// Errno is what it will fail with, where that is known before; 0 is nothing.
	Errno syscall.Errno
}

// Op is the system call behind a request.
type Op uint8

// The system calls that Config.Before is told of.
const (
	OpOpen Op = iota + 1
	OpRead
	OpWrite
	OpMkdir
	OpRmdir
	OpReadDir
	OpChdir // with Config.AskAccess
	OpIoctl
)
