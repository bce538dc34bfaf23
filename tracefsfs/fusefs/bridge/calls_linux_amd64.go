package bridge

import "golang.org/x/sys/unix"

// observable are the system calls that are observed beside the tree: those that open, make
// and remove files, change the folder, or execute a program.
//
// A call that is observed takes ten times as long as without (docs/performance.md). These
// calls are rare beside those on open files, which are not observed for that reason.
var observable = []pathCall{
	{nr: unix.SYS_OPEN},
	{nr: unix.SYS_OPENAT, path: 1},
	{nr: unix.SYS_CREAT},
	{nr: unix.SYS_CHDIR},
	{nr: unix.SYS_MKDIR},
	{nr: unix.SYS_MKDIRAT, path: 1},
	{nr: unix.SYS_RMDIR},
	{nr: unix.SYS_UNLINK},
	{nr: unix.SYS_UNLINKAT, path: 1},
	{nr: unix.SYS_RENAME, two: true, path: 1},
	{nr: unix.SYS_SYMLINK, two: true, path: 1},
	{nr: unix.SYS_SYMLINKAT, two: true, path: 2},
	{nr: unix.SYS_EXECVE},
}

const (
	sysExecve = unix.SYS_EXECVE
	sysChdir  = unix.SYS_CHDIR
)
