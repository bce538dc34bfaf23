package fusefs

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Helper is a second process of the program that serves a mount. It does what may wait
// for the mount, which the server itself must never do: a process that is killed while
// one of its threads waits for an answer that only it could give keeps the device of the
// mount open, the kernel goes on to wait, and neither the process nor its clients end.
// The helper does not have the device. It also takes the mounts away when the server has
// ended, however that came about (see helperSide.end).
//
// It is this program once more (see init), in the mounts that the process had when
// StartHelper was called. A program needs one for all its mounts.
type Helper struct {
	cmd  *exec.Cmd
	conn *net.UnixConn

	mu      sync.Mutex
	nextID  uint64
	waiting map[uint64]chan<- reply
	gone    chan struct{} // closed when it answers no more
	over    chan struct{} // closed: its thread may go
}

// job is what the helper is asked for, reply is what it answers. Files go beside them.
type job struct {
	ID     uint64
	Op     operation
	Path   string
	Flags  []int  // of open, one for each file
	Source string // of mount
	Type   string
	Data   string
}

type reply struct {
	ID    uint64
	Errno syscall.Errno
	What  string // what failed
	Info  FileInfo
	Files int
	// More says that the helper still has the files open, too, and will reply once more
	// when it has not: whoever waits for the last end of a pipe to be closed has to know.
	More bool

	files []int
}

type operation uint8

const (
	opOpen operation = iota + 1
	opOpenHost
	opStat
	opLook
	opPoll
	opTouch
	opMount
	opForget
)

// FileInfo is what Helper.Stat finds.
type FileInfo struct {
	Dev, Ino uint64
	Mode     uint32 // as in stat(2)
	Size     int64
}

const (
	maxJob   = 64 << 10 // bytes
	maxFiles = 4
)

// helperEnv marks a process that is a helper. Its end of the connection is helperFD.
const (
	helperEnv = "FTRACELAB_FUSE_HELPER"
	helperFD  = 3
	helperArg = "(keeps its mount)" // what ps shows
)

// A program that imports this package can be its own helper, whatever its main does.
func init() {
	if os.Getenv(helperEnv) == "1" && len(os.Args) == 2 && os.Args[1] == helperArg {
		helperMain()
	}
}

// StartHelper starts a helper.
func StartHelper() (*Helper, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("helper: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(ends[0]), "helper"), os.NewFile(uintptr(ends[1]), "server")
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	ours.Close() // conn has a copy
	if err != nil {
		return nil, fmt.Errorf("helper: %w", err)
	}
	h := &Helper{
		conn: conn.(*net.UnixConn), waiting: map[uint64]chan<- reply{},
		gone: make(chan struct{}), over: make(chan struct{}),
	}
	h.cmd = exec.Command("/proc/self/exe", helperArg)
	h.cmd.Args[0] = os.Args[0]
	h.cmd.Env = append(os.Environ(), helperEnv+"=1")
	h.cmd.Stderr = os.Stderr
	h.cmd.ExtraFiles = []*os.File{theirs}
	if leash := takeLeash(); leash != nil {
		defer leash.Close()
		h.cmd.ExtraFiles = append(h.cmd.ExtraFiles, leash)
	}
	// Of a session of its own: what kills our group of processes does not reach it.
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
	if err := h.start(); err != nil {
		conn.Close()
		return nil, fmt.Errorf("helper: %w", err)
	}
	go h.receive()
	return h, nil
}

// start starts the process on a thread that stays, for when that thread ends the kernel
// tells the helper: also if others of this process do not.
func (h *Helper) start() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := h.cmd.Start()
		started <- err
		if err == nil {
			<-h.over
		}
	}()
	return <-started
}

// Close ends the helper, and with it whatever is still mounted.
func (h *Helper) Close() error {
	h.conn.Close()
	h.wake()
	err := h.cmd.Wait()
	close(h.over)
	if err != nil {
		return fmt.Errorf("helper: %w", err)
	}
	return nil
}

// wake makes sure that a helper that somebody has stopped hears of the end.
func (h *Helper) wake() { _ = h.cmd.Process.Signal(syscall.SIGCONT) }

// Gone is closed when the helper has ended.
func (h *Helper) Gone() <-chan struct{} { return h.gone }

