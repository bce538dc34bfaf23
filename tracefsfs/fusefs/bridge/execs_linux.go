package bridge

import (
	"encoding/binary"
	"errors"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// execs are the files that processes execute, as fanotify tells: each comes with the
// file opened, so its path is to be had when the process has ended already.
//
// Departure: such a process is called by its program's file, "dash", where the
// kernel calls it by the name it was executed by, "sh". Programs on other file
// systems than those of the root and of the shell keep the name of the task
// that forked them.
//
// Kernel: fs/notify/fanotify, include/uapi/linux/fanotify.h.
type execs struct {
	fd   int
	buf  []byte
	path map[int]string // by process: the first file since its last program
}

// maxExecs bounds the processes whose new program nobody has asked for.
const maxExecs = 1000

// Layout of a message: its length, version, flags, a mask, a descriptor, a process.
const (
	execHeader = 24
	execFD     = 16
	execPID    = 20
)

// listenExecs opens fanotify on the file systems of the root and of the shell. It needs
// CAP_SYS_ADMIN in the host's own namespaces.
func listenExecs() (*execs, error) {
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_LARGEFILE)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"/", "/bin/sh"} {
		if err = unix.FanotifyMark(fd, unix.FAN_MARK_ADD|unix.FAN_MARK_FILESYSTEM, unix.FAN_OPEN_EXEC, unix.AT_FDCWD, name); err != nil {
			unix.Close(fd)
			return nil, err
		}
	}
	return &execs{fd: fd, buf: make([]byte, 4096), path: map[int]string{}}, nil
}

func (e *execs) close() {
	if e != nil {
		unix.Close(e.fd)
	}
}

// take is the file that a process has begun to execute, "" if nobody told.
func (e *execs) take(pid int) string {
	if e == nil {
		return ""
	}
	e.drain()
	name := e.path[pid]
	delete(e.path, pid)
	return name
}

// drain takes note of what was executed by now.
func (e *execs) drain() {
	for {
		n, err := unix.Read(e.fd, e.buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n <= 0 {
			return
		}
		parseExecs(e.buf[:n], func(fd, pid int) {
			name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
			unix.Close(fd)
			if err == nil {
				e.note(pid, name)
			}
		})
	}
}

// note keeps the file of a process: not its loader, nor the interpreter of a script.
func (e *execs) note(pid int, name string) {
	if e.path[pid] != "" || strings.HasPrefix(path.Base(name), "ld-") {
		return
	}
	if len(e.path) >= maxExecs {
		clear(e.path)
	}
	e.path[pid] = name
}

// parseExecs calls tell with the descriptor and the process of each message in buf.
func parseExecs(buf []byte, tell func(fd, pid int)) {
	for len(buf) >= execHeader {
		size := int(binary.NativeEndian.Uint32(buf))
		if size < execHeader || size > len(buf) {
			return
		}
		fd, pid := int(int32(binary.NativeEndian.Uint32(buf[execFD:]))), int(int32(binary.NativeEndian.Uint32(buf[execPID:])))
		if fd >= 0 {
			tell(fd, pid)
		}
		buf = buf[size:]
	}
}
