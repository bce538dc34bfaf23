package bridge

import (
	"bytes"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"ftracelab/tracefsfs/fusefs"
	"ftracelab/workload"
)

// Programs make system calls that nobody tells of: those that have nothing to do with
// the tree. Some of them are known by the program.
//
// Departure: a shell opens /dev/null before it opens a file of the tree, whether it does
// or not; any program opens the cache of the dynamic loader and the C library; "ls" opens
// a folder. "ln -s" is told by its command line and makes its link by symlink(2); if the
// program has ended before its command line could be read, it is that with made-up
// names. What else programs do does not happen.

// System calls by their numbers on x86-64.
const (
	sysOpenat  = 257
	sysSymlink = 88
	sysChdir   = 80
)

// shells are names of shells, and of the script that runs the kernel's tests.
var shells = []string{"sh", "dash", "bash", "ftracetest"}

// beside is what a guest does beside a request.
func (b *Bridge) beside(pid int, r fusefs.Request) {
	if r.Op == fusefs.OpOpen && slices.Contains(shells, b.cfg.Guests.Comm(pid)) {
		b.open(pid, os.DevNull)
	}
}

func (b *Bridge) open(pid int, name string) {
	b.cfg.Guests.Call(pid, workload.Syscall{NR: sysOpenat, Ret: firstFD, Path: name})
}

// loaded are the files that the dynamic loader opens for every program.
var loaded = []string{"/etc/ld.so.cache", "/lib/x86_64-linux-gnu/libc.so.6"}

// folder is what an "ls" lists first.
func folder(args []string) string {
	for _, arg := range args[min(1, len(args)):] {
		if !strings.HasPrefix(arg, "-") {
			return arg
		}
	}
	return "."
}

// started is what a program does.
func (b *Bridge) started(pid int, p program) {
	for _, name := range loaded {
		b.open(pid, name)
	}
	if p.comm == "ls" {
		b.open(pid, folder(p.args))
	}
	target, name, ok := symlink(p.args)
	if len(p.args) == 0 && p.comm == "ln" {
		target, name, ok = "target", "link", true
	}
	if ok {
		b.cfg.Guests.Call(pid, workload.Syscall{NR: sysSymlink, Target: target, Path: name})
	}
}

// symlink are the two names of an "ln -s TARGET NAME".
func symlink(args []string) (target, name string, ok bool) {
	if len(args) == 0 || path.Base(args[0]) != "ln" {
		return "", "", false
	}
	var names []string
	for _, arg := range args[1:] {
		if strings.HasPrefix(arg, "-") {
			ok = ok || strings.Contains(arg, "s")
		} else {
			names = append(names, arg)
		}
	}
	if !ok || len(names) != 2 {
		return "", "", false
	}
	return names[0], names[1], true
}

// maxArgs bounds what is read of a command line: two paths and more.
const maxArgs = 10_000

// argsOf is a process's command line as far as it is read, nil if the process has ended.
func argsOf(pid int) []string {
	f, err := os.Open(proc(pid, "cmdline"))
	if err != nil {
		return nil
	}
	defer f.Close() // nothing was written
	text, err := io.ReadAll(io.LimitReader(f, maxArgs))
	end := bytes.LastIndexByte(text, 0)
	if err != nil || end < 0 {
		return nil
	}
	var args []string
	for arg := range bytes.SplitSeq(text[:end], []byte{0}) {
		args = append(args, string(arg))
	}
	return args
}
