package cell

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"ftracelab/tracefsfs/fusefs"
)

// What a FUSE server cannot say about its mounts, the cell says itself: it answers the system
// calls with which a program asks what is mounted and of which type it is, and those that
// copy within the kernel, which would find each file empty.

// answered are the numbers of the calls that answer may answer.
func (c *Cell) answered() []uint32 {
	calls := []uint32{unix.SYS_SENDFILE, unix.SYS_SPLICE, unix.SYS_COPY_FILE_RANGE}
	if c.release != "" {
		calls = append(calls, unix.SYS_UNAME)
	}
	if c.syslog != nil {
		calls = append(calls, unix.SYS_SYSLOG)
	}
	if !c.plainSource {
		calls = append(calls, openingHere...)
		calls = append(calls, unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_STATFS, unix.SYS_FSTATFS)
	}
	return calls
}

// answer answers a call that the kernel would answer otherwise than one that has a tracefs.
// What it does not answer is for the kernel.
func (c *Cell) answer(call Call) (answered bool, err error) {
	switch call.NR {
	case unix.SYS_SPLICE, unix.SYS_COPY_FILE_RANGE:
		return c.copies(call, fd(call.Args[0]))
	case unix.SYS_SENDFILE:
		return c.copies(call, fd(call.Args[1]))
	case unix.SYS_UNAME:
		return c.release != "" && c.uname(call), nil
	case unix.SYS_SYSLOG:
		return true, c.readLog(call)
	}
	switch {
	case c.plainSource:
		return false, nil
	case call.NR == unix.SYS_STATFS || call.NR == unix.SYS_FSTATFS:
		return c.statfs(call), nil
	case slices.Contains(openingHere, uint32(call.NR)) || call.NR == unix.SYS_OPENAT || call.NR == unix.SYS_OPENAT2:
		return c.opensMounts(call), nil
	}
	return false, nil
}

func fd(arg uint64) int { return int(int32(arg)) }

// copies refuses a call that copies within the kernel from a file of the tree. FUSE looks at
// the size of the file, which is 0, and says that there is nothing; the program would have an
// empty copy. The kernel refuses the call for most files of tracefs, so programs read
// instead.
//
// Departure: the call is refused for trace and trace_pipe as well.
//
// Kernel: do_splice_read, fs/splice.c; vfs_copy_file_range, fs/read_write.c.
func (c *Cell) copies(call Call, from int) (refused bool, err error) {
	if !c.tracing.Unspliced(call.TID, from) || !call.Waits() {
		return false, nil
	}
	if call.NR == unix.SYS_COPY_FILE_RANGE {
		return true, unix.EXDEV
	}
	return true, unix.EINVAL
}

// pathOf is the path that a call names, from the root of the cell, without "." and "..". The
// path of a working folder or of an open folder is the kernel's, so there are no symbolic
// links in it; those in name are not followed.
func pathOf(thread, folder int, name string) (string, error) {
	if name == "" {
		return "", unix.ENOENT
	}
	if path.IsAbs(name) {
		return path.Clean(name), nil
	}
	at := "cwd"
	if folder != unix.AT_FDCWD {
		at = "fd/" + strconv.Itoa(folder)
	}
	base, err := os.Readlink(procOf(thread, at))
	if err != nil {
		return "", err
	}
	return path.Join(base, name), nil
}

func procOf(thread int, name string) string { return "/proc/" + strconv.Itoa(thread) + "/" + name }

