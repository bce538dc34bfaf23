package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"ftracelab/tracefsfs/tracefile"
)

// ownPrefix marks a command that must not be taken for the interpreter's
// builtin of the same name.
const ownPrefix = "lab:"

// sourcePrefix begins the names of rewritten scripts. The NUL keeps the
// interpreter, which looks for scripts itself, from finding one on a host.
const sourcePrefix = "/\x00source/"

// strerror is an errno that prints as C programs print it.
type strerror struct{ syscall.Errno }

func (e strerror) Error() string { return tracefile.Strerror(e.Errno) }
func (e strerror) Unwrap() error { return e.Errno }

// hinted is an error with a sentence that helps; see hints.go.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// pathError is the one kind of error the interpreter prints instead of giving
// up: "sh: NAME: Permission denied".
func pathError(name string, err error) error {
	said := strerror{tracefile.Errno(err)}
	var h hinted
	if errors.As(err, &h) {
		return &os.PathError{Op: "sh:", Path: name, Err: fmt.Errorf("%w (%s)", said, h.hint)}
	}
	return &os.PathError{Op: "sh:", Path: name, Err: said}
}

// open is the interpreter's way to files: redirections, $(<f) and sourcing.
func (sh *Shell) open(ctx context.Context, name string, flag int, perm fs.FileMode) (io.ReadWriteCloser, error) {
	if strings.HasPrefix(name, sourcePrefix) {
		sh.mu.Lock()
		defer sh.mu.Unlock()
		text := sh.sources[name]
		delete(sh.sources, name)
		return readOnly{strings.NewReader(text)}, nil
	}
	if name == "" {
		return nil, pathError(name, syscall.ENOENT)
	}
	if strings.HasPrefix(name, ownPrefix) {
		return sh.guard(ctx, name)
	}
	return sh.openFile(ctx, interp.HandlerCtx(ctx), name, flag, perm)
}

// openFile opens a file of the namespace for a process of the shell.
func (sh *Shell) openFile(ctx context.Context, hc interp.HandlerContext, name string, flag int, perm fs.FileMode) (io.ReadWriteCloser, error) {
	at := absolute(hc.Dir, name)
	f, err := sh.openAt(sh.withTime(ctx, hc), at, flag, perm)
	if err != nil {
		if hint := fileHint(sh.ns.mounts.resolve(at)); hint != "" {
			err = hinted{err, hint}
		}
		return nil, pathError(name, err)
	}
	return f, nil
}

// openAt opens a file of the namespace, or a descriptor of the process of ctx.
func (sh *Shell) openAt(ctx context.Context, name string, flag int, perm fs.FileMode) (io.ReadWriteCloser, error) {
	if n, ok := fdOf(name); ok {
		return sh.openFD(ctx, n, flag&(os.O_WRONLY|os.O_RDWR) != 0)
	}
	return sh.ns.open(ctx, name, flag, perm)
}

// statAt is stat of a file of the namespace, or of a descriptor of a process.
func (sh *Shell) statAt(owner, name string) (fs.FileInfo, error) {
	n, ok := fdOf(name)
	if !ok {
		return sh.ns.stat(name)
	}
	d, err := sh.descriptors.get(owner, n)
	if err != nil {
		return nil, syscall.ENOENT
	}
	sh.descriptors.release(d)
	return fdInfo{strconv.Itoa(n)}, nil
}

// readOnly is a text as an open file.
type readOnly struct{ io.Reader }

func (readOnly) Write([]byte) (int, error) { return 0, syscall.EBADF }
func (readOnly) Close() error              { return nil }

func (sh *Shell) stat(ctx context.Context, name string, _ bool) (fs.FileInfo, error) {
	if name == "" {
		return nil, pathError(name, syscall.ENOENT)
	}
	hc := interp.HandlerCtx(ctx)
	info, err := sh.statAt(owner(hc.Env), absolute(hc.Dir, name))
	if err != nil {
		return nil, pathError(name, err)
	}
	return info, nil
}

func (sh *Shell) readDir(ctx context.Context, name string) ([]fs.DirEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err // a glob of many folders can end here only
	}
	list, err := sh.ns.readDir(absolute(interp.HandlerCtx(ctx).Dir, name))
	if err != nil {
		return nil, pathError(name, err)
	}
	return list, nil
}

func (sh *Shell) access(ctx context.Context, name string, mode interp.AccessMode) error {
	return sh.ns.access(absolute(interp.HandlerCtx(ctx).Dir, name), mode&interp.AccessExec != 0)
}

