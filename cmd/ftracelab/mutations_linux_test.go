package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ftracelab/internal/testutil"
)

// Bounds of one mutated input. Its time is the processor's, for a machine may be busy
// with other things; what waits for nothing is found by the clock on the wall.
const (
	mutantTime = 5 * time.Second
	mutantWall = 2 * time.Minute
	mutantRSS  = 288 << 10 // KiB, the highest of the process that runs them all
)

// The variables of TestMutations: how many inputs, the seed they come from, and the
// first of them, to see one again; and, of the process that runs them, the range.
const (
	mutationsEnv     = "FTRACELAB_MUTATIONS"
	mutationSeedEnv  = "FTRACELAB_MUTATION_SEED"
	mutationFirstEnv = "FTRACELAB_MUTATION_FIRST"
	mutantsEnv       = "FTRACELAB_MUTANTS"
)

// TestMutations gives mutated inputs to all commands that read any: none may panic,
// take longer than mutantTime or more memory than mutantRSS, and what is printed of
// them is harmless. A process of its own runs them; where it ends early, the next
// one goes on behind the input that ended it.
func TestMutations(t *testing.T) {
	count, seed, first := numberFromEnv(t, mutationsEnv, 300), numberFromEnv(t, mutationSeedEnv, 1), numberFromEnv(t, mutationFirstEnv, 0)
	if testing.Short() {
		count = min(count, 50)
	}
	t.Logf("%s=%d %s=%d", mutationsEnv, count, mutationSeedEnv, seed)
	rss := int64(0)
	outcomes := map[string]*[2]int{} // of each command: how many inputs it read, how many it refused
	all := count-first >= 300
	for faults := 0; first < count && faults < 20; faults++ {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestMutants$", "-test.timeout=0")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %d", mutantsEnv, seed, first, count))
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		last := ""
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if rest, ok := strings.CutPrefix(lines.Text(), "fault "); ok {
				t.Errorf("%s", rest)
				continue
			}
			if rest, ok := strings.CutPrefix(lines.Text(), "memory "); ok {
				t.Logf("peak RSS in MiB: %s", rest)
				continue
			}
			last = lines.Text()
			var status int
			var command string
			if _, err := fmt.Sscanf(last, "%d: ", &first); err == nil {
				first++
			} else if _, err := fmt.Sscanf(last, "status %d of %s", &status, &command); err == nil {
				if outcomes[command] == nil {
					outcomes[command] = new([2]int)
				}
				outcomes[command][min(status, 1)]++
			}
		}
		err = cmd.Wait()
		rss = max(rss, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
		switch {
		case err != nil:
			text := errs.String()
			t.Errorf("seed %d, after %q: %v\n%s", seed, last, err, text[:min(len(text), 6000)])
		case os.Getenv(mutationFirstEnv) != "" && errs.Len() > 0:
			t.Log(errs.String())
			first = count
		case last != "PASS":
			t.Fatalf("the inputs ended with %q", last)
		default:
			first = count
		}
	}
	for command, n := range outcomes {
		t.Logf("%s: %d inputs read, %d refused", command, n[0], n[1])
		if all && (n[0] == 0 || n[1] == 0) {
			t.Errorf("%s: no input that is read, or none that is refused, is no test of it", command)
		}
	}
	t.Logf("%d inputs, peak RSS %d MiB", count, rss>>10)
	if rss > mutantRSS && !testutil.UnderRace {
		t.Errorf("peak RSS %d KiB, more than %d", rss, mutantRSS)
	}
}

func numberFromEnv(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s=%s: %v", name, text, err)
	}
	return n
}

