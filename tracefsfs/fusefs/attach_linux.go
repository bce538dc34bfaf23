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

// attach mounts m on its folder, by way of the helper, and makes the server. go-fuse
// would mount, too, but leave the device open in each program that this one starts: the
// mount would then live as long as they, and a client whose server was killed wait for
// ever.
//
// The kernel checks permissions itself, by the owners and modes that it is told: also
// those of folders on the way, with the groups and rights of the caller. Everybody may
// try (allow_other), as with tracefs: its root can be entered by root alone until somebody
// changes that. With Config.AskAccess this process checks.
func (m *Mount) attach() error {
	device, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	options := fmt.Sprintf("rootmode=%o,user_id=%d,group_id=%d,max_read=%d,allow_other",
		unix.S_IFDIR, unix.Geteuid(), unix.Getegid(), maxWrite)
	if !m.cfg.AskAccess {
		options += ",default_permissions"
	}
	mount := job{Op: opMount, Path: m.dir, Source: m.cfg.Source, Type: "fuse." + m.cfg.Type, Data: options}
	if _, err = m.helper.do(nil, mount, device); err != nil {
		return errors.Join(err, unix.Close(device))
	}
	capabilities := uint64(fuse.CAP_ATOMIC_O_TRUNC)
	if m.cfg.Mappable {
		capabilities |= fuse.CAP_DIRECT_IO_ALLOW_MMAP
	}
	var polled func(pollIn) uint32
	if m.cfg.Polls {
		polled = m.polled
	}
	m.device, err = newDevice(device, m, polled, &fuse.MountOptions{
		AllowOther: true, FsName: m.cfg.Source, Name: m.cfg.Type, MaxWrite: maxWrite,
		ExtraCapabilities: capabilities, DisableReadDirPlus: true,
		MaxBackground: 64,
	})
	if err != nil {
		return errors.Join(err, unix.Unmount(m.dir, unix.MNT_DETACH)) // newDevice took the device
	}
	st, err := statMount(m.dir)
	m.major, m.minor = st.Dev_major, st.Dev_minor
	if err == nil && !m.cfg.Polls {
		_, err = m.helper.do(nil, job{Op: opPoll, Path: filepath.Join(m.dir, remountDoc)})
	}
	if err != nil {
		return errors.Join(err, unix.Unmount(m.dir, unix.MNT_FORCE|unix.MNT_DETACH))
	}
	return nil
}