// call sees every simple command before the interpreter does, and may change
// its words: the builtins that would ignore write errors or look at the host
// become our own.
func (sh *Shell) call(ctx context.Context, args []string) ([]string, error) {
	hc := interp.HandlerCtx(ctx)
	if sh.killed(hc.Env) {
		return []string{"exit", "143"}, nil
	}
	var frame [1]uintptr
	if runtime.Callers(maxFrames, frame[:]) > 0 {
		fmt.Fprintf(hc.Stderr, "sh: %s: called too deeply\n", args[0])
		return []string{"exit", "2"}, nil
	}
	sh.timeline.command(ctx, hc.Env)
	if sh.cfg.Command != nil {
		sh.cfg.Command(args)
	}
	sh.mu.Lock()
	isFunction := sh.functions[args[0]]
	sh.mu.Unlock()
	if isFunction {
		return args, nil
	}
	switch args[0] {
	case "read", "mapfile", "readarray":
		return sh.callRead(ctx, hc, args)
	case "wait":
		sh.timeline.wait(ctx, hc.Env, args[1:])
	case "pwd":
		return args[:1], nil // -P would ask the host
	case ".", "source":
		return sh.callSource(ctx, args), nil
	case "eval":
		return sh.callEval(hc, args), nil
	case "trap":
		return sh.callTrap(args), nil
	case "type", "hash", "command", "builtin":
		return sh.callLookup(ctx, args)
	case "test", "[":
		return withoutOwner(args), nil
	}
	if _, own := sh.commands[args[0]]; own && interp.IsBuiltin(args[0]) {
		return append([]string{ownPrefix + args[0]}, args[1:]...), nil
	}
	return args, nil
}

// callRead has a line ready for the interpreter's read if standard input is a descriptor.
func (sh *Shell) callRead(ctx context.Context, hc interp.HandlerContext, args []string) ([]string, error) {
	raw := false
	for i := 1; i < len(args) && strings.HasPrefix(args[i], "-"); i++ {
		if fd, ok := strings.CutPrefix(args[i], "-u"); ok {
			rest := slices.Delete(slices.Clone(args), i, i+1)
			if fd == "" && i < len(rest) {
				fd = rest[i]
				rest = slices.Delete(rest, i, i+1)
			}
			return sh.callReadFrom(hc, fd, rest), nil
		}
		raw = raw || strings.Contains(args[i], "r")
		if strings.HasSuffix(args[i], "p") {
			i++ // the prompt
		}
	}
	in := sh.input(hc.Stdin)
	if in == nil {
		return args, nil
	}
	reading, stop := within(sh.withTime(ctx, hc), sh.timeline.jobOf(hc.Env))
	defer stop()
	err := sh.feed(reading, in, raw, args[0] != "read")
	if reading.Err() != nil && ctx.Err() == nil {
		return []string{"exit", "143"}, nil
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(hc.Stderr, "sh: %s: %s\n", args[0], tracefile.Strerror(tracefile.Errno(err)))
	}
	return args, nil
}

// callReadFrom is read -u FD.
func (sh *Shell) callReadFrom(hc interp.HandlerContext, fd string, args []string) []string {
	if _, err := strconv.Atoi(fd); err != nil {
		fmt.Fprintf(hc.Stderr, "sh: %s: -u wants the number of a descriptor\n", args[0])
		return []string{"false"}
	}
	if fd == "0" {
		return args
	}
	var text strings.Builder
	for _, arg := range args {
		quoted, err := syntax.Quote(arg, syntax.LangBash)
		if err != nil {
			return []string{"false"}
		}
		text.WriteString(quoted + " ")
	}
	return sh.callEval(hc, []string{"eval", text.String() + "<&" + fd})
}

// callSource rewrites the script to be sourced and sources that.
func (sh *Shell) callSource(ctx context.Context, args []string) []string {
	hc := interp.HandlerCtx(ctx)
	if len(args) < 2 {
		return args
	}
	text, err := sh.readFile(sh.withTime(ctx, hc), absolute(hc.Dir, args[1]))
	if err == nil {
		text, err = sh.rewriteText(text, args[1])
		if err != nil {
			fmt.Fprintf(hc.Stderr, "sh: %v\n", err)
			return []string{"false"}
		}
	} else {
		fmt.Fprintf(hc.Stderr, "%v\n", pathError(args[1], err))
		return []string{"false"}
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.nextID++
	name := fmt.Sprint(sourcePrefix, sh.nextID)
	sh.sources[name] = text
	return append([]string{args[0], name}, args[2:]...)
}

// readFile reads a script whole.
func (sh *Shell) readFile(ctx context.Context, name string) (string, error) {
	f, err := sh.openAt(ctx, name, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxScript))
	return string(text), err
}