// TestMutants is the process that TestMutations starts. It prints the number of each
// input before it.
func TestMutants(t *testing.T) {
	var seed uint64
	var first, end int
	if os.Getenv(mutantsEnv) == "" {
		return // its parent was not asked for
	}
	if _, err := fmt.Sscan(os.Getenv(mutantsEnv), &seed, &first, &end); err != nil {
		t.Fatal(err)
	}
	m := newMutants(t)
	rss := resources().Maxrss
	for n := first; n < end; n++ {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		c := m.next(rng)
		fmt.Printf("%d: %s\n", n, c)
		if os.Getenv(mutationFirstEnv) != "" { // somebody looks for this one
			keep(t, n, c)
		}
		status, fault := c.run(t)
		fmt.Printf("status %d of %s\n", status, c.args[0])
		if now := resources().Maxrss; now > rss+rss/4 {
			rss = now
			fmt.Printf("memory %d, input %d, %s\n", rss>>10, n, c)
		}
		if fault != "" {
			fmt.Printf("fault seed %d, input %d, %s: %s\n", seed, n, c, strings.ReplaceAll(fault, "\n", `\n`))
		}
	}
}

// TestFoundByMutation has the inputs that TestMutations found something with.
func TestFoundByMutation(t *testing.T) {
	for name, c := range map[string]*mutant{
		// It waited for ever for a page, as it should, and did not hear that it was to end.
		"a script on standard input": {args: []string{"shell", "--cpus", "1"}, input: "dd if=per_cpu/cpu0/trace_pipe_raw bs=4096 count=1 | wc -c", endless: true},
	} {
		t.Run(name, func(t *testing.T) {
			if _, fault := c.run(t); fault != "" {
				t.Error(fault)
			}
		})
	}
}

// keep leaves an input that somebody wants to see.
func keep(t *testing.T, n int, c *mutant) {
	dir, err := os.MkdirTemp("", fmt.Sprintf("mutant-%d-", n))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "input %d is in %s: %q\n", n, dir, c.args)
	if c.folder != "" {
		if err := os.CopyFS(dir, os.DirFS(c.folder)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, dir+"/input", c.input)
}

// run runs c and says what is wrong with what it did.
func (c *mutant) run(t *testing.T) (status int, fault string) {
	defer c.undo(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs head
	done := make(chan int, 1)
	used, began := processorTime(), time.Now()
	go func() { done <- run(ctx, c.args, strings.NewReader(c.input), &out, &errs) }()
	status = -1
	for look := time.NewTicker(100 * time.Millisecond); status < 0; {
		select {
		case status = <-done:
			look.Stop()
		case <-look.C:
			took := processorTime() - used
			if c.endless && took > mutantTime/5 {
				cancel() // what may run for ever has to hear that it should end
			}
			if took > mutantTime || time.Since(began) > mutantWall {
				stacks := make([]byte, 1<<20)
				fmt.Fprintf(os.Stderr, "%q hangs: %v of the processor\n%s\n", c.args, took, stacks[:runtime.Stack(stacks, true)])
				os.Exit(3)
			}
		}
	}
	switch {
	case status != 0 && errs.Len() == 0 && !c.endless:
		return status, fmt.Sprintf("status %d, and no word why", status)
	case c.args[0] != "shell" && obeyed.Match(errs.Bytes()):
		return status, fmt.Sprintf("on standard error %q", errs.String())
	case c.args[0] == "estimate" && obeyed.Match(out.Bytes()):
		return status, fmt.Sprintf("on standard output %q", out.String())
	case c.json && status == 0 && !json.Valid(out.Bytes()):
		return status, fmt.Sprintf("no JSON: %q", out.String())
	}
	return status, ""
}

// head keeps the beginning of what is written to it.
type head struct{ bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:min(len(p), max(0, 8<<20-h.Len()))])
	return len(p), nil
}

// processorTime is how long this process has been running.
func processorTime() time.Duration {
	use := resources()
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

func resources() (use syscall.Rusage) {
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		panic(err)
	}
	return use
}

// mutant is a mutated input and the command that reads it.
type mutant struct {
	name    string
	args    []string
	input   string // standard input, or the mutated file's content
	folder  string // the input's, if it is a folder
	restore func(*testing.T)
	json    bool
	endless bool // it may be right to run for ever
}

