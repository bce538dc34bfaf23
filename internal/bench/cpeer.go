package bench

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ftracelab/stackmap"
)

//go:embed cpeer/stackmap.c
var cSource string

// cMaps are stack maps in C, each in a process of its own.
type cMaps struct {
	ctx   context.Context
	dir   string // with the program; "": it has not been compiled yet
	peers []*cMap
}

// missing says why there can be none; "": there can.
func (c *cMaps) missing() string {
	if _, err := exec.LookPath("gcc"); err != nil {
		return "gcc is not installed"
	}
	return ""
}

// program compiles the map once, as a kernel is: optimized, and with words that may be
// read as other types.
func (c *cMaps) program() (string, error) {
	if c.dir == "" {
		dir, err := os.MkdirTemp("", "ftracelab-bench")
		if err != nil {
			return "", err
		}
		c.dir = dir
		gcc := exec.CommandContext(c.ctx, "gcc", "-O2", "-fno-strict-aliasing", "-x", "c", "-o", filepath.Join(dir, "stackmap"), "-")
		gcc.Stdin = strings.NewReader(cSource)
		if out, err := gcc.CombinedOutput(); err != nil {
			return "", fmt.Errorf("gcc: %w: %s", err, out)
		}
	}
	return filepath.Join(c.dir, "stackmap"), nil
}

// hits is the map in C with one writer, whose time the process measures itself.
func (c *cMaps) hits(depth int) func() (runner, error) {
	return func() (runner, error) {
		m, err := c.start(stackmapConfig(stackmap.JHash2), newLoad(depth))
		if err != nil {
			return nil, err
		}
		return func(n int) (time.Duration, int, error) {
			took, err := m.lookUp(n)
			return took, n, err
		}, nil
	}
}

// start starts a process and gives it the stacks.
func (c *cMaps) start(cfg stackmap.Config, l *load) (*cMap, error) {
	program, err := c.program()
	if err != nil {
		return nil, err
	}
	var args []string
	for _, n := range []int{cfg.Bits, int(cfg.Seed), l.depth, uniques, samples} {
		args = append(args, strconv.Itoa(n))
	}
	m := &cMap{cmd: exec.CommandContext(c.ctx, program, args...)}
	m.cmd.Stderr = &m.complaint
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	m.out = bufio.NewReader(out)
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	c.peers = append(c.peers, m)
	data := l.bytes()
	for _, i := range l.order {
		data = binary.NativeEndian.AppendUint32(data, i)
	}
	if _, err := m.in.Write(data); err != nil {
		return nil, m.failed(err)
	}
	return m, nil
}

// close ends the processes and removes the program.
func (c *cMaps) close() (err error) {
	for _, m := range c.peers {
		err = errors.Join(err, m.in.Close(), m.cmd.Wait())
	}
	if c.ctx.Err() != nil {
		err = nil // the context has ended the processes
	}
	if c.dir != "" {
		err = errors.Join(err, os.RemoveAll(c.dir))
	}
	return err
}

// cMap is one of the processes.
type cMap struct {
	cmd       *exec.Cmd
	in        io.WriteCloser
	out       *bufio.Reader
	complaint strings.Builder
}

// ask sends a command and returns the next line of the answer.
func (m *cMap) ask(command string) (string, error) {
	if _, err := io.WriteString(m.in, command+"\n"); err != nil {
		return "", m.failed(err)
	}
	return m.line()
}

func (m *cMap) line() (string, error) {
	line, err := m.out.ReadString('\n')
	if err != nil {
		return "", m.failed(err)
	}
	return strings.TrimSuffix(line, "\n"), nil
}

func (m *cMap) failed(err error) error {
	return fmt.Errorf("the map in C: %w %s", err, m.complaint.String())
}

// lookUp looks up the stacks of the next n samples and returns how long that took.
func (m *cMap) lookUp(n int) (time.Duration, error) {
	answer, err := m.ask(strconv.Itoa(n))
	if err != nil {
		return 0, err
	}
	took, err := strconv.ParseInt(answer, 10, 64)
	return time.Duration(took), err
}
