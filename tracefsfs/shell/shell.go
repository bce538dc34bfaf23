package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"strconv"
	"sync"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/tracefile"
)

// Config is a shell's world. Only FS must be set.
type Config struct {
	FS    *tracefsfs.FS // mounted at /sys/kernel/tracing
	Stdin io.Reader     // nil is empty; unless a file, each Run reads ahead of what it needs
	// Typed is what the commands of an interactive session read; nil is Stdin. It should be
	// the terminal opened once more, so that a read of it can be ended.
	Typed  *os.File
	Stdout io.Writer // nil discards
	Stderr io.Writer
	// Terminal is where Interactive draws the line that is edited, with the escape
	// sequences that takes; nil is Stdout. What commands print never goes there.
	Terminal io.Writer

	// Plain says that the terminal knows no escape sequences (TERM=dumb): it edits the line
	// by itself, and Interactive reads whole lines.
	Plain bool

	// Screen is the terminal of Interactive if that is no file, as in a page. Stdin should
	// then read from it as well, and Stdout write to it.
	Screen Screen

	// History are lines of earlier interactive sessions, the oldest first. Keep, if not nil,
	// is given each line of this one.
	History []string
	Keep    func(line string)

	// Sleep lets simulated time pass, for sleep and usleep. nil returns at once.
	Sleep func(ctx context.Context, d time.Duration) error
	// Command runs before each simple command, of which args are the words; nil
	// does nothing. A script that counts on its commands taking time can be given
	// some here. The commands of a pipeline run beside each other, and so may
	// calls of Command.
	Command func(args []string)
	// Within gives the context in which one of the lab's commands runs, from the one that
	// it would run in; nil leaves that as it is. A page, in which Ctrl-C is seen only while
	// no command computes, gives one that lets the page run whenever it is asked.
	Within func(context.Context) context.Context
	// Now is the simulated time of day, for date. nil is the epoch.
	Now func() time.Time
	// Machine is what modprobe, chrt and so on act on; nil is none.
	Machine Machine
	// CPUs is what nproc says; 0 is 1.
	CPUs int
	// Proc are virtual files that are only read, by absolute path
	// (/proc/kallsyms), and Files any other files and folders (/proc/sys/kernel/…).
	Proc  map[string]func() string
	Files map[string]tracefile.Node
	// Host is what may be seen of the host: nil is its files. HostWrite allows
	// writing them; without it that is EROFS.
	Host      HostFiles
	HostWrite bool
	// Seed is where $RANDOM begins.
	Seed uint64
	// Memory is by how many bytes the process may grow while a script runs; 0 is
	// DefaultMemory. A script that wants more is ended: see the package's doc. What
	// else the process does meanwhile counts as the script's.
	Memory int
}

// KernelVersion is the line of /proc/version.
const KernelVersion = "Linux version " + kernelRelease + " (ftracelab@ftracelab) (gcc 12.2.0) #1 SMP PREEMPT_DYNAMIC"

// The identity of the simulated system.
const (
	kernelRelease = "6.12.0-ftracelab"
	hostname      = "ftracelab"
	parentPID     = "1"
)

// PID is the shell's, $$.
const PID = 421

var shellPID = strconv.Itoa(PID)

// Bounds on scripts: their size, how deep they nest, and how deep they call
// themselves, counted in Go stack frames (a function takes some fifteen).
const (
	maxScript  = 1 << 20
	maxNesting = 5000
	maxFrames  = 8000
)

// Shell runs scripts against one tree. What scripts put into /tmp lives as long
// as it does. It runs one script at a time.
type Shell struct {
	cfg         Config
	ns          *namespace
	commands    map[string]command
	limit       *limit
	timeline    *timeline
	descriptors *descriptors

	mu        sync.Mutex        // guards what follows: pipelines run beside each other
	sources   map[string]string // rewritten scripts waiting to be sourced
	nextID    int
	functions map[string]bool // every name a script defined as a function
	random    *rand.Rand
	history   *history // of Interactive; nil without a terminal
	session   *session // that of Interactive; nil: there is none
}

// New makes a shell.
func New(cfg Config) (*Shell, error) {
	if cfg.FS == nil {
		return nil, errors.New("shell: Config.FS is not set")
	}
	if cfg.Host == nil {
		cfg.Host = osFiles{}
	}
	files := map[string]tracefile.Node{}
	for name, show := range cfg.Proc {
		files[name] = tracefile.Value(path.Base(name), 0o444, show, nil)
	}
	for name, file := range cfg.Files {
		files[name] = file
	}
	m := new(mounts)
	sh := &Shell{
		cfg:         cfg,
		ns:          &namespace{virtual: virtualTree(cfg.FS, m, files), memory: newMemory(), host: cfg.Host, hostWrite: cfg.HostWrite, mounts: m},
		commands:    map[string]command{},
		sources:     map[string]string{},
		functions:   map[string]bool{},
		descriptors: newDescriptors(),
		random:      rand.New(rand.NewPCG(cfg.Seed, 0)),
	}
	sh.timeline = newTimeline(&sh.cfg)
	for _, c := range commands() {
		sh.commands[c.name] = c
	}
	sh.cfg.Stdout = locked(cfg.Stdout)
	sh.limit = newLimit(cfg.Memory, locked(cfg.Stderr))
	sh.cfg.Stderr = sh.limit
	return sh, nil
}