func (c *mutant) String() string { return c.name }

func (c *mutant) undo(t *testing.T) {
	if c.restore != nil {
		c.restore(t)
	}
}

// mutants makes them.
type mutants struct {
	t      *testing.T
	dir    string
	folder string
	files  []string // of the folder
	seeds  map[string][]byte
	kinds  []func(*rand.Rand) *mutant
	names  []string // of the seeds of captures in one file
	dats   []string
}

func (m *mutants) next(rng *rand.Rand) *mutant { return m.kinds[rng.IntN(len(m.kinds))](rng) }

func newMutants(t *testing.T) *mutants {
	m := &mutants{t: t, dir: t.TempDir(), seeds: map[string][]byte{}}
	m.makeSeeds()
	m.kinds = []func(*rand.Rand) *mutant{m.text, m.text, m.inFolder, m.inFolder, m.dat, m.dat, m.dump, m.script, m.set}
	return m
}

// variant is one of the flags that a command may have, or none.
func variant(rng *rand.Rand, flags ...string) []string {
	var out []string
	for range rng.IntN(4) {
		out = append(out, strings.Fields(flags[rng.IntN(len(flags))])...)
	}
	return out
}

var estimateVariants = []string{
	"--json", "--keep-going", "--bits 10", "--bits 18", "--buffer-size-kb 64", "--no-overwrite", "--top 100", "--top 0", "--subbuf-size 8192",
	"--designs full-stacks,stackmap,no-stacks", "--designs full-stacks,stackmap+user,deferred", "--designs full-stacks,stackmap:bits=12,probes=8",
}

var reportVariants = []string{
	"--keep-going", "--cpu 0", "--cpu 1", "--cpu 7", "--trace-option sym-offset", "--trace-option noirq-info", "--trace-option latency-format", "--trace-option raw",
	"--trace-option hex", "--trace-option bin", "--trace-option sym-userobj", "--trace-option fields", "--trace-option context-info", "--trace-option verbose",
	"--trace-option notest_nop_refuse", "--trace-option record-tgid", "--trace-option sym-addr",
}

// estimate is that command on path.
func (m *mutants) estimate(rng *rand.Rand, name, path string, more ...string) *mutant {
	args := append([]string{"estimate"}, variant(rng, append(more, estimateVariants...)...)...)
	if rng.IntN(4) == 0 {
		args = append(args, "--html", m.dir+"/out.html")
	}
	c := &mutant{name: name + ": estimate", args: append(args, path)}
	for _, a := range args {
		c.json = c.json || a == "--json"
	}
	return c
}

// text is a text capture, compressed or not.
func (m *mutants) text(rng *rand.Rand) *mutant {
	name := m.names[rng.IntN(len(m.names))]
	data := testutil.Mutate(rng, m.seeds[name], m.other(rng))
	if rng.IntN(4) == 0 {
		data = compressed(m.t, rng, data)
		if rng.IntN(2) == 0 {
			data = testutil.Mutate(rng, data, nil)
		}
	}
	path := "-"
	if rng.IntN(2) == 0 {
		path = put(m.t, m.dir+"/input", string(data))
	}
	c := m.estimate(rng, name, path, "--format ftrace", "--format perf", "--format folded")
	c.input = string(data)
	return c
}

// other is any seed.
func (m *mutants) other(rng *rand.Rand) []byte {
	return m.seeds[m.names[rng.IntN(len(m.names))]]
}

// inFolder is a capture folder with one file or two mutated.
func (m *mutants) inFolder(rng *rand.Rand) *mutant {
	var before []string
	file := ""
	for range 1 + rng.IntN(2) {
		file = m.files[rng.IntN(len(m.files))]
		before = append(before, file)
		m.write(file, testutil.Mutate(rng, m.seeds["folder/"+file], m.other(rng)))
	}
	var c *mutant
	switch name := "folder/" + file; rng.IntN(3) {
	case 0:
		c = m.estimate(rng, name, m.folder)
	case 1:
		c = &mutant{name: name + ": report", args: append(append([]string{"report"}, variant(rng, reportVariants...)...), m.folder)}
	default:
		c = m.convert(rng, name, m.folder)
	}
	c.folder = m.folder
	c.restore = func(*testing.T) {
		for _, file := range before {
			m.write(file, m.seeds["folder/"+file])
		}
	}
	return c
}

