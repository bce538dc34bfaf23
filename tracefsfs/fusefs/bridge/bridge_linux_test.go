package bridge_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/fusefs"
	"ftracelab/tracefsfs/fusefs/bridge"
	"ftracelab/tracer"
	"ftracelab/workload"
)

func TestMain(m *testing.M) { os.Exit(testutil.RunWithPrivateMounts(m)) }

// mount mounts the tree of a machine whose guests are who uses it.
func mount(t *testing.T, noConnector bool) (string, *bridge.Bridge) {
	t.Helper()
	testutil.NeedPrivateMounts(t, fusefs.Available())
	// A process has any number, in a namespace of its own also the smallest.
	sim, err := machine.New(machine.Config{CPUs: 2, Foreign: machine.PIDs{First: 1, Limit: 1 << 22}})
	if err != nil {
		t.Fatal(err)
	}
	beside, err := workload.Find(workload.Beside)
	if err != nil {
		t.Fatal(err)
	}
	if err := beside.Start(sim); err != nil {
		t.Fatal(err)
	}
	clock := new(fusefs.Clock)
	ft, err := tracer.New(sim, tracer.Config{Wait: clock.Wait})
	if err != nil {
		t.Fatal(err)
	}
	guests, err := workload.NewGuests(sim)
	if err != nil {
		t.Fatal(err)
	}
	run := func(ns uint64) { ft.Run(machine.Time(ns)) }
	do := func(f func()) { _ = ft.Do(func(*machine.Machine) error { f(); return nil }) }
	dir := t.TempDir()
	b := bridge.New(bridge.Config{Guests: guests, Do: do, Run: run, Clock: clock, Root: dir, NoConnector: noConnector})
	m, err := fusefs.New(dir, fusefs.Config{FS: tracefsfs.New(ft.Root()), Clock: clock, Run: run, Before: b.Before, PID: b.PID})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		b.Close()
	})
	return m.Dir(), b
}

// script traces itself and two children: one that uses the tree, one that does not.
const script = `
set -e
cd "$1"
echo $$ > set_event_pid
echo 1 > options/event-fork
echo 1 > events/sched/enable
echo 1 > events/syscalls/enable
echo marked > trace_marker
cd events
: < enable
cd ..
cat README > /dev/null &
user=$!
wait $user
sh -c : &
other=$!
wait $other
sleep 1.5
echo 0 > tracing_on
cat trace > "$2"
echo $$ $user $other
`

// With the process connector the machine sees what processes do, without it what those
// do that use the tree: their births, their new programs, their system calls, and some
// time later their ends.
func TestBridge(t *testing.T) {
	for _, c := range []struct {
		name        string
		noConnector bool
		namespace   bool
		want        []string
		not         []string
	}{
		{"connector", false, false, []string{
			`comm=sh pid=SELF child_comm=sh child_pid=USER\b`, `sched_process_exec: filename=.*/cat pid=USER old_pid=USER\b`,
			`sched_process_exit: comm=cat pid=USER\b`, `cat-USER .* sys_openat\(`, `sh-SELF .* sys_chdir\(`, `sh-SELF .* sys_write\(fd: 1, buf: [0-9a-f]+, count: 7\)`,
			`child_comm=sh child_pid=OTHER\b`, `sched_process_exit: comm=\S+ pid=OTHER\b`, // by its file's name, if it was gone before it was asked
		}, nil},
		{"proc", true, false, []string{
			`comm=sh pid=SELF child_comm=sh child_pid=USER\b`, `sched_process_exec: filename=.*/cat pid=USER old_pid=USER\b`,
			`sched_process_exit: comm=cat pid=USER\b`, `cat-USER .* sys_openat\(`, `sh-SELF .* sys_chdir\(`,
		}, []string{`pid=OTHER\b`}},
		{"connector and a namespace", false, true, []string{
			`comm=sh pid=SELF child_comm=sh child_pid=USER\b`, `sched_process_exec: filename=.*/cat pid=USER old_pid=USER\b`,
			`sched_process_exit: comm=cat pid=USER\b`, `cat-USER .* sys_openat\(`, `sh-SELF .*: tracing_mark_write: marked`,
			`child_comm=sh child_pid=OTHER\b`, `sched_process_exit: comm=\S+ pid=OTHER\b`,
		}, nil},
		{"proc and a namespace", true, true, []string{
			`comm=sh pid=SELF child_comm=sh child_pid=USER\b`, `sched_process_exec: filename=.*/cat pid=USER old_pid=USER\b`,
			`sched_process_exit: comm=cat pid=USER\b`, `cat-USER .* sys_openat\(`, `sh-SELF .*: tracing_mark_write: marked`,
		}, []string{`pid=OTHER\b`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, b := mount(t, c.noConnector)
			saved := filepath.Join(t.TempDir(), "trace")
			cmd := exec.Command("sh", "-c", script, "sh", dir, saved)
			if c.namespace {
				cmd = exec.Command("sh", "-c", inNamespace, "sh", script, dir, saved)
				cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
			}
			out := run(t, cmd, func() {
				if c.namespace {
					b.Enter(cmd.Process.Pid)
				}
			})
			var self, user, other string
			if _, err := fmt.Sscan(string(out), &self, &user, &other); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			text, err := os.ReadFile(saved)
			if err != nil {
				t.Fatal(err)
			}
			named := strings.NewReplacer("SELF", self, "USER", user, "OTHER", other)
			for _, want := range c.want {
				if !regexp.MustCompile(named.Replace(want)).Match(text) {
					t.Errorf("the trace lacks %s", want)
				}
			}
			for _, not := range c.not {
				if line := regexp.MustCompile(".*" + named.Replace(not)).Find(text); line != nil {
					t.Errorf("the trace has %s", line)
				}
			}
			if t.Failed() {
				t.Logf("SELF %s USER %s OTHER %s\n%.6000s", self, user, other, grep(text, "sched_process|sys_openat"))
			}
		})
	}
}

// inNamespace is the first process of a PID namespace. It runs the script when it has been
// told that it is known.
const inNamespace = `
read -r known
script=$1
shift
sh -c "$script" sh "$@"
`

// run runs a program, calls started, and lets the program go on; it returns what it says.
func run(t *testing.T, cmd *exec.Cmd, started func()) []byte {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	started()
	if _, err := stdin.Write([]byte("known\n")); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return out.Bytes()
}

func grep(text []byte, pattern string) string {
	return strings.Join(regexp.MustCompile("(?m)^.*(?:"+pattern+").*$").FindAllString(string(text), -1), "\n")
}
