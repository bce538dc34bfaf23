package tracefile

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"strconv"
	"syscall"
)

// Value is a file of one value. show gives the text with its newline; store
// takes what one write(2) wrote, newline and all (ParseUserUlong and bytes.Fields
// know what to do with it). A nil show or store is an operation the kernel's
// file lacks: EINVAL.
//
// Kernel: files over simple_read_from_buffer, such as tracing_entries_fops,
// kernel/trace/trace.c.
func Value(name string, mode fs.FileMode, show func() string, store func(string) error) *File {
	return open(name, mode, func(h *handle) {
		if show != nil {
			h.read = snapshot(func() ([]byte, error) { return []byte(show()), nil })
		}
		if store != nil {
			h.write = func(_ context.Context, p []byte) (int, error) { return whole(p, store(string(p))) }
		}
	})
}

// Flag is a file of one bit: it reads "0\n" or "1\n" and takes nothing but the
// numbers 0 and 1. A nil set makes it read only.
//
// Kernel: trace_options_core_read and trace_options_core_write,
// kernel/trace/trace.c.
func Flag(name string, mode fs.FileMode, get func() bool, set func(bool) error) *File {
	show := func() string {
		if get() {
			return "1\n"
		}
		return "0\n"
	}
	if set == nil {
		return Value(name, mode, show, nil)
	}
	return Value(name, mode, show, func(s string) error {
		n, err := ParseUserUlong(s, 10)
		if err != nil {
			return err
		}
		if n > 1 {
			return Errorf(syscall.EINVAL, "%s: %d is neither 0 nor 1", name, n)
		}
		return set(n == 1)
	})
}

// Seq is a text of one moment: show is called at the first read of each open,
// and what it gave is what that open reads.
//
// Kernel: seq_read, fs/seq_file.c.
func Seq(name string, mode fs.FileMode, show func() ([]byte, error)) *File {
	return open(name, mode, func(h *handle) { h.read = snapshot(show) })
}

// Stream is a Seq that need not be held in memory: show writes, and waits
// inside each Write until its bytes are read. A Write fails once the reader is
// gone; show then returns. show runs in step with the reader, never beside it.
func Stream(name string, mode fs.FileMode, show func(w io.Writer) error) *File {
	return open(name, mode, func(h *handle) {
		// The coroutine starts at the first read, so an open for writing costs nothing.
		h.read = func(ctx context.Context, p []byte) (int, error) {
			h.read, h.close = pull(show)
			return h.read(ctx, p)
		}
	})
}

// Pipe is a file that takes away what it reads. take gives the next bytes for a read of
// that size, nothing when there are none yet, and io.EOF at the end. It should take no more
// than such a read needs, because what is left is lost when the file is closed. wait returns when it
// is worth asking again, or with an error (a done ctx is EINTR). Without wait,
// or opened with NonBlock, an empty pipe is EAGAIN. poll says what Handle.Poll
// answers while the pipe holds nothing that was taken before.
//
// Kernel: tracing_read_pipe, tracing_wait_pipe and tracing_poll_pipe, kernel/trace/trace.c.
func Pipe(name string, mode fs.FileMode, take func(size int) ([]byte, error), wait func(ctx context.Context) error, poll func() Events) *File {
	return open(name, mode, func(h *handle) {
		var rest []byte
		h.poll = func() Events {
			if len(rest) > 0 {
				return Readable(true)
			}
			return poll()
		}
		h.read = func(ctx context.Context, p []byte) (int, error) {
			if len(p) == 0 {
				return 0, nil
			}
			for len(rest) == 0 {
				if ctx.Err() != nil {
					return 0, syscall.EINTR
				}
				next, err := take(len(p))
				if err != nil {
					return 0, err
				}
				if rest = next; len(rest) > 0 {
					break
				}
				if wait == nil || h.flags&NonBlock != 0 {
					return 0, syscall.EAGAIN
				}
				if err := wait(ctx); err != nil {
					return 0, err
				}
			}
			n := copy(p, rest)
			rest = rest[n:]
			return n, nil
		}
	})
}

// Marker is a file that is only written, and each write(2) is one record.
// write answers with the count it took: a longer write is finished by another.
// A read is EINVAL, and it has no position.
//
// Kernel: tracing_mark_write and tracing_mark_open, kernel/trace/trace.c.
func Marker(name string, mode fs.FileMode, write func(ctx context.Context, p []byte) (int, error)) *File {
	file := open(name, mode, func(h *handle) {
		h.write = write
	})
	file.Stream = true
	return file
}

// OnWrite returns the file with store called for each write(2).
func (f *File) OnWrite(store func(p []byte) error) *File {
	return f.OnWriteBy(func(_ context.Context, p []byte) error { return store(p) })
}