func (sh *Shell) callEval(hc interp.HandlerContext, args []string) []string {
	text, err := sh.rewriteText(strings.Join(args[1:], " "), "eval")
	if err != nil {
		fmt.Fprintf(hc.Stderr, "sh: %v\n", err)
		return []string{"false"}
	}
	return []string{"eval", text}
}

// callTrap rewrites the action, and drops signals: nothing in the lab sends one.
func (sh *Shell) callTrap(args []string) []string {
	if len(args) < 3 || strings.HasPrefix(args[1], "-") && args[1] != "-" && args[1] != "--" {
		return args
	}
	rest := args[1:]
	if rest[0] == "--" {
		rest = rest[1:]
	}
	action := rest[0]
	if text, err := sh.rewriteText(action, "trap"); err == nil && action != "-" {
		action = text
	}
	out := []string{"trap", action}
	for _, condition := range rest[1:] {
		switch condition {
		case "0", "EXIT":
			out = append(out, "EXIT")
		case "ERR":
			out = append(out, "ERR")
		}
	}
	if len(out) == 2 {
		return []string{":"}
	}
	return out
}

// callLookup answers "what is this command" without the host's PATH. Only the
// interpreter knows its functions, so it is asked by a piece of script.
func (sh *Shell) callLookup(ctx context.Context, args []string) ([]string, error) {
	asks := args[0] == "type" || args[0] == "command" && len(args) > 1 && (args[1] == "-v" || args[1] == "-V")
	switch {
	case args[0] == "hash":
		return []string{":"}, nil
	case len(args) == 1:
		return []string{":"}, nil
	case !asks:
		if args[0] == "command" && args[1] == "-p" {
			args = args[1:]
		}
		rest, err := sh.call(ctx, args[1:])
		if err != nil || len(rest) == 0 {
			return []string{":"}, err
		}
		if _, own := sh.commands[rest[0]]; own {
			rest = append([]string{ownPrefix + rest[0]}, rest[1:]...) // past a function of that name
		}
		return rest, nil
	}
	var script strings.Builder
	names := args[1:]
	if args[0] == "command" {
		names = args[2:]
	}
	for _, name := range names {
		quoted, err := syntax.Quote(name, syntax.LangBash)
		if err != nil {
			return []string{"false"}, nil
		}
		lookup := ownPrefix + "lookup " + args[0] + " " + quoted
		if syntax.ValidName(name) {
			lookup = "if declare -f " + name + " >/dev/null; then " + ownPrefix + "lookup " + args[0] + " " + quoted + " function; else " + lookup + "; fi"
		}
		script.WriteString(lookup + "\n")
	}
	return []string{"eval", script.String()}, nil
}

// withoutOwner turns -O and -G into -e: root owns everything.
func withoutOwner(args []string) []string {
	args = slices.Clone(args)
	for i := 1; i < len(args)-1; i++ {
		unary := i == 1 || args[i-1] == "!" || args[i-1] == "-a" || args[i-1] == "-o" || args[i-1] == "("
		if (args[i] == "-O" || args[i] == "-G") && unary {
			args[i] = "-e"
		}
	}
	return args
}

// exec runs a command that is neither function nor builtin: one of ours, or a
// script.
func (sh *Shell) exec(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	outer := ctx
	ctx, done := within(ctx, sh.timeline.jobOf(hc.Env))
	defer done()
	status := sh.execCommand(ctx, hc, args)
	if err := outer.Err(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return hc.Builtin(outer, []string{"exit", "143"})
	}
	if status == 0 {
		return nil
	}
	return interp.ExitStatus(status)
}

func (sh *Shell) execCommand(ctx context.Context, hc interp.HandlerContext, args []string) int {
	return newCall(ctx, sh, hc, strings.TrimPrefix(args[0], ownPrefix), args[1:]).dispatch()
}

// dispatch runs the command, or the script, of the call's name.
func (c *call) dispatch() int {
	if name, ok := c.sh.program(c.Name); ok {
		c.Name = name
		return c.run(c.sh.commands[name])
	}
	if strings.Contains(c.Name, "/") {
		return c.script(c.Name, c.Args)
	}
	fmt.Fprintf(c.Stderr, "sh: %s: not found%s\n", c.Name, instead(c.Name))
	return 127
}

// program finds one of the lab's commands by a name or a path. The worker stands for a
// program that somebody has compiled, so it is in each folder.
func (sh *Shell) program(name string) (string, bool) {
	switch path.Dir(name) {
	case "/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin":
		name = path.Base(name)
	}
	if path.Base(name) == worker {
		name = worker
	}
	_, ok := sh.commands[name]
	return name, ok
}
