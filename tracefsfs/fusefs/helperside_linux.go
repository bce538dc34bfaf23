package fusefs

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// helperSide is the state of the helper's process.
type helperSide struct {
	conn *net.UnixConn

	mu     sync.Mutex
	ended  bool
	mounts map[string]*held // by their folder
}

// held is a mount that the helper takes away in the end.
type held struct {
	id           uint64 // of mountOf
	major, minor uint32 // of its files
	abort        int    // the connection's switch, see abortSwitch; -1: there is none
}

// helperMain is a helper's whole life: until its server, or who holds the leash, ends.
func helperMain() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	end := os.NewFile(helperFD, "server")
	conn, err := net.FileConn(end)
	unix.Close(helperFD) // not end, which waits: conn has a copy
	socket, ok := conn.(*net.UnixConn)
	if err != nil || !ok {
		fmt.Fprintln(os.Stderr, "helper: not started by its server:", err)
		os.Exit(1)
	}
	s := &helperSide{conn: socket, mounts: map[string]*held{}}
	go func() { <-signals; s.end() }()
	go s.watchLeash(helperFD + 1)
	s.serve()
	s.end()
}

// watchLeash waits for the end of who supervises the server (see Supervise), if anybody.
func (s *helperSide) watchLeash(fd int) {
	if os.Getenv(leashEnv) != "" && endOf(fd) {
		s.end()
	}
}

// endOf waits until the other end of a socket is gone; false: it is none.
func endOf(fd int) bool {
	unix.CloseOnExec(fd)
	buf := make([]byte, 1)
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case errors.Is(err, unix.EINTR) || n > 0:
		default:
			return err == nil || errors.Is(err, unix.ECONNRESET)
		}
	}
}

// end takes away all mounts and ends the process. First their connections are cut, which
// frees whoever waits for an answer, threads of this process among them.
func (s *helperSide) end() {
	s.mu.Lock() // for good
	s.ended = true
	for _, m := range s.mounts {
		m.cut()
	}
	for dir, m := range s.mounts {
		if now, err := mountOf(dir); err == nil && now == m.id {
			_ = unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		}
	}
	os.Exit(0)
}

// serve does jobs, each beside the others, as long as there is a server.
func (s *helperSide) serve() {
	buf, control := make([]byte, maxJob), make([]byte, unix.CmsgSpace(4*maxFiles))
	for {
		n, controls, _, _, err := s.conn.ReadMsgUnix(buf, control)
		if err != nil || n == 0 {
			return
		}
		files := descriptors(control[:controls])
		var j job
		if err := gob.NewDecoder(bytes.NewReader(buf[:n])).Decode(&j); err != nil {
			return
		}
		go func() {
			r := reply{ID: j.ID}
			err := s.run(j, files, &r)
			closeAll(files)
			if err != nil {
				r.fail(err)
			}
			r.Files, r.More = len(r.files), len(r.files) > 0
			_ = send(s.conn, r, r.files) // the server may have ended
			if r.More {
				closeAll(r.files)
				_ = send(s.conn, reply{ID: r.ID}, nil)
			}
		}()
	}
}

// fail makes a reply one of an error.
func (r *reply) fail(err error) {
	var call *os.SyscallError
	r.What, r.Errno = "helper", syscall.EIO
	if errors.As(err, &call) {
		r.What = call.Syscall
	}
	errors.As(err, &r.Errno)
}

func (s *helperSide) run(j job, files []int, r *reply) error {
	switch j.Op {
	case opOpen:
		return open(j, r)
	case opOpenHost:
		return s.openHost(j, r)
	case opStat:
		return s.stat(j.Path, &r.Info)
	case opLook:
		look(j.Path)
		return nil
	case opPoll:
		return os.NewSyscallError("poll", pollOnce(j.Path))
	case opTouch:
		return os.NewSyscallError("utimensat", touch(j.Path))
	case opMount:
		return s.mount(j, files)
	case opForget:
		s.forget(j.Path)
		return nil
	}
	return syscall.ENOSYS
}

// open opens a file of the mount, whose name is good for once, as often as there are flags.
// All but the first opening go by what a descriptor stands for, which looks no name up.
func open(j job, r *reply) (err error) {
	at, err := unix.Open(j.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("open", err)
	}
	defer unix.Close(at)
	if err := reopen(at, j, r); err != nil {
		return err
	}
	// The name is no longer good, which the kernel has to hear: what it remembers of it
	// would keep the file, and all that it stands for, with the server.
	look(j.Path)
	return nil
}

// openHost opens a file outside of the mounts.
func (s *helperSide) openHost(j job, r *reply) error {
	at, err := s.reach(j.Path)
	if err != nil {
		return os.NewSyscallError("open", err)
	}
	defer unix.Close(at)
	return reopen(at, j, r)
}

// reopen opens what a descriptor stands for.
func reopen(at int, j job, r *reply) error {
	for _, flags := range j.Flags {
		fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", at), flags|unix.O_CLOEXEC, 0)
		if err != nil {
			closeAll(r.files)
			r.files = nil
			return os.NewSyscallError("open", err)
		}
		r.files = append(r.files, fd)
	}
	return nil
}

// look looks a name up.
func look(path string) {
	var st unix.Stat_t
	_ = unix.Lstat(path, &st)
}

// stat looks at a file outside of the mounts.
func (s *helperSide) stat(path string, info *FileInfo) error {
	at, err := s.reach(path)
	if err != nil {
		return os.NewSyscallError("stat", err)
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return os.NewSyscallError("stat", err)
	}
	*info = FileInfo{Dev: st.Dev, Ino: st.Ino, Mode: st.Mode, Size: st.Size}
	return nil
}

// pollOnce polls a file. The server answers that it cannot, and the kernel does not ask
// again: a program that is client and server in one, a test, could else wait for itself
// in Go's poller, with no thread left to answer.
func pollOnce(path string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return errors.Join(err, unix.Close(fd))
}

// touch sets when a file was modified. This tells whoever watches it with inotify that it
// was written to (IN_MODIFY), as long as it does not set when the file was read.
func touch(path string) error {
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Nsec: unix.UTIME_NOW}}
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, times, unix.AT_SYMLINK_NOFOLLOW)
}

// mount mounts a file system whose device is the server's, and knows from then on what
// to take away.
func (s *helperSide) mount(j job, files []int) error {
	if len(files) != 1 {
		return syscall.EMFILE
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return syscall.ESHUTDOWN
	}
	data := fmt.Sprintf("fd=%d,%s", files[0], j.Data)
	if err := unix.Mount(j.Source, j.Path, j.Type, unix.MS_NOSUID|unix.MS_NODEV, data); err != nil {
		return os.NewSyscallError("mount", err)
	}
	st, err := statMount(j.Path)
	if err != nil {
		return errors.Join(err, unix.Unmount(j.Path, unix.MNT_FORCE|unix.MNT_DETACH))
	}
	s.mounts[j.Path] = &held{id: st.Mnt_id, major: st.Dev_major, minor: st.Dev_minor, abort: abortSwitch(j.Path)}
	return nil
}

// forget leaves a mount alone that the server has taken away. Its connection is cut: a
// client may have unmounted it lazily, and use it still.
func (s *helperSide) forget(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.mounts[dir]; m != nil {
		m.cut()
		m.close()
		delete(s.mounts, dir)
	}
}
