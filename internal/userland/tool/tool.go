// Package tool is what a program of the lab's userland is given: its words, its
// streams and the files that it may open. grep and the programs of coreutils are
// functions of a *Call; whoever runs them (the lab's shell, or a test) makes the Call.
//
// A program never reaches the host: it sees files through a World only, and what it
// keeps of its input is counted by Hold against the room that the World gives it.
package tool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
)

// World is what a program sees beside its streams. Names are as the program was given
// them, relative to its working directory. Errors have an errno (see tracefile.Errno).
type World interface {
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// Create opens a file for writing: emptied, or at its end if appends is set.
	Create(ctx context.Context, name string, appends bool) (io.WriteCloser, error)
	Stat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	// Room is how many bytes of its input one program may keep.
	Room() int
}

// Call is one run of a program.
type Call struct {
	Ctx    context.Context // when it ends, the program does
	World  World
	Name   string   // what error messages begin with
	Args   []string // the words behind the name
	Stdin  io.Reader
	Stdout *Output
	Stderr io.Writer
	Held   int // bytes of input that are kept; see Hold
}

// Open opens a file for reading; "-" is standard input.
func (c *Call) Open(name string) (io.ReadCloser, error) {
	if name == "-" || name == "/dev/stdin" {
		return io.NopCloser(c.Stdin), nil
	}
	if name == "" {
		return nil, syscall.ENOENT
	}
	return c.World.Open(c.Ctx, name)
}

// Create opens a file for writing: emptied, or at its end if appends is set.
func (c *Call) Create(name string, appends bool) (io.WriteCloser, error) {
	if name == "" {
		return nil, syscall.ENOENT
	}
	return c.World.Create(c.Ctx, name, appends)
}

// EachFile calls do for each named file, or for standard input if there is none, and
// reports what cannot be read. The status is 1 if that happened.
func (c *Call) EachFile(names []string, do func(name string, r io.Reader) error) int {
	if len(names) == 0 {
		names = []string{"-"}
	}
	status := 0
	for _, name := range names {
		f, err := c.Open(name)
		if err == nil {
			err = do(name, c.Waiting(f))
			f.Close()
		}
		if err != nil {
			c.Fail(name, err)
			status = 1
		}
		if c.Stopped() {
			break
		}
	}
	return status
}

// EachLine calls do for each line of the named files, its newline left out,
// until do says false.
func (c *Call) EachLine(names []string, do func(line string) bool) int {
	more := true
	return c.EachFile(names, func(_ string, r io.Reader) error {
		if !more {
			return nil
		}
		return ForLines(r, func(line string, _ bool) bool {
			more = do(line) && !c.Stopped()
			return more
		})
	})
}

// MaxLine bounds a line, so that an endless one cannot take all memory.
const MaxLine = 64 << 20

// ForLines calls do for each line of r until do says false; newline is false for a
// last line that has none. A line longer than MaxLine is ENOMEM.
func ForLines(r io.Reader, do func(line string, newline bool) bool) error {
	in := bufio.NewReader(r)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > MaxLine:
			return tracefile.Errorf(syscall.ENOMEM, "line is too long")
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(line) == 0:
			return EOFIsNil(err)
		}
		text, newline := strings.CutSuffix(string(line), "\n")
		if !do(text, newline) {
			return nil
		}
		if err != nil {
			return EOFIsNil(err)
		}
		line = line[:0]
	}
}

// EOFIsNil is err, or nil if err says that the input has ended.
func EOFIsNil(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// LineCost is what a line takes that a program keeps, beside its bytes.
const LineCost = 48

// Hold counts a line that the program keeps. False means that there is no room for
// it, which was reported. Release gives a line's room back.
func (c *Call) Hold(line string) bool {
	if c.Full() {
		return false
	}
	if c.Held += len(line) + LineCost; c.Full() {
		fmt.Fprintf(c.Stderr, "%s: memory exhausted\n", c.Name)
		return false
	}
	return true
}

// Release gives back the room of a line that was held.
func (c *Call) Release(line string) { c.Held -= len(line) + LineCost }

// Full reports whether there was no room for a line.
func (c *Call) Full() bool { return c.Held > c.World.Room() }

// Stopped reports whether nobody wants more of what the program makes.
func (c *Call) Stopped() bool { return c.Ctx.Err() != nil || c.Stdout.Err() != nil }

// Fail reports an error about a file.
func (c *Call) Fail(name string, err error) {
	if c.Ctx.Err() == nil {
		fmt.Fprintf(c.Stderr, "%s: %s: %s\n", c.Name, name, Reason(err))
	}
}

// Usage reports what is wrong with the command line; the status is 2.
func (c *Call) Usage(format string, args ...any) int {
	fmt.Fprintf(c.Stderr, "%s: %s\n", c.Name, fmt.Sprintf(format, args...))
	return 2
}

// Printf writes to standard output.
func (c *Call) Printf(format string, args ...any) { fmt.Fprintf(c.Stdout, format, args...) }

// Reason is the text of an error's errno; of an error without one, its own text.
func Reason(err error) string {
	if errno := tracefile.Errno(err); errno != syscall.EIO || errors.Is(err, syscall.EIO) {
		return tracefile.Strerror(errno)
	}
	return err.Error()
}

// ToInt is the number that s is, or -1.
func ToInt(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return -1
	}
	return n
}

// Waiting is r with the output flushed before each read.
func (c *Call) Waiting(r io.Reader) io.Reader { return waitingReader{c, r} }

type waitingReader struct {
	c *Call
	r io.Reader
}

func (w waitingReader) Read(p []byte) (int, error) {
	w.c.Stdout.FlushForReader()
	if err := w.c.Ctx.Err(); err != nil {
		return 0, err
	}
	return w.r.Read(p)
}