// Run runs a script from its beginning in a new shell process, so to speak:
// variables and functions of an earlier Run are gone. name is $0 and stands in
// syntax errors; args are $1 and so on. status is the exit status, 2 if the
// script cannot be parsed (which Stderr then says). err is for what is not the
// script's: a reader that fails, or ctx's end (status 130).
func (sh *Shell) Run(ctx context.Context, script io.Reader, name string, args ...string) (status int, err error) {
	text, err := io.ReadAll(io.LimitReader(script, maxScript+1))
	if err != nil {
		return 1, fmt.Errorf("shell: %s: %w", name, err)
	}
	if len(text) > maxScript {
		return 1, fmt.Errorf("shell: %s: script is larger than %d bytes", name, maxScript)
	}
	p := process{stdin: sh.cfg.Stdin, stdout: sh.cfg.Stdout, stderr: sh.cfg.Stderr, dir: tracing, env: baseEnv()}
	return sh.runWithin(ctx, p, string(text), name, args)
}

// runWithin is runText within the shell's memory.
func (sh *Shell) runWithin(ctx context.Context, p process, text, name string, args []string) (int, error) {
	defer sh.descriptors.closeAll()
	ctx, end := sh.limit.begin(ctx)
	status, err := sh.runText(ctx, p, text, name, args)
	sh.finishPipes(ctx)
	if end() != nil {
		return 2, nil
	}
	return status, err
}

// process is what a new shell process inherits.
type process struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	dir            string
	env            []string
}

// runText parses and runs a script. args may begin with shell options.
func (sh *Shell) runText(ctx context.Context, p process, text, name string, args []string) (int, error) {
	program, err := sh.parse(text, name)
	if err != nil {
		fmt.Fprintf(p.stderr, "sh: %v\n", err)
		return 2, nil
	}
	runner, err := sh.runner(ctx, p, args)
	if err != nil {
		fmt.Fprintf(p.stderr, "sh: %v\n", err)
		return 2, nil
	}
	return exitStatus(ctx, runner.Run(ctx, program))
}

// exitStatus makes a status of what a runner returned.
func exitStatus(ctx context.Context, err error) (int, error) {
	var status interp.ExitStatus
	switch {
	case err == nil:
		return 0, nil
	case ctx.Err() != nil:
		return 130, ctx.Err()
	case errors.As(err, &status):
		return int(status), nil
	}
	return 1, fmt.Errorf("shell: %w", err)
}

// parse parses a script and rewrites what must not reach the host.
func (sh *Shell) parse(text, name string) (*syntax.File, error) {
	if len(text) > maxScript {
		return nil, fmt.Errorf("%s: script is larger than %d bytes", name, maxScript)
	}
	if nesting(text) > maxNesting {
		return nil, fmt.Errorf("%s: nested too deeply", name)
	}
	program, err := syntax.NewParser().Parse(bytes.NewReader([]byte(text)), name)
	if err != nil {
		return nil, err
	}
	return program, sh.rewrite(program)
}

// nesting is how deep brackets nest in text at most, quoted ones counted too.
func nesting(text string) int {
	depth, most := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{':
			depth++
		case ')', '}':
			depth = max(depth-1, 0)
		}
		most = max(most, depth)
	}
	return most
}

// runner makes an interpreter whose every way to the outside is ours.
func (sh *Shell) runner(ctx context.Context, p process, params []string) (*interp.Runner, error) {
	runner, err := interp.New(
		// interp.Dir would ask the host whether the folder is there.
		func(r *interp.Runner) error { r.Dir = p.dir; return nil },
		// A temporary folder with a NUL can be opened on no host: the
		// interpreter opens FIFOs below $TMPDIR itself.
		interp.Env(expand.ListEnviron(append(p.env, "TMPDIR=/\x00")...)),
		interp.StdIO(p.stdin, p.stdout, p.stderr),
		interp.OpenHandler(sh.open),
		interp.StatHandler(sh.stat),
		interp.ReadDirHandler2(sh.readDir),
		interp.AccessHandler(sh.access),
		interp.CallHandler(sh.call),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return sh.exec }),
		interp.Params(params...),
	)
	if err != nil {
		return nil, err
	}
	prelude, err := syntax.NewParser().Parse(bytes.NewReader([]byte("unset TMPDIR")), "")
	if err != nil {
		return nil, err
	}
	for _, stmt := range prelude.Stmts {
		if err := runner.Run(ctx, stmt); err != nil {
			return nil, err
		}
	}
	return runner, nil
}

// baseEnv is the environment, of which nothing is the host's.
func baseEnv() []string {
	return []string{
		"HOME=/root", "USER=root", "LOGNAME=root", "SHELL=/bin/sh", "HOSTNAME=" + hostname,
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "TERM=dumb",
		"UID=0", "EUID=0", "GID=0", jobCount + "=0",
	}
}

// lockedWriter lets the parts of a pipeline share a writer.
type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func locked(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return lockedWriter{new(sync.Mutex), w}
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
