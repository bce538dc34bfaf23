package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ftracelab/internal/testutil"
	"ftracelab/tracefsfs/fusefs/cell"
)

// outside is what the program in the cell knows of what it must not reach.
type outside struct {
	tracing uint64 // device number of a folder in the place of the host's tracing
	socket  string // an abstract socket
	port    string // of the loopback
	shm     int    // a key of shared memory of System V
	device  string // a file that is the device of FUSE
}

// escape is a way out of a cell. A try says how it ended: an errno, or "reached" and what.
type escape struct {
	name string
	want string // alternatives with a bar between
	try  func(o outside) string
}

// call is a system call with arguments that are wrong if it is allowed: it must not get
// as far as looking at them.
func call(name, want string, nr uintptr, args ...uintptr) escape {
	var a [6]uintptr
	copy(a[:], args)
	return escape{name, want, func(outside) string {
		_, _, errno := syscall.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
		if errno == 0 {
			return "reached"
		}
		return unix.ErrnoName(errno)
	}}
}

func do(name, want string, f func(o outside) error) escape {
	return escape{name, want, func(o outside) string { return resultOf(f(o)) }}
}

func resultOf(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return "reached"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

// mustFail is a program that must not succeed.
func mustFail(name string, argv ...string) escape {
	return escape{name, "failed", func(outside) string {
		err := exec.Command(argv[0], argv[1:]...).Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return "failed"
		}
		return resultOf(err)
	}}
}

const (
	bad = ^uintptr(0) // no address, no descriptor
	x32 = 1 << 30
)

