package fusefs

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// maxWrite is the most that a request carries, in bytes: more is several requests.
const maxWrite = 128 << 10

// attach mounts m on its folder and makes the server. go-fuse would mount, too, but
// leave the device open in each program that this one starts: the mount would then
// live as long as they, and a client whose server was killed wait for ever.
func (m *Mount) attach() error {
	device, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	options := fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d,max_read=%d,allow_other",
		device, unix.S_IFDIR, unix.Geteuid(), unix.Getegid(), maxWrite)
	err = unix.Mount(m.cfg.Source, m.dir, "fuse."+m.cfg.Type, unix.MS_NOSUID|unix.MS_NODEV, options)
	if err != nil {
		return errors.Join(err, unix.Close(device))
	}
	m.server, err = fuse.NewServer(m, fmt.Sprintf("/dev/fd/%d", device), &fuse.MountOptions{
		AllowOther: true, FsName: m.cfg.Source, Name: m.cfg.Type, MaxWrite: maxWrite,
		ExtraCapabilities: fuse.CAP_ATOMIC_O_TRUNC, DisableXAttrs: true, DisableReadDirPlus: true,
		MaxBackground: 64,
	})
	if err != nil {
		return errors.Join(err, unix.Unmount(m.dir, unix.MNT_DETACH)) // NewServer took the device
	}
	go m.server.Serve()
	if err := errors.Join(m.server.WaitMount(), m.apart.do(m.refusePoll)); err != nil {
		return errors.Join(err, unix.Unmount(m.dir, unix.MNT_FORCE|unix.MNT_DETACH))
	}
	return nil
}

// refusePoll polls a file of the mount once. The server answers that it cannot, and
// the kernel does not ask again: else this program, which reaches its own mount,
// could wait for itself in Go's poller, with no thread left to answer.
func (m *Mount) refusePoll() error {
	fd, err := unix.Open(filepath.Join(m.dir, remountDoc), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return errors.Join(err, unix.Close(fd))
}