func (m *mutants) write(file string, data []byte) { put(m.t, m.folder+"/"+file, string(data)) }

func (m *mutants) convert(rng *rand.Rand, name, path string) *mutant {
	args := append([]string{"convert"}, variant(rng, "--file-version 6", "--compression none", "--compression zlib")...)
	return &mutant{name: name + ": convert", args: append(args, path, m.dir+"/out.dat")}
}

// dat is a trace.dat.
func (m *mutants) dat(rng *rand.Rand) *mutant {
	name := m.dats[rng.IntN(len(m.dats))]
	data := testutil.Mutate(rng, m.seeds[name], m.other(rng))
	if rng.IntN(2) == 0 { // not the megabyte of formats, but what is at the ends
		at := min(len(m.seeds[name]), 4096)
		data = append(testutil.Mutate(rng, m.seeds[name][:at], nil), m.seeds[name][at:]...)
	}
	path := put(m.t, m.dir+"/input.dat", string(data))
	var c *mutant
	switch rng.IntN(4) {
	case 0:
		c = m.estimate(rng, name, path, "--instance foo", "--instance x")
	case 1:
		c = &mutant{name: name + ": report", args: append(append([]string{"report"}, variant(rng, "--keep-going")...), path)}
	case 2:
		c = &mutant{name: name + ": report --as trace", args: append(append([]string{"report", "--as", "trace"}, variant(rng, append(reportVariants, "--instance foo")...)...), path)}
	default:
		c = m.convert(rng, name, path)
	}
	c.input = string(data)
	return c
}

// dump is a stack_map_bin, or the kernel's image beside it.
func (m *mutants) dump(rng *rand.Rand) *mutant {
	bin, elf := m.seeds["le.bin"], m.seeds["vmlinux"]
	if rng.IntN(2) == 0 {
		bin = m.seeds["be.bin"]
	}
	if rng.IntN(3) == 0 {
		elf = testutil.Mutate(rng, elf, nil)
	} else {
		bin = testutil.Mutate(rng, bin, nil)
	}
	args := append([]string{"stackmap-dump"}, variant(rng, "--json", "--top 2", "--keep-going", "--vmlinux "+put(m.t, m.dir+"/vmlinux", string(elf)))...)
	c := &mutant{name: "stack_map_bin: stackmap-dump", args: append(args, "-"), input: string(bin)}
	for _, a := range args {
		c.json = c.json || a == "--json"
	}
	return c
}

// script is a script for the shell.
func (m *mutants) script(rng *rand.Rand) *mutant {
	lines := scripts[rng.IntN(len(scripts))]
	text := string(testutil.Mutate(rng, []byte(lines), []byte(scripts[rng.IntN(len(scripts))])))
	c := &mutant{name: "script: shell", args: []string{"shell", "--cpus", "1"}, input: text, endless: true}
	switch rng.IntN(3) {
	case 0:
		c.args = append(c.args, "-c", text)
	case 1:
		c.args = append(c.args, put(m.t, m.dir+"/script.sh", text))
	}
	return c
}

// set is a value for a file of the tracefs.
func (m *mutants) set(rng *rand.Rand) *mutant {
	c := &mutant{name: "set: run", args: []string{"run", "--cpus", "1", "--duration", "1ms"}}
	for range 1 + rng.IntN(3) {
		file, value, _ := strings.Cut(values[rng.IntN(len(values))], "=")
		c.args = append(c.args, "--set", file+"="+string(testutil.Mutate(rng, []byte(value), []byte(values[rng.IntN(len(values))]))))
	}
	return c
}
