package fusefs_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ftracelab/internal/testutil"
	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/fusefs"
	"ftracelab/tracefsfs/fusefs/bridge"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
	"ftracelab/tracer/dynevent"
	"ftracelab/workload"
)

// Some tests need servers in processes of their own, which they may kill. This program
// can be one of them.
const (
	roleEnv    = "FTRACELAB_TEST_ROLE"
	roleDirEnv = "FTRACELAB_TEST_DIR"
)

var roles = map[string]func(dir string) error{
	"server":     serveLab,     // serves a lab until SIGTERM
	"supervisor": superviseLab, // supervises a server
	"waiting":    waitForItself,
}

func playRole() (played bool) {
	role := roles[os.Getenv(roleEnv)]
	if role == nil {
		return false
	}
	if err := role(os.Getenv(roleDirEnv)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return true
}

// roleCommand is this program in a role.
func roleCommand(role, dir string, env ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), append(env, roleEnv+"="+role, roleDirEnv+"="+dir)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// serveLab serves the tree of a simulated machine, with a bridge, as "ftracelab mount" does.
func serveLab(dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	clock := new(fusefs.Clock)
	helper, err := fusefs.StartHelper()
	if err != nil {
		return err
	}
	changes := new(fusefs.Changes)
	sim, ft, err := newLab(tracer.Config{Wait: clock.Wait, Changed: changes.Add, Files: userFiles{helper}})
	if err != nil {
		return err
	}
	guests, err := workload.NewGuests(sim)
	if err != nil {
		return err
	}
	run := func(ns uint64) { ft.Run(machine.Time(ns)) }
	do := func(f func()) { _ = ft.Do(func(*machine.Machine) error { f(); return nil }) }
	b := bridge.New(bridge.Config{Guests: guests, Do: do, Run: run, Clock: clock, Root: dir, NoConnector: true})
	defer b.Close()
	m, err := fusefs.New(dir, fusefs.Config{
		FS: tracefsfs.New(ft.Root()), Clock: clock, Run: run, Before: b.Before, Helper: helper, NotSelf: true,
		Control: []tracefile.Node{usage()}, Changes: changes,
	})
	if err != nil {
		return err
	}
	fmt.Println("mounted", os.Getpid(), fusefs.HelperPID(helper))
	unmounted := make(chan struct{})
	go func() { m.Wait(); close(unmounted) }()
	select {
	case <-ctx.Done():
	case <-unmounted:
	}
	return errors.Join(m.Close(), helper.Close())
}

// userFiles are the files that uprobes are put on.
type userFiles struct{ helper *fusefs.Helper }

func (u userFiles) Stat(path string) (dynevent.UserFile, error) {
	info, err := u.helper.Stat(path)
	return dynevent.UserFile{ID: info.Ino, Regular: info.Mode&unix.S_IFMT == unix.S_IFREG, Size: info.Size}, err
}

// usage tells what a server uses, once it has collected its garbage: goroutines, and bytes
// of its heap.
func usage() tracefile.Node {
	return tracefile.Value("usage", 0o400, func() string {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return fmt.Sprintf("%d %d\n", runtime.NumGoroutine(), stats.HeapAlloc)
	}, nil)
}

func superviseLab(dir string) error {
	cmd := roleCommand("server", dir)
	cmd.Stdout = os.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	status, err := fusefs.Supervise(cmd)
	if err != nil || status != 0 {
		return fmt.Errorf("status %d, %w", status, err)
	}
	return nil
}

// scenarioEnv names what the machine of a server does, if that is not what one in a cell does.
// Who weighs a server takes one that does not make the code of its processes as they go on.
const scenarioEnv = "FTRACELAB_TEST_SCENARIO"

// newLab makes a simulated machine.
func newLab(cfg tracer.Config) (*machine.Machine, *tracer.Ftrace, error) {
	sim, err := machine.New(machine.Config{CPUs: 2})
	if err != nil {
		return nil, nil, err
	}
	s, err := workload.Find(cmp.Or(os.Getenv(scenarioEnv), workload.Beside))
	if err != nil {
		return nil, nil, err
	}
	if err := s.Start(sim); err != nil {
		return nil, nil, err
	}
	ft, err := tracer.New(sim, cfg)
	return sim, ft, err
}

// served is a supervised server.
type served struct {
	dir                        string
	supervisor, server, helper int
	ended                      chan struct{}
}

// serve starts a server with its supervisor.
func serve(t *testing.T, env ...string) *served {
	t.Helper()
	testutil.NeedPrivateMounts(t, fusefs.Available())
	s := &served{dir: t.TempDir(), ended: make(chan struct{})}
	cmd := roleCommand("supervisor", s.dir, env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.supervisor = cmd.Process.Pid
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if _, scan := fmt.Sscanf(line, "mounted %d %d\n", &s.server, &s.helper); scan != nil {
		t.Fatalf("the server says %q, %v", line, err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, lines) // it may be killed
		_ = cmd.Wait()
		close(s.ended)
	}()
	t.Cleanup(func() {
		for _, pid := range []int{s.supervisor, s.server, s.helper} {
			_ = unix.Kill(pid, unix.SIGKILL) // most are gone
		}
		_ = unix.Unmount(s.dir, unix.MNT_FORCE|unix.MNT_DETACH)
	})
	return s
}

// signal sends a signal to one of the processes.
func send(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := unix.Kill(pid, sig); err != nil {
		t.Fatalf("signal %d of process %d: %v", sig, pid, err)
	}
}

// waitGone waits until a server, its helper and its mount are gone.
func (s *served) waitGone(t *testing.T) {
	t.Helper()
	for _, pid := range []int{s.server, s.helper} {
		waitFor(t, fmt.Sprintf("process %d to end: %s", pid, state(pid)), func() bool { return state(pid) == "" })
	}
	waitFor(t, "the mount to go", func() bool { return !mounted(t, s.dir) })
	if entries, err := os.ReadDir(s.dir); err != nil || len(entries) > 0 {
		t.Errorf("left of the mount: %v, %v", entries, err)
	}
}

// state is what /proc says of a process and its threads, "" if it has ended.
func state(pid int) string {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return ""
	}
	var all []string
	for _, task := range tasks {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/stat", pid, task.Name()))
		if err != nil {
			continue
		}
		if _, rest, ok := strings.Cut(string(text), ") "); ok {
			all = append(all, rest[:1])
		}
	}
	if len(all) == 1 && (all[0] == "Z" || all[0] == "X") {
		return "" // ended; its parent may be gone, too, and init slow
	}
	return strings.Join(all, "")
}

func mounted(t *testing.T, dir string) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(text), " "+dir+" ")
}