// receive brings answers to those who wait for them.
func (h *Helper) receive() {
	buf, control := make([]byte, maxJob), make([]byte, unix.CmsgSpace(4*maxFiles))
	arrived := map[uint64]reply{} // those of which there is more
	for {
		n, controls, flags, _, err := h.conn.ReadMsgUnix(buf, control)
		if err != nil || n == 0 {
			break
		}
		files := descriptors(control[:controls])
		var r reply
		if err := gob.NewDecoder(bytes.NewReader(buf[:n])).Decode(&r); err != nil {
			break // it is not ours
		}
		if r.files = files; len(files) < r.Files || flags&unix.MSG_CTRUNC != 0 {
			closeAll(files) // this process has no room for more
			r.files, r.Errno, r.What = nil, syscall.EMFILE, "receive files"
		}
		if r.More {
			arrived[r.ID] = r
			continue
		}
		if first, ok := arrived[r.ID]; ok {
			delete(arrived, r.ID)
			r = first
		}
		h.mu.Lock()
		to := h.waiting[r.ID]
		delete(h.waiting, r.ID)
		h.mu.Unlock()
		if to == nil {
			closeAll(r.files) // nobody waits any more
			continue
		}
		to <- r
	}
	for _, r := range arrived {
		closeAll(r.files)
	}
	close(h.gone)
}

// do asks for a job and waits for the answer. It fails with EINTR when cancel is closed
// and with ESHUTDOWN when the helper is gone.
func (h *Helper) do(cancel <-chan struct{}, j job, files ...int) (reply, error) {
	answer := make(chan reply, 1)
	h.mu.Lock()
	h.nextID++
	j.ID = h.nextID
	h.waiting[j.ID] = answer
	h.mu.Unlock()
	err := send(h.conn, j, files)
	if err == nil {
		select {
		case r := <-answer:
			return r, r.err(j)
		case <-h.gone:
			err = syscall.ESHUTDOWN
		case <-cancel:
			err = syscall.EINTR
		}
	}
	h.mu.Lock()
	delete(h.waiting, j.ID)
	h.mu.Unlock()
	select {
	case r := <-answer: // it was on the way
		closeAll(r.files)
	default:
	}
	return reply{}, fmt.Errorf("helper: %w", err)
}

func (r reply) err(j job) error {
	if r.Errno == 0 {
		return nil
	}
	return fmt.Errorf("%s %s: %w", r.What, j.Path, r.Errno)
}

// send sends a message with files.
func send(conn *net.UnixConn, message any, files []int) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(message); err != nil {
		return err
	}
	if b.Len() > maxJob {
		return syscall.ENAMETOOLONG
	}
	var rights []byte
	if len(files) > 0 {
		rights = unix.UnixRights(files...)
	}
	_, _, err := conn.WriteMsgUnix(b.Bytes(), rights, nil)
	return err
}

// descriptors are the files that came with a message.
func descriptors(control []byte) (files []int) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil
	}
	for _, m := range messages {
		if fds, err := unix.ParseUnixRights(&m); err == nil {
			files = append(files, fds...)
		}
	}
	return files
}

func closeAll(files []int) {
	for _, fd := range files {
		unix.Close(fd)
	}
}

// Open opens a file, which may be on any file system but the mounts of this process
// (EACCES). The descriptor may be used without asking the mounts anything.
func (h *Helper) Open(path string, flags int) (*os.File, error) {
	r, err := h.look(job{Op: opOpenHost, Path: path, Flags: []int{flags}})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(r.files[0]), path), nil
}

// Stat says what a file is. Those in the mounts of this process answer EACCES.
func (h *Helper) Stat(path string) (FileInfo, error) {
	r, err := h.look(job{Op: opStat, Path: path})
	return r.Info, err
}

// lookTime is how long the helper may take to look at a path that a client gave.
const lookTime = 2 * time.Second

// look is do for a path that a client gave, which fails with EINTR when it takes too
// long. The helper does not go into the mounts of this process, but the path may lead to a
// server elsewhere that does not answer; and whoever asks may hold a lock that this one
// needs to answer others.
func (h *Helper) look(j job) (reply, error) {
	tooLong := make(chan struct{})
	defer time.AfterFunc(lookTime, func() { close(tooLong) }).Stop()
	return h.do(tooLong, j)
}
