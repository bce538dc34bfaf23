package bridge

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// news is what happened to a process, or, of exited and renamed, to a thread.
type news struct {
	what  what
	pid   int
	child int // of forked and threaded
	comm  string
}

type what uint8

const (
	forked   what = iota + 1
	threaded      // it has one more thread
	execed
	exited
	renamed
	called // it makes a system call; not of the connector but of Observe
)

// connector is the kernel's process connector: a socket on which it tells of the
// forks, execs and exits of all processes.
//
// Kernel: drivers/connector/cn_proc.c, include/uapi/linux/cn_proc.h.
type connector struct {
	fd  int
	end [2]int // a pipe: closing its writing end ends wait
	buf []byte
}

// Layout of a message: a netlink header, a connector header, a process event.
const (
	netlinkHeader   = 16
	connectorHeader = 20
	eventHeader     = 16
	processGroup    = 1 // CN_IDX_PROC and CN_VAL_PROC
	startListening  = 1 // PROC_CN_MCAST_LISTEN
	eventFork       = 0x1
	eventExec       = 0x2
	eventComm       = 0x200
	eventExit       = 0x80000000
	receiveBuffer   = 4 << 20
)

// listen opens the connector. It needs root and the host's own namespaces: in a
// container the kernel takes the request and says nothing, not even that it heard.
func listen() (*connector, error) {
	if os.Geteuid() != 0 {
		return nil, unix.EPERM
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_CONNECTOR)
	if err != nil {
		return nil, err
	}
	c := &connector{fd: fd, buf: make([]byte, 64<<10)}
	err = unix.Pipe2(c.end[:], unix.O_CLOEXEC)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	if err := c.subscribe(); err != nil {
		c.close()
		c.free()
		return nil, err
	}
	return c, nil
}

func (c *connector) subscribe() error {
	// A larger buffer loses less; the default one works.
	_ = unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer)
	if err := unix.Bind(c.fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: processGroup}); err != nil {
		return err
	}
	n := binary.NativeEndian
	msg := make([]byte, 0, netlinkHeader+connectorHeader+4)
	msg = n.AppendUint32(msg, uint32(cap(msg)))
	msg = n.AppendUint16(msg, unix.NLMSG_DONE)
	msg = n.AppendUint16(msg, 0)
	msg = n.AppendUint32(msg, 0)
	msg = n.AppendUint32(msg, uint32(os.Getpid()))
	msg = n.AppendUint32(msg, processGroup)
	msg = n.AppendUint32(msg, processGroup)
	msg = n.AppendUint32(msg, 0)
	msg = n.AppendUint32(msg, 0)
	msg = n.AppendUint16(msg, 4)
	msg = n.AppendUint16(msg, 0)
	msg = n.AppendUint32(msg, startListening)
	if err := unix.Sendto(c.fd, msg, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}, ackTime); n != 1 {
		return errors.Join(unix.ENOTCONN, err)
	}
	return nil
}

// ackTime is how long the kernel may take to say that it heard, in ms; it answers
// within the request.
const ackTime = 500

// wait returns true when there are news, false when the connector is closed.
func (c *connector) wait() bool {
	fds := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}, {Fd: int32(c.end[0]), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || fds[1].Revents != 0:
			return false
		default:
			return true
		}
	}
}

// close ends wait; free gives the rest back once nobody uses it.
func (c *connector) close() { unix.Close(c.end[1]) }

func (c *connector) free() {
	unix.Close(c.end[0])
	unix.Close(c.fd)
}

// drain tells of all news there are by now.
func (c *connector) drain(tell func(news)) {
	for {
		n, _, err := unix.Recvfrom(c.fd, c.buf, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOBUFS):
			continue // some were lost: the sweep finds out who has ended
		case err != nil:
			return
		}
		if one, ok := parseNews(c.buf[:n]); ok {
			tell(one)
		}
	}
}

// parseNews reads a message; not ok for one that is about something else.
func parseNews(msg []byte) (news, bool) {
	const at = netlinkHeader + connectorHeader
	if len(msg) < at+eventHeader+8 {
		return news{}, false
	}
	word := func(i int) int { return int(int32(binary.NativeEndian.Uint32(msg[at+eventHeader+4*i:]))) }
	tid, tgid := word(0), word(1)
	switch binary.NativeEndian.Uint32(msg[at:]) {
	case eventFork:
		if len(msg) < at+eventHeader+16 {
			return news{}, false
		}
		if word(2) != word(3) {
			return news{what: threaded, pid: word(3), child: word(2)}, true
		}
		return news{what: forked, pid: tgid, child: word(2)}, true
	case eventExec:
		return news{what: execed, pid: tgid}, true
	case eventExit:
		return news{what: exited, pid: tid}, true
	case eventComm:
		const size = 16
		if len(msg) < at+eventHeader+8+size {
			return news{}, false
		}
		comm, _, _ := bytes.Cut(msg[at+eventHeader+8:][:size], []byte{0})
		return news{what: renamed, pid: tid, comm: string(comm)}, true
	}
	return news{}, false
}
