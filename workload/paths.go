package workload

import (
	"strconv"

	"ftracelab/machine"
)

// PathOf gives the path to which the argument arg of t's system call points.
//
// Departure: for the processes in the captures, only the paths of their programs are
// known. The paths that they open are made up to fit how they are opened: a shell's
// output goes to /dev/null, a program looks for its libraries.
func (w *mix) PathOf(t *machine.Task, arg int) string {
	switch d := t.Data.(type) {
	case *guest:
		return d.doing.pathAt(t.Stay().Args[arg])
	case *daemon:
		return daemonFiles[6]
	case *life:
		if d.stay == nil {
			break
		}
		if d.stay.Path != "" {
			return d.stay.Path
		}
		return opened(t.Comm, d.stay)
	case *trail:
		if stay := t.Stay(); stay.NR >= 0 {
			return opened(t.Comm, &ScriptStay{NR: int32(stay.NR), Args: stay.Args, Ret: stay.Ret})
		}
	}
	return "/"
}

// FileOf gives the path of the file that t has open as fd, which is the path of the
// last call that returned this descriptor.
func (w *mix) FileOf(t *machine.Task, fd int64) string {
	switch d := t.Data.(type) {
	case *guest:
		if d.doing.Path != "" {
			return d.doing.Path
		}
	case *daemon:
		if path, ok := daemonFiles[fd]; ok {
			return path
		}
	case *life:
		stays := w.model.Scripts[d.script].Stays
		for pos := min(d.pos, len(stays)) - 1; pos >= 0; pos-- {
			s := &stays[pos]
			if s.Ret != fd || fd < 0 {
				continue
			}
			switch s.NR {
			case sysOpenat:
				return opened(t.Comm, s)
			case sysPipe, sysPipe2:
				return pipeName(d.script, pos)
			case sysSocket:
				return "socket:[" + strconv.Itoa(10000+pos) + "]"
			}
		}
	}
	if fd >= 0 && fd <= 2 {
		return "/dev/pts/0"
	}
	return "/" + strconv.FormatInt(fd, 10)
}

func pipeName(script, pos int) string {
	return "pipe:[" + strconv.Itoa(20000+100*script+pos) + "]"
}

// System calls that return descriptors.
const (
	sysPipe   = 22
	sysSocket = 41
	sysOpenat = 257
	sysPipe2  = 293
)

// daemonFiles are the daemon's files by descriptor.
var daemonFiles = map[int64]string{4: "/dev/kmsg", 5: "/run/log/journal/system.journal", 6: "/proc/1/comm"}

// Flags of open, include/uapi/asm-generic/fcntl.h.
const (
	openWriteOnly = 0x1
	openReadWrite = 0x2
	openCreate    = 0x40
	openDirectory = 0x10000
)

// Files that processes look up, files that they open for reading, and folders that they
// list.
var (
	libraries = []string{
		"/lib/x86_64-linux-gnu/libc.so.6", "/etc/ld.so.cache", "/lib/x86_64-linux-gnu/libtinfo.so.6",
		"/lib/x86_64-linux-gnu/libselinux.so.1", "/usr/lib/locale/locale-archive", "/etc/passwd", "/proc/self/maps",
	}
	lost = []string{
		"/etc/ld.so.preload", "/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v3/libc.so.6",
		"/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v2/libc.so.6", "/usr/lib/locale/C.UTF-8/LC_CTYPE",
	}
	directories = []string{"/usr/share", "/tmp", "/usr/lib", "/etc", "/proc", "."}
)

// opened gives the path that a process with the name comm opens.
func opened(comm string, s *ScriptStay) string {
	name, flags := s.Args[0], uint64(0)
	if s.NR == sysOpenat {
		name, flags = s.Args[1], s.Args[2]
	}
	pick := func(list []string) string { return list[(name>>4^name>>12)%uint64(len(list))] }
	switch {
	case flags&openDirectory != 0:
		return pick(directories)
	case flags&openWriteOnly != 0 && (comm == "bash" || comm == "sh"):
		return "/dev/null"
	case flags&openReadWrite != 0 && flags&openCreate != 0:
		return "/tmp/sh-thd." + strconv.FormatUint(name>>4&0xffff, 10)
	case flags&openWriteOnly != 0:
		return "/tmp/out." + comm
	case s.Ret < 0:
		return pick(lost)
	}
	return pick(libraries)
}
