package fusefs

import (
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is how many symbolic links may lie on a path.
//
// Kernel: MAXSYMLINKS, include/linux/namei.h.
const maxLinks = 40

// reach opens what a path that a client gave leads to (O_PATH), as open(2) would, but it
// looks no name up in the mounts that the helper keeps (EACCES). The server may hold a lock
// until the helper is back, without which it cannot answer there.
func (s *helperSide) reach(name string) (at int, err error) {
	begin := "."
	if strings.HasPrefix(name, "/") {
		begin = "/"
	}
	if at, err = unix.Open(begin, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return -1, err
	}
	for links := 0; ; {
		st, err := statAt(at)
		if err == nil && s.keeps(st) {
			err = unix.EACCES
		}
		if err != nil {
			unix.Close(at)
			return -1, err
		}
		if name = strings.TrimLeft(name, "/"); name == "" {
			return at, nil
		}
		part, rest, _ := strings.Cut(name, "/")
		next, err := unix.Openat(at, part, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			unix.Close(at)
			return -1, err
		}
		target, isLink := linkAt(next)
		switch {
		case !isLink:
			unix.Close(at)
			at, name = next, rest
			continue
		case strings.HasPrefix(target, "/"):
			unix.Close(at)
			at, err = unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
		unix.Close(next)
		if links++; err == nil && links > maxLinks {
			unix.Close(at)
			err = unix.ELOOP
		}
		if err != nil {
			return -1, err
		}
		name = target + "/" + rest
	}
}

// statAt looks at what a descriptor stands for. It asks no server.
func statAt(fd int) (st unix.Statx_t, err error) {
	const flags = unix.AT_EMPTY_PATH | unix.AT_STATX_DONT_SYNC
	err = unix.Statx(fd, "", flags, unix.STATX_BASIC_STATS, &st)
	return st, err
}

// linkAt is what a symbolic link says.
func linkAt(fd int) (target string, isLink bool) {
	st, err := statAt(fd)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", false
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buf)
	if err != nil {
		return "", false
	}
	return string(buf[:n]), true
}

// keeps says that a file is of a mount that the helper keeps.
func (s *helperSide) keeps(st unix.Statx_t) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.mounts {
		if m.major == st.Dev_major && m.minor == st.Dev_minor {
			return true
		}
	}
	return false
}
