package memory

import "ftracelab/machine"

// Flags of open, and those that a file does not keep.
//
// Kernel: include/uapi/asm-generic/fcntl.h; do_dentry_open, fs/open.c.
const (
	openLarge = 0x8000
	openOnly  = 0x40 | 0x80 | 0x100 | 0x200 // create, exclusive, no terminal, truncate
)

// Modes of a file.
//
// Kernel: include/linux/fs.h.
const (
	modeRead     = 0x1
	modeWrite    = 0x2
	modeSeekable = 0x4 | 0x8 | 0x10 // FMODE_LSEEK, FMODE_PREAD, FMODE_PWRITE
	modeAtomic   = 0x8000           // FMODE_ATOMIC_POS
	modeWriter   = 0x10000
	modeCanRead  = 0x20000
	modeCanWrite = 0x40000
	modeOpened   = 0x80000
	modeDirect   = 0x400000 // FMODE_CAN_ODIRECT
)

// file gives the address of the file that t has open as fd, or that its system call
// opens. If a probe has seen the open, it is known how the file was opened; otherwise
// it is guessed from what the system call does.
func (mem *Memory) file(t *machine.Task, fd int64, path string) uint64 {
	o := mem.object(kindFile, key{uint64(t.TGID)<<20 | uint64(fd)&0xfffff, path})
	stay := t.Stay()
	if flags, ok := callArg(stay, "flags"); ok && len(calls[stay.NR].paths) > 0 {
		o.flags = flags | openLarge
	} else if o.task == nil {
		o.flags = openLarge
		if stay.Kind == machine.Syscall && stay.NR == 1 {
			o.flags |= 1
		}
	}
	o.task = t
	return o.addr
}

// opening reports whether a file is about to be opened; it has no inode yet.
func (mem *Memory) opening() bool { return mem.at.fn != nil && mem.at.fn.opens && !mem.at.left }

// fileMode gives f_mode, which tells how a file was opened and what can be done with
// it.
//
// Kernel: OPEN_FMODE, include/linux/fs.h; do_dentry_open, fs/open.c.
func fileMode(mem *Memory, o *object) uint64 {
	mode := (o.flags + 1) & (modeRead | modeWrite)
	if mem.opening() {
		return mode
	}
	if mode&modeRead != 0 {
		mode |= modeCanRead
	}
	if mode&modeWrite != 0 {
		mode |= modeCanWrite | modeWriter
	}
	return mode | modeSeekable | modeAtomic | modeOpened | modeDirect
}

func fileInode(mem *Memory, o *object) uint64 {
	if mem.opening() {
		return 0
	}
	return mem.inode(o.text)
}