func escapes() []escape {
	list := []escape{
		// Files of processes.
		{"every /proc/PID/root, cwd and fd", "nothing", throughProc},
		{"every mountinfo", "nothing", mountinfos},
		{"processes outside", "nothing", otherProcesses},
		do("files of the first process", "EACCES|EPERM", func(outside) error {
			for _, name := range []string{"exe", "root", "cwd", "fd/0", "ns/mnt", "ns/pid"} {
				if _, err := os.Readlink("/proc/1/" + name); err == nil {
					return nil
				}
			}
			_, err := os.Open("/proc/1/mem")
			return err
		}),
		{"descriptors left open", "nothing", func(outside) string {
			for fd := 3; fd < 64; fd++ {
				var st unix.Stat_t
				if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
					return fmt.Sprintf("reached by descriptor %d", fd)
				}
			}
			return "nothing"
		}},
		{"the working folder", "nothing", func(o outside) string { return reaches(o, ".") }},
		{"/sys/kernel/tracing", "nothing", func(o outside) string { return reaches(o, cell.Tracing) }},
		{"/sys/kernel/debug/tracing", "nothing", func(o outside) string { return reaches(o, cell.Debug+"/tracing") }},

		// Mounts.
		do("mount", "EPERM", func(outside) error { return unix.Mount("x", "/mnt", "tmpfs", 0, "") }),
		do("mount of tracefs", "EPERM", func(outside) error { return unix.Mount("x", "/mnt", "tracefs", 0, "") }),
		mustFail("mount -i", "mount", "-i", "-t", "tmpfs", "x", "/mnt"),
		do("umount", "EPERM", func(outside) error { return unix.Unmount(cell.Tracing, unix.MNT_DETACH) }),
		mustFail("umount -i", "umount", "-i", "-l", cell.Tracing),
		do("remount of /proc", "EPERM", func(outside) error { return unix.Mount("", "/proc", "", unix.MS_REMOUNT|unix.MS_BIND, "") }),
		do("pivot_root", "EPERM", func(outside) error { return unix.PivotRoot("/mnt", "/mnt") }),
		do("chroot", "EPERM", func(outside) error { return unix.Chroot("/proc/1/root") }),
		mustFail("chroot of the first process's root", "chroot", "/proc/1/root", "true"),
		call("fsopen", "EPERM", unix.SYS_FSOPEN, bad),
		call("fsmount", "EPERM", unix.SYS_FSMOUNT, bad),
		call("fspick", "EPERM", unix.SYS_FSPICK, bad, bad),
		call("open_tree", "EPERM", unix.SYS_OPEN_TREE, bad, bad, unix.OPEN_TREE_CLONE),
		call("open_tree_attr", "EPERM", unix.SYS_OPEN_TREE_ATTR, bad, bad, unix.OPEN_TREE_CLONE),
		call("move_mount", "EPERM", unix.SYS_MOVE_MOUNT, bad, bad, bad, bad),
		call("mount_setattr", "EPERM", unix.SYS_MOUNT_SETATTR, bad, bad, 0, bad, 0),
		call("name_to_handle_at", "EPERM", unix.SYS_NAME_TO_HANDLE_AT, bad, bad, bad, bad, 0),
		call("open_by_handle_at", "EPERM", unix.SYS_OPEN_BY_HANDLE_AT, bad, bad, 0),

		// Namespaces.
		do("unshare of a user namespace", "EPERM", func(outside) error { return unix.Unshare(unix.CLONE_NEWUSER) }),
		do("unshare of mounts", "EPERM", func(outside) error { return unix.Unshare(unix.CLONE_NEWNS) }),
		do("clone with a user namespace", "EPERM", func(outside) error {
			cmd := exec.Command("true")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
			return cmd.Run()
		}),
		call("clone3", "ENOSYS", unix.SYS_CLONE3, bad, 0),
		mustFail("unshare -U", "unshare", "-U", "true"),
		mustFail("unshare -Ur", "unshare", "-Urm", "mount", "-t", "tmpfs", "x", "/mnt"),
		mustFail("nsenter", "nsenter", "-t", "1", "-m", "true"),
		do("setns", "EPERM", func(outside) error {
			fd, err := unix.Open("/proc/self/ns/mnt", unix.O_RDONLY, 0)
			if err != nil {
				return err
			}
			return unix.Setns(fd, unix.CLONE_NEWNS)
		}),
		do("setns to the first process", "EPERM", func(outside) error {
			fd, err := unix.PidfdOpen(1, 0)
			if err != nil {
				return err
			}
			return unix.Setns(fd, unix.CLONE_NEWNS)
		}),

		// Devices.
		{"devices", "nothing", devices},
		do("mknod of a block device", "EPERM", func(o outside) error {
			return unix.Mknod(o.device+"-disk", unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0)))
		}),
		do("mknod of memory", "EPERM", func(o outside) error {
			return unix.Mknod(o.device+"-mem", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 1)))
		}),
		do("a device among the files", "EACCES", func(o outside) error {
			fd, err := unix.Open(o.device, unix.O_RDWR, 0)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}),
		call("TIOCSTI", "EPERM", unix.SYS_IOCTL, bad, unix.TIOCSTI, 0),
		call("TIOCLINUX", "EPERM", unix.SYS_IOCTL, bad, 0x541c, 0),

		// Processes.
		do("ptrace of the first process", "EPERM", func(outside) error { return unix.PtraceAttach(os.Getppid()) }),
		do("process_vm_writev into it", "EPERM", func(outside) error {
			b := []byte{0}
			local := []unix.Iovec{{Base: &b[0], Len: 1}}
			_, err := unix.ProcessVMWritev(os.Getppid(), local, []unix.RemoteIovec{{Base: 4096, Len: 1}}, 0)
			return err
		}),
		do("pidfd_getfd of it", "EPERM", func(outside) error {
			fd, err := unix.PidfdOpen(1, 0)
			if err != nil {
				return err
			}
			_, err = unix.PidfdGetfd(fd, 0, 0)
			return err
		}),
		{"kill of the parent", "survived", func(outside) string {
			_ = unix.Kill(os.Getppid(), unix.SIGKILL) // allowed, and nothing comes of it
			time.Sleep(50 * time.Millisecond)
			return "survived"
		}},
		{"kill of the process group", "survived", func(outside) string {
			signal.Ignore(unix.SIGUSR1)
			_ = unix.Kill(0, unix.SIGUSR1)
			time.Sleep(50 * time.Millisecond)
			return "survived"
		}},

		// Sockets and shared memory.
		do("an abstract socket", "ECONNREFUSED", func(o outside) error {
			_, err := net.Dial("unix", o.socket)
			return err
		}),
		do("the loopback", "ECONNREFUSED", func(o outside) error {
			_, err := net.Dial("tcp", "127.0.0.1:"+o.port)
			return err
		}),
		do("a socket between virtual machines", "EAFNOSUPPORT", func(outside) error {
			_, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
			return err
		}),
		do("shared memory", "ENOENT", func(o outside) error {
			_, err := unix.SysvShmGet(o.shm, 1, 0)
			return err
		}),

		// The kernel.
		call("kexec_load", "EPERM", unix.SYS_KEXEC_LOAD, 0, 0, 0, 0xdead),
		call("kexec_file_load", "EPERM", unix.SYS_KEXEC_FILE_LOAD, bad, bad, 0, 0, 0xdead),
		call("reboot", "EPERM", unix.SYS_REBOOT, 0, 0, 0),
		call("init_module", "EPERM", unix.SYS_INIT_MODULE, bad, 0, bad),
		call("finit_module", "EPERM", unix.SYS_FINIT_MODULE, bad, bad, 0xdead),
		call("delete_module", "EPERM", unix.SYS_DELETE_MODULE, bad, 0),
		call("bpf", "EPERM", unix.SYS_BPF, bad, bad, 0),
		call("perf_event_open", "EPERM", unix.SYS_PERF_EVENT_OPEN, bad, 0, 0, bad, 0),
		// The machine's log answers. The host's kernel would say EPERM.
		call("syslog", "EINVAL", unix.SYS_SYSLOG, bad, 0, 0),
		call("acct", "EPERM", unix.SYS_ACCT, bad),
		call("keyctl", "EPERM", unix.SYS_KEYCTL, bad),
		call("add_key", "EPERM", unix.SYS_ADD_KEY, bad, bad, bad, 0, 0),
		call("request_key", "EPERM", unix.SYS_REQUEST_KEY, bad, bad, bad, 0),
		call("settimeofday", "EPERM", unix.SYS_SETTIMEOFDAY, bad, 0),
		call("clock_settime", "EPERM", unix.SYS_CLOCK_SETTIME, 0, bad),
		call("sethostname", "EPERM", unix.SYS_SETHOSTNAME, bad, bad),
		call("swapon", "EPERM", unix.SYS_SWAPON, bad, 0),
		call("swapoff", "EPERM", unix.SYS_SWAPOFF, bad),
		call("quotactl", "EPERM", unix.SYS_QUOTACTL, bad, bad, 0, bad),
		call("userfaultfd", "EPERM", unix.SYS_USERFAULTFD, bad),
		call("io_uring_setup", "EPERM", unix.SYS_IO_URING_SETUP, 1, bad),
		call("fanotify_init", "EPERM", unix.SYS_FANOTIFY_INIT, bad, bad),
		do("a write to /proc/sys", "EROFS|EACCES", func(outside) error { return openForWriting("/proc/sys/vm/drop_caches") }),
		do("a write to /proc", "EROFS", func(outside) error { return openForWriting("/proc/1/oom_score_adj") }),
		do("a write to /sys", "EROFS|EACCES", func(outside) error { return openForWriting("/sys/kernel/profiling") }),
		{"capabilities", "those of the table", capabilities},
	}
	if runtime.GOARCH == "amd64" {
		list = append(
			list,
			call("iopl", "EPERM", 172, 99),
			call("ioperm", "EPERM", 173, bad, bad, 1),
			call("a call of x32", "ENOSYS", 39|x32),
			escape{"a program of i386", "signal: bad system call|ENOEXEC", i386},
		)
	}
	return list
}