// load starts clients that use a mount in all ways until it is gone.
func load(t *testing.T, dir string) (wait func()) {
	t.Helper()
	var all []*exec.Cmd
	for n, script := range []string{
		`cat trace_pipe`,
		`cat per_cpu/cpu0/trace_pipe_raw`,
		`while i=$((i+1)); mkdir instances/a$i; do for c in 0 1; do dd if=instances/a$i/per_cpu/cpu$c/trace_pipe_raw iflag=nonblock count=1; done; rmdir instances/a$i; done`,
		`while echo function > current_tracer; do echo nop > current_tracer; echo > trace; done`,
		`while echo 1 > events/sched/enable; do cat trace; echo 'p:u ` + dir + `/README:0' > uprobe_events; done`,
	} {
		cmd := exec.Command("timeout", "-s", "KILL", "60", "sh", "-c", script)
		cmd.Dir = dir
		if err := cmd.Start(); err != nil {
			t.Fatalf("client %d: %v", n, err)
		}
		all = append(all, cmd)
	}
	return func() {
		for n, cmd := range all {
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() == 128+int(syscall.SIGKILL) || cmd.ProcessState.ExitCode() < 0 {
				t.Errorf("client %d did not end by itself: %v", n, err)
			}
		}
	}
}

// number reads a number of a file that has "NAME: NUMBER" or "NAME NUMBER".
func number(t *testing.T, path, name string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && strings.TrimSuffix(fields[0], ":") == name {
			n, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("%s has no %s", path, name)
	return 0
}

// descriptors is how many files a process has open.
func descriptors(t *testing.T, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