// inRoot says that a path is a folder or below it.
func inRoot(folder, name string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

// statfs answers statfs(2) and fstatfs(2) for what stands for tracefs and debugfs. A FUSE
// mount has a type of its own, which its server cannot change.
//
// Departure: of a thread that is not root's, and of a path with a symbolic link, the kernel
// answers that it is FUSE. So it does for the files that stand over those of /proc and /sys.
//
// Kernel: simple_statfs, fs/libfs.c; vfs_statfs, fs/statfs.c.
func (c *Cell) statfs(call Call) bool {
	var name string
	var err error
	if call.NR == unix.SYS_FSTATFS {
		name, err = os.Readlink(procOf(call.TID, "fd/"+strconv.Itoa(fd(call.Args[0]))))
	} else if name, err = pathOf(call.TID, unix.AT_FDCWD, fusefs.TextAt(call.TID, call.Args[0])); err == nil && (inRoot(Tracing, name) || inRoot(Debug, name)) {
		err = c.visible(call.TID, name)
	}
	if err != nil {
		return false
	}
	st := unix.Statfs_t{Bsize: int64(os.Getpagesize()), Frsize: int64(os.Getpagesize()), Namelen: unix.NAME_MAX, Flags: statfsFlags}
	switch {
	case inRoot(Tracing, name), inRoot(debugTracing, name):
		st.Type = unix.TRACEFS_MAGIC
		major, minor := c.tracing.Device()
		st.Fsid.Val[0] = int32(minor&0xff | major<<8 | minor&^0xff<<12)
	case name == Debug:
		st.Type = unix.DEBUGFS_MAGIC
	default:
		return false
	}
	return call.put(call.Args[1], bytesOf(&st))
}

// statfsFlags are those of the mounts, as statfs(2) says them.
//
// Kernel: include/linux/statfs.h.
const statfsFlags = 0x20 | unix.ST_NOSUID | unix.ST_NODEV | unix.ST_RELATIME

// visible says whether root finds a path in the tree, and is root.
func (c *Cell) visible(thread int, name string) error {
	text, err := os.ReadFile(procOf(thread, "status"))
	if err != nil {
		return err
	}
	if !rootsFiles(string(text)) {
		return unix.EACCES
	}
	for _, root := range []string{Tracing, debugTracing} {
		if below, ok := strings.CutPrefix(name, root); ok {
			return c.tracing.Has(strings.TrimPrefix(below, "/"))
		}
	}
	return nil
}

// rootsFiles says of /proc/PID/status that the thread looks at files as root: the last of
// the four ids is that of the file system.
func rootsFiles(status string) bool {
	for line := range strings.Lines(status) {
		if ids, ok := strings.CutPrefix(line, "Uid:"); ok {
			words := strings.Fields(ids)
			return len(words) == 4 && words[3] == "0"
		}
	}
	return false
}

// oneProcess is what a process or a thread is called below /proc.
var oneProcess = regexp.MustCompile(`^[0-9]+/(task/[0-9]+/)?[a-z]+$`)

// mountTexts are the files of /proc/PID that say what is mounted.
var mountTexts = []string{"mounts", "mountinfo", "mountstats"}

// opensMounts answers an open of a file that says what is mounted with one that has the
// text of a kernel's tracefs.
//
// Departure: the file is not one of proc, it does not change, and it has a size.
func (c *Cell) opensMounts(call Call) bool {
	folder, name, flags := unix.AT_FDCWD, call.Args[0], call.Args[1]
	switch call.NR {
	case unix.SYS_OPENAT:
		folder, name, flags = fd(call.Args[0]), call.Args[1], call.Args[2]
	case unix.SYS_OPENAT2:
		var how unix.OpenHow
		if call.Args[3] < uint64(unsafe.Sizeof(how)) || !call.fetch(call.Args[2], bytesOf(&how)) || how.Resolve != 0 {
			return false
		}
		folder, name, flags = fd(call.Args[0]), call.Args[1], how.Flags
	}
	if flags&(unix.O_ACCMODE|unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW) != unix.O_RDONLY {
		return false
	}
	given := fusefs.TextAt(call.TID, name)
	if base := path.Base(given); base != "mtab" && !slices.Contains(mountTexts, base) {
		return false
	}
	full, err := pathOf(call.TID, folder, given)
	if err != nil {
		return false
	}
	source := c.mountText(call.TID, full)
	if source == "" {
		return false
	}
	text, err := os.ReadFile(source)
	if err != nil {
		return false
	}
	file, err := sealed(path.Base(source), disguise(path.Base(source), string(text)))
	if err != nil {
		return false
	}
	defer unix.Close(file)
	return call.Waits() && call.Give(file, int(flags)) == nil
}

// mountText is where this process reads what a program of the cell calls so; "" if it is no
// file that says what is mounted. All programs of the cell have the same mounts.
func (c *Cell) mountText(thread int, name string) string {
	if name == "/etc/mtab" {
		target, err := os.Readlink(procOf(thread, "root/etc/mtab"))
		if err != nil {
			return ""
		}
		if name = target; !path.IsAbs(name) {
			name = path.Join("/etc", name)
		}
	}
	below, ok := strings.CutPrefix(name, "/proc/")
	base := path.Base(name)
	if !ok || !slices.Contains(mountTexts, base) {
		return ""
	}
	switch strings.TrimSuffix(below, base) {
	case "":
		if base != "mounts" {
			return ""
		}
		return procOf(thread, base)
	case "self/", "thread-self/":
		return procOf(thread, base)
	}
	if !oneProcess.MatchString(below) {
		return "" // and not a link of proc that leads elsewhere
	}
	at := procOf(thread, "root"+name)
	if _, err := os.Stat(at); err != nil {
		return ""
	}
	return at
}

// sealed is a file of the memory, to be read only.
func sealed(name, text string) (file int, err error) {
	whole, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, err
	}
	defer unix.Close(whole)
	if _, err := unix.Write(whole, []byte(text)); err != nil {
		return -1, err
	}
	seals := unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(whole), unix.F_ADD_SEALS, seals); err != nil {
		return -1, err
	}
	return unix.Open("/proc/self/fd/"+strconv.Itoa(whole), unix.O_RDONLY|unix.O_CLOEXEC, 0)
}