// reaches says that a path leads to what stands in the place of the host's tracing.
func reaches(o outside, path string) string {
	var st unix.Stat_t
	if unix.Stat(path, &st) == nil && st.Dev == o.tracing {
		return "reached by " + path
	}
	return "nothing"
}

func throughProc(o outside) string {
	for _, pattern := range []string{"/proc/[0-9]*/root", "/proc/[0-9]*/cwd", "/proc/[0-9]*/fd/*", "/proc/[0-9]*/task/[0-9]*/root"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return err.Error()
		}
		for _, path := range paths {
			for _, below := range []string{"", cell.Tracing, "/../../../" + cell.Tracing} {
				if said := reaches(o, path+below); said != "nothing" {
					return said
				}
			}
			if target, err := os.Readlink(path); err == nil && strings.HasPrefix(target, "/dev/fuse") {
				return "reached by " + path
			}
		}
	}
	return "nothing"
}

// mountinfos looks in what each process has mounted for the host's kernel.
func mountinfos(o outside) string {
	paths, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	if err != nil || len(paths) < 2 {
		return fmt.Sprintf("%d tables of mounts, %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := kernelsText(path)
		if err != nil {
			return err.Error()
		}
		for line := range strings.Lines(text) {
			for _, word := range []string{" tracefs ", " debugfs ", " cgroup ", " cgroup2 ", " bpf ", " securityfs ", " fusectl ", "decoy"} {
				if strings.Contains(line, word) && !covered(o, line) {
					return "reached: " + line
				}
			}
		}
	}
	return "nothing"
}

// kernelsText is what the kernel says in a file, also where the cell answers an open that
// follows links.
func kernelsText(path string) (string, error) {
	file, err := os.OpenFile(path, unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	return string(text), err
}

// covered says that a mount, which a user namespace cannot take out, is not to be seen.
func covered(o outside, line string) bool {
	fields := strings.Fields(line)
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, fields[4], unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &st); err != nil {
		return errors.Is(err, unix.ENOENT)
	}
	return strconv.FormatUint(st.Mnt_id, 10) != fields[0]
}

// otherProcesses looks for processes besides the first one and this.
func otherProcesses(outside) string {
	known := map[int]bool{}
	for _, pid := range []int{1, os.Getpid()} {
		known[pid] = true
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		if err != nil || len(tasks) == 0 {
			return fmt.Sprintf("no threads of %d: %v", pid, err)
		}
		for _, path := range tasks {
			tid, err := strconv.Atoi(filepath.Base(path))
			if err != nil {
				return err.Error()
			}
			known[tid] = true
		}
	}
	for pid := 1; pid < 1<<16; pid++ {
		if !known[pid] && !errors.Is(unix.Kill(pid, 0), unix.ESRCH) && unix.Tgkill(os.Getpid(), pid, 0) != nil {
			return fmt.Sprintf("reached process %d", pid)
		}
	}
	return "nothing"
}

// devices looks for a device that is not the cell's.
func devices(outside) string {
	ours := []string{"full", "null", "random", "tty", "urandom", "zero", "pts/ptmx"}
	found := ""
	err := filepath.WalkDir("/dev", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type()&os.ModeDevice != 0 && !slices.Contains(ours, strings.TrimPrefix(path, "/dev/")) {
			found = "reached " + path
		}
		return err
	})
	switch {
	case err != nil:
		return err.Error()
	case found != "":
		return found
	}
	for _, name := range ours {
		fd, err := unix.Open("/dev/"+name, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
		if err != nil && name != "tty" { // without a terminal
			return fmt.Sprintf("%s: %v", name, err)
		}
		unix.Close(fd)
	}
	return "nothing"
}

// openForWriting opens a file without writing to it.
func openForWriting(path string) error {
	fd, err := unix.Open(path, unix.O_WRONLY, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// capabilities compares what this process may do, and what it may ever do.
func capabilities(outside) string {
	want := uint64(0)
	for _, bit := range cell.Rights() {
		want |= 1 << bit
	}
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err.Error()
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		switch name {
		case "CapEff", "CapPrm", "CapBnd":
			if have, err := strconv.ParseUint(value, 16, 64); err != nil || have&^want != 0 {
				return line
			}
		case "CapInh", "CapAmb":
			if strings.Trim(value, "0") != "" {
				return line
			}
		case "NoNewPrivs":
			if value != "1" {
				return line
			}
		}
	}
	return "those of the table"
}

// i386 runs a program of another architecture that only asks for its process: its calls
// have other numbers, which no filter of ours knows.
func i386(outside) string {
	code := []byte{
		0xb8, 20, 0, 0, 0, // mov $getpid, %eax
		0xcd, 0x80, // int $0x80
		0xb8, 1, 0, 0, 0, // mov $exit, %eax
		0x31, 0xdb, // xor %ebx, %ebx
		0xcd, 0x80,
	}
	const base, header = 0x10000, 52 + 32
	var b bytes.Buffer
	b.WriteString("\x7fELF\x01\x01\x01")
	b.Write(make([]byte, 9))
	put := func(size int, values ...uint32) {
		for _, v := range values {
			for range size {
				b.WriteByte(byte(v))
				v >>= 8
			}
		}
	}
	put(2, 2, 3) // an executable of i386
	put(4, 1, base+header, 52, 0, 0)
	put(2, 52, 32, 1, 0, 0, 0)
	put(4, 1, 0, base, base, uint32(header+len(code)), uint32(header+len(code)), 5, 0x1000)
	b.Write(code)
	dir, err := os.MkdirTemp("", "i386-*")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "i386")
	if err := os.WriteFile(path, b.Bytes(), 0o700); err != nil {
		return err.Error()
	}
	return resultOf(exec.Command(path).Run())
}

// tryEscapes is the program that runs in the cell: it tries all and says how each ended.
func tryEscapes() {
	var o outside
	if _, err := fmt.Sscan(strings.Join(os.Args[1:], " "), &o.tracing, &o.socket, &o.port, &o.shm, &o.device); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	for _, e := range escapes() {
		fmt.Printf("%s: %s\n", e.name, e.try(o))
	}
	fmt.Println("tried all")
}

// decoy starts a cell where the host's tracing is a folder that only looks like it: it is
// what an escape would reach. The cell is started in it, with a descriptor of it, by
// somebody who may be nobody.
const decoy = `
umount -l /sys/kernel/tracing 2>/dev/null
mount -t tmpfs decoy /sys/kernel/tracing && mkdir /sys/kernel/tracing/decoy || exit
mount -t tmpfs -o mode=1777 files /mnt && mknod -m 666 /mnt/fuse c 10 229 && mount --bind /mnt/fuse /dev/fuse || exit
cp "$(command -v ftracelab)" "$(command -v escapes)" /mnt && PATH=/mnt:$PATH && cd /sys/kernel/tracing || exit
exec 7< /sys/kernel/tracing
exec "$@" /mnt/fuse
`

// nobody are words before a command that run it without any right.
var nobody = []string{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"}

// TestEscapes tries to get out of a cell, of root's and of one in a user namespace.
func TestEscapes(t *testing.T) {
	needCell(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can put something in the place of the host's tracing")
	}
	for _, name := range []string{"unshare", "setpriv", "nsenter", "chroot", "mount"} {
		testutil.Program(t, name)
	}
	t.Run("root", func(t *testing.T) { checkEscapes(t, runEscapes(t)) })
	t.Run("nobody", func(t *testing.T) {
		out := runEscapes(t, nobody...)
		if strings.Contains(out, "a user namespace, which this system does not give") {
			if os.Getenv("CI") == "true" {
				t.Fatal("CI has to provide user namespaces")
			}
			t.Skip(out)
		}
		checkEscapes(t, out)
	})
}

// runEscapes runs the tries in a cell and returns what they say.
func runEscapes(t *testing.T, as ...string) string {
	t.Helper()
	name := fmt.Sprintf("@ftracelab-%d", os.Getpid())
	abstract, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	loopback, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer loopback.Close()
	_, port, err := net.SplitHostPort(loopback.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	key := os.Getpid() | 0xf7ace<<10
	shm, err := unix.SysvShmGet(key, 1, unix.IPC_CREAT|0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := unix.SysvShmCtl(shm, unix.IPC_RMID, nil); err != nil {
			t.Error(err)
		}
	}()
	args := append([]string{"-m", "--propagation", "private", "sh", "-c", decoy, "sh"}, as...)
	args = append(args, "sh", "-c", `exec ftracelab exec -- escapes $(stat -c %d /sys/kernel/tracing) "$@"`, "sh", name, port, fmt.Sprint(key))
	cmd := exec.Command("unshare", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // signals to the process group must not end the test
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Log(err)
	}
	return string(out)
}

func checkEscapes(t *testing.T, out string) {
	t.Helper()
	for _, e := range escapes() {
		said, rest, found := strings.Cut(strings.TrimPrefix(out, e.name+": "), "\n")
		if !found || !strings.HasPrefix(out, e.name+": ") {
			t.Fatalf("%s: it did not come to it:\n%s", e.name, out)
		}
		out = rest
		if !slices.Contains(strings.Split(e.want, "|"), said) {
			t.Errorf("%s: %s, want %s", e.name, said, e.want)
		}
	}
	if out != "tried all\n" {
		t.Errorf("it says %q", out)
	}
}