// OnWriteBy is [File.OnWrite] for a file that wants to know who writes ([CallerOf]).
func (f *File) OnWriteBy(store func(ctx context.Context, p []byte) error) *File {
	return f.wrapping(func(w *wrap) {
		w.write = func(ctx context.Context, p []byte) (int, error) { return whole(p, store(ctx, p)) }
	})
}

// OnTrunc returns the file with trunc called when it is opened for writing with
// O_TRUNC, before anything is written: this is how "> trace" clears. Its error
// fails the open.
//
// Kernel: tracing_open, ftrace_regex_open, probes_open and others, which look
// at O_TRUNC.
func (f *File) OnTrunc(trunc func() error) *File {
	g := *f
	g.Open = func(ctx context.Context, flags Flags) (Handle, error) {
		if flags&(Write|Trunc) == Write|Trunc {
			if err := trunc(); err != nil {
				return nil, err
			}
		}
		return f.Open(ctx, flags)
	}
	return &g
}

// OnTokens returns the file with store called for each word written. A word
// that touches the end of a write waits for the next write or for Flush; one of
// size bytes or more is EINVAL. A write takes one word and says how far it came.
//
// Kernel: trace_get_user, kernel/trace/trace.c, as ftrace_regex_write uses it.
func (f *File) OnTokens(size int, store func(token string) error) *File {
	return f.wrapping(func(w *wrap) {
		parser := Parser{Size: size}
		w.write = func(_ context.Context, p []byte) (int, error) {
			n, token, err := parser.Get(p)
			if err != nil || token == "" {
				return n, err
			}
			return n, store(token)
		}
		w.flush = func() error {
			if token := parser.Rest(); token != "" {
				return store(token)
			}
			return nil
		}
	})
}

func (f *File) wrapping(set func(*wrap)) *File {
	g := *f
	g.Open = func(ctx context.Context, flags Flags) (Handle, error) {
		inner, err := f.Open(ctx, flags)
		if err != nil {
			return nil, err
		}
		w := &wrap{Handle: inner, flags: flags}
		set(w)
		return w, nil
	}
	return &g
}

// whole is the answer to a write that is taken whole or not at all.
func whole(p []byte, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// ParseUlong parses an unsigned number as the kernel does: digits of the base
// (0: 0x is 16, a leading 0 is 8), an optional plus sign before and one newline
// after, no blanks. Errors: EINVAL if it is not a number, ERANGE if it does not
// fit 64 bits.
//
// Kernel: kstrtoul, lib/kstrtox.c.
func ParseUlong(s string, base int) (uint64, error) {
	digits := trimNumber(s)
	n, err := parseUint(digits, base)
	if err != nil {
		return 0, numberError(s, err)
	}
	return n, nil
}

// userNumber is how many bytes of a write(2) a number is looked for in: a sign, 64
// binary digits, a newline.
const userNumber = 66

// ParseUserUlong is ParseUlong of what a write(2) wrote, of which only the first bytes
// up to a zero count: what follows is not looked at, however long.
//
// Kernel: kstrtoul_from_user, lib/kstrtox.c.
func ParseUserUlong(s string, base int) (uint64, error) {
	return ParseUlong(CString(s[:min(len(s), userNumber)]), base)
}

// ParseLong parses a signed number under the same rules.
//
// Kernel: kstrtol, lib/kstrtox.c.
func ParseLong(s string, base int) (int64, error) {
	digits := trimNumber(s)
	negative := false
	if len(digits) > 1 && digits[0] == '-' && len(digits) == len(trimNewline(s)) {
		negative, digits = true, digits[1:]
	}
	n, err := parseUint(digits, base)
	switch {
	case err != nil:
		return 0, numberError(s, err)
	case negative && n <= 1<<63:
		return -int64(n), nil
	case negative || n > 1<<63-1:
		return 0, numberError(s, strconv.ErrRange)
	}
	return int64(n), nil
}

func trimNewline(s string) string {
	if len(s) > 0 && s[len(s)-1] == '\n' {
		s = s[:len(s)-1]
	}
	return s
}

func trimNumber(s string) string {
	s = trimNewline(s)
	if len(s) > 0 && s[0] == '+' {
		s = s[1:]
	}
	return s
}

// parseUint is strconv.ParseUint without what the kernel does not know: _, 0b, 0o.
func parseUint(s string, base int) (uint64, error) {
	hex := len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')
	switch {
	case base == 0 && hex:
		s, base = s[2:], 16
	case base == 16 && hex:
		s = s[2:]
	case base == 0 && len(s) > 1 && s[0] == '0':
		base = 8
	case base == 0:
		base = 10
	}
	if s == "" || bytes.ContainsAny([]byte(s), "+-_") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseUint(s, base, 64)
}

func numberError(s string, err error) error {
	if isRange(err) {
		return Errorf(syscall.ERANGE, "number %q", s)
	}
	return Errorf(syscall.EINVAL, "number %q", s)
}
