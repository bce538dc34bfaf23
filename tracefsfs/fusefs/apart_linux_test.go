package fusefs_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ftracelab/internal/testutil"
	"ftracelab/internal/tracefile"
	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/fusefs"
)

// waitingServer names the folder on which this program is to be waitForItself.
const waitingServer = "FTRACELAB_TEST_WAITING_SERVER"

// waitForItself serves a mount and opens a file of it that is never answered.
func waitForItself(dir string) int {
	stuck := &tracefile.File{Name: "stuck", Mode: 0o600, Open: func(context.Context, tracefile.Flags) (tracefile.Handle, error) {
		fmt.Println("waiting")
		select {}
	}}
	root := &tracefile.Dir{Mode: 0o700, Children: func() []tracefile.Node { return nil }}
	m, err := fusefs.New(dir, fusefs.Config{FS: tracefsfs.New(root), Control: []tracefile.Node{stuck}})
	if err == nil {
		err = m.Apart(func() error {
			_, err := unix.Open(filepath.Join(dir, ".ftracelab/stuck"), unix.O_RDONLY, 0)
			return err
		})
	}
	fmt.Println(err)
	return 1
}

// A server that is killed while it waits for its own mount ends, and so do its clients.
func TestKilledWhileWaiting(t *testing.T) {
	testutil.NeedPrivateMounts(t, fusefs.Available())
	dir := t.TempDir()
	server := exec.Command("/proc/self/exe")
	server.Env = append(os.Environ(), waitingServer+"="+dir)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "waiting\n" {
		t.Fatalf("the server says %q, %v", line, err)
	}
	defer func() {
		if err := unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("the server does not end")
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); !errors.Is(err, unix.ENOTCONN) && !errors.Is(err, unix.ECONNABORTED) {
		t.Errorf("statfs of a mount without a server: %v", err)
	}
}
