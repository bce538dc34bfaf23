package fusefs_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ftracelab/internal/testutil"
	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/fusefs"
	"ftracelab/tracefsfs/tracefile"
)

// waitForItself serves a mount and opens a file of it that is never answered, which no
// server should.
func waitForItself(dir string) error {
	stuck := &tracefile.File{Name: "stuck", Mode: 0o600, Open: func(context.Context, tracefile.Flags) (tracefile.Handle, error) {
		fmt.Println("waiting")
		select {}
	}}
	root := &tracefile.Dir{Mode: 0o700, Children: func() []tracefile.Node { return nil }}
	_, err := fusefs.New(dir, fusefs.Config{FS: tracefsfs.New(root), Control: []tracefile.Node{stuck}})
	if err == nil {
		_, err = unix.Open(filepath.Join(dir, ".ftracelab/stuck"), unix.O_RDONLY, 0)
	}
	return err
}

// A server that is killed while it waits for its own mount ends, and so does the mount:
// its helper cuts the connection.
func TestKilledWhileWaiting(t *testing.T) {
	testutil.NeedPrivateMounts(t, fusefs.Available())
	dir := t.TempDir()
	server := roleCommand("waiting", dir)
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
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	select {
	case <-ended:
	case <-time.After(patience):
		_ = unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH) // or the process stays for ever
		t.Fatal("the server does not end")
	}
	waitFor(t, "the mount to go", func() bool { return !mounted(t, dir) })
}

// endings are ways in which a served mount comes to its end.
var endings = []struct {
	what string
	do   func(*testing.T, *served)
}{
	{"SIGTERM", func(t *testing.T, s *served) { send(t, s.supervisor, unix.SIGTERM) }},
	{"SIGTERM, the server stopped", func(t *testing.T, s *served) {
		send(t, s.server, unix.SIGSTOP)
		send(t, s.supervisor, unix.SIGTERM)
	}},
	{"SIGTERM, the helper stopped", func(t *testing.T, s *served) {
		send(t, s.helper, unix.SIGSTOP)
		send(t, s.supervisor, unix.SIGTERM)
	}},
	{"the server killed", func(t *testing.T, s *served) { send(t, s.server, unix.SIGKILL) }},
	{"the server stopped and killed", func(t *testing.T, s *served) {
		send(t, s.server, unix.SIGSTOP)
		send(t, s.server, unix.SIGKILL)
	}},
	{"the helper killed", func(t *testing.T, s *served) { send(t, s.helper, unix.SIGKILL) }},
	{"the supervisor killed", func(t *testing.T, s *served) { send(t, s.supervisor, unix.SIGKILL) }},
	{"unmounted", func(t *testing.T, s *served) {
		if err := unix.Unmount(s.dir, unix.MNT_FORCE|unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
	}},
	{"SIGTERM, unmounted lazily", func(t *testing.T, s *served) {
		if err := unix.Unmount(s.dir, unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
		send(t, s.supervisor, unix.SIGTERM)
	}},
}

// endTime is how long the end of a mount may take that is told to end.
const endTime = 2 * time.Second

// However a mount ends, all its processes end, and its clients are told. By SIGTERM it
// ends in two seconds.
func TestEndings(t *testing.T) {
	for _, e := range endings {
		t.Run(e.what, func(t *testing.T) {
			s := serve(t)
			wait := load(t, s.dir)
			time.Sleep(200 * time.Millisecond) // for the clients to be at work
			begin := time.Now()
			e.do(t, s)
			select {
			case <-s.ended:
			case <-time.After(patience):
				t.Fatalf("the supervisor does not end; server %q, helper %q", state(s.server), state(s.helper))
			}
			if took := time.Since(begin); strings.HasPrefix(e.what, "SIGTERM") && took > endTime {
				t.Errorf("it took %v, at most %v is good", took, endTime)
			}
			s.waitGone(t)
			wait()
		})
	}
}

var (
	killsFlag    = flag.Int("kills", 0, "how many servers TestKilledAtRandom kills; 0: a few")
	killSeedFlag = flag.Uint64("kills.seed", 1, "its seed")
)

// Whenever a mount is ended, under load, no process of it stays, nor a client that waits
// for it.
func TestKilledAtRandom(t *testing.T) {
	times := *killsFlag
	if times == 0 {
		times = 20
		if testing.Short() {
			times = 5
		}
	}
	rng := rand.New(rand.NewPCG(*killSeedFlag, 0))
	for n := range times {
		e := endings[rng.IntN(len(endings))]
		delay := time.Duration(rng.IntN(300_000)) * time.Microsecond
		t.Run(fmt.Sprintf("%d: %s", n, e.what), func(t *testing.T) {
			s := serve(t)
			wait := load(t, s.dir)
			time.Sleep(delay)
			e.do(t, s)
			<-s.ended
			s.waitGone(t)
			wait()
		})
	}
}

// A path that a client gives may lead back into the mount, where nobody gets an answer until
// the helper that looks at it is back: the client's write holds the lock of the tree, and
// others that wait for it the folder, in the kernel. The helper does not go there.
func TestPathIntoMount(t *testing.T) {
	testutil.NeedPrivateMounts(t, fusefs.Available())
	helper := startHelper(t)
	locked, asked := make(chan struct{}), make(chan struct{}, 1)
	root := &tracefile.Dir{Mode: 0o700, Find: func(name string) tracefile.Node {
		if name != "locked" {
			return nil
		}
		asked <- struct{}{}
		<-locked
		return &tracefile.Dir{Name: name, Mode: 0o700}
	}}
	m := mount(t, fusefs.Config{FS: tracefsfs.New(root), Helper: helper})
	waiting := exec.Command("stat", filepath.Join(m.Dir(), "locked"))
	if err := waiting.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	creating := exec.Command("sh", "-c", `: > "$0"`, filepath.Join(m.Dir(), "new")) // waits for the folder
	if err := creating.Start(); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(m.Dir(), link); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // for it to wait
	got := make(chan error, 1)
	for _, path := range []string{filepath.Join(m.Dir(), "file"), filepath.Join(link, "file"), m.Dir()} {
		go func() {
			_, err := helper.Stat(path)
			got <- err
		}()
		select {
		case err := <-got:
			if !errors.Is(err, unix.EACCES) {
				t.Errorf("%s: %v", path, err)
			}
		case <-time.After(patience):
			t.Errorf("%s: no answer", path)
		}
	}
	close(locked)
	_, _ = waiting.Wait(), creating.Wait() // what they say is not the question
}

// A path that a client gives may lead to a folder of the mount that another client has
// locked, whose request waits in the server for the one who asks for the path.
func TestLockedFolder(t *testing.T) {
	testutil.NeedPrivateMounts(t, fusefs.Available())
	helper := startHelper(t)
	var tree sync.Mutex // as of the tracer
	var once sync.Once
	writing, locked, looked := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	dir := t.TempDir()
	look := tracefile.Seq("look", 0o600, func() ([]byte, error) { return nil, nil }).OnWrite(func([]byte) error {
		tree.Lock()
		defer tree.Unlock()
		close(writing)
		<-locked
		_, err := helper.Stat(filepath.Join(dir, "other"))
		looked <- err
		return nil
	})
	root := &tracefile.Dir{Mode: 0o700, Children: func() []tracefile.Node { return []tracefile.Node{look} }}
	root.Find = func(name string) tracefile.Node {
		switch name {
		case "look":
			return look
		case "locked": // an open that may create holds the folder's lock meanwhile
			once.Do(func() { close(locked) })
			tree.Lock()
			defer tree.Unlock()
		}
		return nil
	}
	m, err := fusefs.New(dir, fusefs.Config{FS: tracefsfs.New(root), Helper: helper})
	if err != nil {
		t.Fatal(err)
	}
	var clients []*exec.Cmd
	for _, file := range []string{"look", "locked"} {
		cmd := exec.Command("sh", "-c", "echo > "+file)
		cmd.Dir = dir
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, cmd)
		if file == "look" {
			<-writing
		}
	}
	select {
	case err := <-looked:
		if !errors.Is(err, unix.EACCES) {
			t.Errorf("a path into the mount: %v", err)
		}
	case <-time.After(patience):
		t.Error("the server waits for its own mount")
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	for _, cmd := range clients {
		_ = cmd.Wait() // one of them has no file to write to
	}
}

// startHelper starts a helper that ends with the test.
func startHelper(t *testing.T) *fusefs.Helper {
	t.Helper()
	helper, err := fusefs.StartHelper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := helper.Close(); err != nil {
			t.Error(err)
		}
	})
	return helper
}

