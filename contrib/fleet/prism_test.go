package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/extworker"
)

// startPrism starts Beam's local engine as a process of its own and gives the endpoint of
// its job service.
func startPrism(t *testing.T) (endpoint string) {
	t.Helper()
	port := freePort(t)
	c := command(t, filepath.Join(toolsDir(t), "prism"), "-job_port", strconv.Itoa(port), "-serve_http=false", "-log_level", "error")
	start(t, c, port)
	return fmt.Sprintf("localhost:%d", port)
}

// startPool starts a process that holds workers, and gives its address.
func startPool(t *testing.T, port int) *exec.Cmd {
	t.Helper()
	c := command(t, "pool")
	c.Env = append(os.Environ(), "FLEET_POOL_PORT="+strconv.Itoa(port))
	start(t, c, port)
	return c
}

// pool is the program of startPool.
func pool() {
	flag.Parse()
	beam.Init()
	port, err := strconv.Atoi(os.Getenv("FLEET_POOL_PORT"))
	if err == nil {
		_, err = extworker.StartLoopback(context.Background(), port)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

// start starts a program and waits until something listens on its port.
func start(t *testing.T, c *exec.Cmd, port int) {
	t.Helper()
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for range 600 {
		conn, err := net.Dial("tcp", fmt.Sprintf("localhost:%d", port))
		if err == nil {
			conn.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s does not listen on port %d", c.Path, port)
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// captures writes captures into a folder, and gives it and the bytes of their sum as
// ftracelab estimate and merge make it.
func captures(t *testing.T, n int) (dir string, want []byte) {
	t.Helper()
	dir = t.TempDir()
	ftracelab := filepath.Join(toolsDir(t), "ftracelab")
	parts := t.TempDir()
	args := []string{"merge"}
	for k := range n {
		name, part := filepath.Join(dir, fmt.Sprintf("web%d.txt", k)), filepath.Join(parts, strconv.Itoa(k))
		text := fmt.Sprintf("schedule;do_nanosleep;fn_%d;do_syscall_64 %d\nschedule;fn_%d 3\n", k%5, 10+k, k%3)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(ftracelab, "estimate", "--summary", part, name).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		args = append(args, part)
	}
	want, err := exec.Command(ftracelab, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return dir, want
}

// same compares a file with what is wanted.
func same(t *testing.T, file string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not the sum of the captures", file)
	}
}

// TestTwoProcesses: the engine is a process, and fleet, which holds the workers, is
// another.
func TestTwoProcesses(t *testing.T) {
	dir, want := captures(t, 12)
	endpoint := startPrism(t)
	for _, runner := range []string{"prism", "universal", "flink", "spark"} { // the names of runners that speak to a job service
		out := filepath.Join(t.TempDir(), "fleet.ftls")
		c := command(t, "fleet", "-runner", runner, "-endpoint", endpoint, "-environment_type", "LOOPBACK", "-output", out, filepath.Join(dir, "*.txt"))
		if text, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", runner, err, text)
		}
		same(t, out, want)
	}
}

// TestDataflow: Dataflow's runner makes a job of the pipeline. It is not submitted.
func TestDataflow(t *testing.T) {
	c := command(t, "fleet", "-runner", "dataflow", "-dry_run", "-async", "-log-level", "info", "-project", "p", "-region", "europe-west1",
		"-staging_location", "gs://bucket/staging", "-worker_binary", "go.mod", "-output", "gs://bucket/sum.ftls", "gs://bucket/*.dat")
	if text, err := c.CombinedOutput(); err != nil || !bytes.Contains(text, []byte("Dry-run: not submitting job!")) {
		t.Fatalf("%v: %s", err, text)
	}
}

// blocked puts a FIFO among the captures and waits until a worker reads it, which then
// has one bundle begun and not done. done makes a capture of the FIFO.
func blocked(t *testing.T, dir string, c *exec.Cmd) (done func()) {
	t.Helper()
	place := filepath.Join(dir, "web3.txt")
	content, err := os.ReadFile(place)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(place); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(place, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		w, err := os.OpenFile(place, os.O_WRONLY|syscall.O_NONBLOCK, 0) // fails while nobody reads
		if err == nil {
			t.Cleanup(func() { w.Close() })
			break
		}
		if n == 1200 {
			t.Fatalf("no worker reads the FIFO: %v", c.Stderr)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return func() {
		if err := os.Remove(place); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(place, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKilledLoopback: fleet is killed while it holds the workers and has read some of the
// captures. Nothing is written, the older sum stays, and the next run on the same engine
// is whole.
func TestKilledLoopback(t *testing.T) {
	dir, want := captures(t, 12)
	endpoint := startPrism(t)
	out := filepath.Join(t.TempDir(), "fleet.ftls")
	if err := os.WriteFile(out, []byte("older"), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"-runner", "prism", "-endpoint", endpoint, "-environment_type", "LOOPBACK", "-output", out, filepath.Join(dir, "*.txt")}
	c := command(t, "fleet", args...)
	done := blocked(t, dir, c)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	done()
	same(t, out, []byte("older"))
	if text, err := command(t, "fleet", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	same(t, out, want)
}

// TestKilledWorker: the workers are in a process of their own, which is killed with one
// capture begun. Prism does not repeat the bundle but ends the job, and fleet says so.
// The next run, with new workers, counts all captures once.
func TestKilledWorker(t *testing.T) {
	dir, want := captures(t, 12)
	endpoint := startPrism(t)
	port := freePort(t)
	workers := startPool(t, port)
	out := filepath.Join(t.TempDir(), "fleet.ftls")
	// The program that Beam would send to the workers is not needed: they run already.
	args := []string{
		"-worker_binary", "go.mod", "-runner", "prism", "-endpoint", endpoint, "-environment_type", "EXTERNAL",
		"-environment_config", fmt.Sprintf("localhost:%d", port), "-output", out, filepath.Join(dir, "*.txt"),
	}
	c := command(t, "fleet", args...)
	done := blocked(t, dir, c)
	if err := workers.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = workers.Wait()
	if err := c.Wait(); c.ProcessState.ExitCode() != exitFailed {
		t.Errorf("without its worker the job ends with %v", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("there is a sum although no run is done")
	}
	done()
	startPool(t, port)
	if text, err := command(t, "fleet", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	same(t, out, want)
}
