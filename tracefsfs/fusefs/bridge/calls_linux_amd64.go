package bridge

import "golang.org/x/sys/unix"

// observable are the system calls that are observed beside the tree: those that name a file
// by its path, but readlink, of which gcc makes hundreds, and those of extended attributes, of
// which `ls -l` makes three for each file.
//
// A call that is observed takes ten times as long as without (docs/performance.md). These
// calls are rare beside those on open files, which are not observed for that reason.
var observable = []pathCall{
	{nr: unix.SYS_OPEN},
	{nr: unix.SYS_OPENAT, path: 1, at: true},
	{nr: unix.SYS_CREAT},
	{nr: unix.SYS_CHDIR},
	{nr: unix.SYS_MKDIR},
	{nr: unix.SYS_MKDIRAT, path: 1, at: true},
	{nr: unix.SYS_RMDIR},
	{nr: unix.SYS_UNLINK},
	{nr: unix.SYS_UNLINKAT, path: 1, at: true},
	{nr: unix.SYS_RENAME, path: 1, two: true, moves: true},
	{nr: unix.SYS_SYMLINK, path: 1, two: true},
	{nr: unix.SYS_SYMLINKAT, path: 2, at: true, two: true},
	{nr: unix.SYS_EXECVE},
	{nr: unix.SYS_ACCESS},
	{nr: unix.SYS_NEWFSTATAT, path: 1, at: true, flags: 3},
	{nr: unix.SYS_STATX, path: 1, at: true, flags: 2},
	{nr: unix.SYS_READLINK, reads: readsLink, asked: true},
	{nr: unix.SYS_GETXATTR, reads: readsAttribute, asked: true},
	{nr: unix.SYS_LGETXATTR, reads: readsAttribute, asked: true},
}

// way is how the kernel looks for the file of a call: with which flags of open(2), and
// whether the call makes the file, which must not be there yet then. It is not known of a
// call that does not mind, and of execve.
func (c pathCall) way(args [6]uint64) (flags uint64, makes, known bool) {
	switch c.nr {
	case unix.SYS_OPEN, unix.SYS_OPENAT:
		opens := args[c.path+1]
		return opens & (unix.O_NOFOLLOW | unix.O_DIRECTORY), false, opens&unix.O_CREAT == 0
	case unix.SYS_NEWFSTATAT, unix.SYS_STATX:
		if args[c.flags]&unix.AT_SYMLINK_NOFOLLOW != 0 {
			flags = unix.O_NOFOLLOW
		}
		return flags, false, true
	case unix.SYS_MKDIR, unix.SYS_MKDIRAT, unix.SYS_SYMLINK, unix.SYS_SYMLINKAT:
		return unix.O_NOFOLLOW, true, true
	case unix.SYS_UNLINK, unix.SYS_UNLINKAT, unix.SYS_RENAME, unix.SYS_READLINK, unix.SYS_LGETXATTR:
		return unix.O_NOFOLLOW, false, true
	case unix.SYS_RMDIR:
		return unix.O_NOFOLLOW | unix.O_DIRECTORY, false, true
	case unix.SYS_CHDIR:
		return unix.O_DIRECTORY, false, true
	case unix.SYS_ACCESS, unix.SYS_GETXATTR:
		return 0, false, true
	}
	return 0, false, false
}

const (
	sysExecve = unix.SYS_EXECVE
	sysChdir  = unix.SYS_CHDIR
	sysPrctl  = unix.SYS_PRCTL
)