// A file that the helper has opened for its server is not kept open by the helper: the
// last reader of a pipe is gone as soon as the server has closed it.
func TestHelperKeepsNothingOpen(t *testing.T) {
	helper := startHelper(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := unix.Open(pipe, unix.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	end, err := unix.Open(pipe, unix.O_WRONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(end)
	unix.Close(w)
	for n := range 2000 {
		r, err := helper.Open(pipe, unix.O_RDONLY|unix.O_NONBLOCK)
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		fds := []unix.PollFd{{Fd: int32(end), Events: unix.POLLOUT}}
		if _, err := unix.Poll(fds, 0); err != nil || fds[0].Revents&unix.POLLERR == 0 {
			t.Fatalf("after %d openings somebody still reads: %#x, %v", n, fds[0].Revents, err)
		}
	}
}

// Elsewhere the helper goes where open(2) would.
func TestHelperPaths(t *testing.T) {
	helper := startHelper(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	err := errors.Join(
		os.WriteFile(file, []byte("text"), 0o600), os.Mkdir(filepath.Join(dir, "sub"), 0o700),
		os.Symlink("../sub/../file", filepath.Join(dir, "sub/relative")), os.Symlink(file, filepath.Join(dir, "absolute")),
		os.Symlink("loop", filepath.Join(dir, "loop")), os.Symlink("sub", filepath.Join(dir, "folder")),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		err  error
	}{
		{"file", nil},
		{"sub/relative", nil},
		{"folder//relative", nil},
		{"./sub/../absolute", nil},
		{"none", unix.ENOENT},
		{"file/below", unix.ENOTDIR},
		{"loop", unix.ELOOP},
	} {
		f, err := helper.Open(dir+"/"+c.path, unix.O_RDONLY)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.path, err, c.err)
		}
		if err != nil {
			continue
		}
		if text, err := io.ReadAll(f); err != nil || string(text) != "text" {
			t.Errorf("%s: %q, %v", c.path, text, err)
		}
		f.Close()
		if info, err := helper.Stat(dir + "/" + c.path); err != nil || info.Size != 4 {
			t.Errorf("%s: %+v, %v", c.path, info, err)
		}
	}
}

// A thread of the server that is led into the mount is turned away at once.
func TestNotSelf(t *testing.T) {
	var d diary
	m := mount(t, fusefs.Config{FS: d.tree(), NotSelf: true})
	fd, err := unix.Open(filepath.Join(m.Dir(), "file"), unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := unix.Read(fd, make([]byte, 1)); !errors.Is(err, unix.EDEADLK) {
		t.Errorf("a read by the server itself: %v", err)
	}
}
