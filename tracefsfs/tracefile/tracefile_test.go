package tracefile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

func openFile(t *testing.T, f *File, flags Flags) Handle {
	t.Helper()
	h, err := f.Open(context.Background(), flags)
	if err != nil {
		t.Fatalf("open %s: %v", f.Name, err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// reader is a Handle as an io.Reader.
type reader struct{ h Handle }

func (r reader) Read(p []byte) (int, error) { return r.h.Read(context.Background(), p) }

func readAll(t *testing.T, f *File) string {
	t.Helper()
	text, err := io.ReadAll(reader{openFile(t, f, Read)})
	if err != nil {
		t.Fatalf("read %s: %v", f.Name, err)
	}
	return string(text)
}

func write(t *testing.T, f *File, flags Flags, text string) (int, error) {
	t.Helper()
	h := openFile(t, f, flags)
	n, err := h.Write(context.Background(), []byte(text))
	if ferr := h.Flush(); err == nil {
		err = ferr
	}
	return n, err
}

// The cases of oracle/errors: what the kernel answers to writes of a flag, of a
// number, and of files opened or made for the other direction.
func TestWriteErrors(t *testing.T) {
	var number uint64
	flag := Flag("raw", 0o640, func() bool { return true }, func(bool) error { return nil })
	value := Value("buffer_size_kb", 0o640, func() string { return "7\n" }, func(s string) (err error) {
		number, err = ParseUlong(s, 10)
		return err
	})
	readOnly := Value("saved_tgids", 0o440, func() string { return "" }, nil)
	marker := Marker("trace_marker", 0o220, func(_ context.Context, p []byte) (int, error) {
		if len(p) == 0 {
			return 0, syscall.EBADF
		}
		return len(p), nil
	})
	for _, c := range []struct {
		file  *File
		flags Flags
		text  string
		want  syscall.Errno
	}{
		{flag, Write, "0", 0},
		{flag, Write, "1\n", 0},
		{flag, Write, "2", syscall.EINVAL},
		{flag, Write, "-1", syscall.EINVAL},
		{flag, Write, "x", syscall.EINVAL},
		{flag, Write, "", syscall.EINVAL},
		{value, Write, "12abc", syscall.EINVAL},
		{value, Write, "0x100", syscall.EINVAL},
		{value, Write, "  64  ", syscall.EINVAL},
		{value, Write, "18446744073709551615", 0},
		{value, Write, "18446744073709551616", syscall.ERANGE},
		{value, Write, "01", 0},
		{value, Read, "1", syscall.EBADF},
		{readOnly, Write, "1", syscall.EINVAL},
		{marker, Read, "x", syscall.EBADF},
		{marker, Write, "", syscall.EBADF},
	} {
		if _, err := write(t, c.file, c.flags, c.text); Errno(err) != c.want {
			t.Errorf("%s: write %q: %v, want errno %v", c.file.Name, c.text, err, c.want)
		}
	}
	if number != 1 {
		t.Errorf("value stored %d, want 1", number)
	}
	if _, err := openFile(t, marker, Read).Read(context.Background(), make([]byte, 1)); Errno(err) != syscall.EINVAL {
		t.Errorf("read of a marker: %v, want EINVAL", err)
	}
	if _, err := openFile(t, value, Write).Read(context.Background(), make([]byte, 1)); Errno(err) != syscall.EBADF {
		t.Errorf("read of a file opened for writing: %v, want EBADF", err)
	}
}

func TestParseNumbers(t *testing.T) {
	for _, c := range []struct {
		s    string
		base int
		want uint64
		err  syscall.Errno
	}{
		{"10\n", 10, 10, 0},
		{"+10", 10, 10, 0},
		{"0x1f", 0, 31, 0},
		{"017", 0, 15, 0},
		{"ff", 16, 255, 0},
		{"0xff", 16, 255, 0},
		{"", 10, 0, syscall.EINVAL},
		{"\n", 10, 0, syscall.EINVAL},
		{"10\n\n", 10, 0, syscall.EINVAL},
		{"1_0", 10, 0, syscall.EINVAL},
		{"0b1", 0, 0, syscall.EINVAL},
		{"0x", 0, 0, syscall.EINVAL},
		{"08", 0, 0, syscall.EINVAL},
		{"++1", 10, 0, syscall.EINVAL},
		{" 1", 10, 0, syscall.EINVAL},
	} {
		if n, err := ParseUlong(c.s, c.base); n != c.want || Errno(err) != c.err {
			t.Errorf("ParseUlong(%q, %d) = %d, %v, want %d, %v", c.s, c.base, n, err, c.want, c.err)
		}
	}
	for _, c := range []struct {
		s    string
		want uint64
		err  syscall.Errno
	}{
		{"5\n", 5, 0},
		{"5\x00 and more", 5, 0},
		{"5\n\x00", 5, 0},
		{"\x005", 0, syscall.EINVAL},
		{"5\nand more", 0, syscall.EINVAL},
		{strings.Repeat("0", 65) + "7 and more", 7, 0},
		{strings.Repeat("0", 64) + "7 and more", 0, syscall.EINVAL},
		{strings.Repeat("9", 1000), 0, syscall.ERANGE},
	} {
		if n, err := ParseUserUlong(c.s, 10); n != c.want || Errno(err) != c.err {
			t.Errorf("ParseUserUlong(%q) = %d, %v, want %d, %v", c.s, n, err, c.want, c.err)
		}
	}
	for _, c := range []struct {
		s    string
		want int64
		err  syscall.Errno
	}{
		{"-5\n", -5, 0},
		{"5", 5, 0},
		{"-9223372036854775808", -1 << 63, 0},
		{"9223372036854775808", 0, syscall.ERANGE},
		{"-", 0, syscall.EINVAL},
		{"+-5", 0, syscall.EINVAL},
		{"--5", 0, syscall.EINVAL},
	} {
		if n, err := ParseLong(c.s, 10); n != c.want || Errno(err) != c.err {
			t.Errorf("ParseLong(%q) = %d, %v, want %d, %v", c.s, n, err, c.want, c.err)
		}
	}
}

func TestSeqIsOneMoment(t *testing.T) {
	text := "before\n"
	f := Seq("trace", 0o640, func() ([]byte, error) { return []byte(text), nil })
	h := openFile(t, f, Read)
	var first [3]byte
	if _, err := h.Read(context.Background(), first[:]); err != nil {
		t.Fatal(err)
	}
	text = "after\n"
	if rest, err := io.ReadAll(reader{h}); string(first[:])+string(rest) != "before\n" || err != nil {
		t.Errorf("read %q, %v", string(first[:])+string(rest), err)
	}
	if got := readAll(t, f); got != "after\n" {
		t.Errorf("second open read %q", got)
	}
}

func TestStream(t *testing.T) {
	written := 0
	f := Stream("available_filter_functions", 0o440, func(w io.Writer) error {
		for range 1000 {
			if _, err := io.WriteString(w, "vfs_read\n"); err != nil {
				return err
			}
			written++
		}
		return nil
	})
	if got, want := readAll(t, f), strings.Repeat("vfs_read\n", 1000); got != want {
		t.Errorf("read %d bytes, want %d", len(got), len(want))
	}
	written = 0
	h := openFile(t, f, Read)
	if err := iotest.TestReader(io.LimitReader(reader{h}, 18), []byte("vfs_read\nvfs_read\n")); err != nil {
		t.Error(err)
	}
	if h.Close(); written > 5 {
		t.Errorf("%d lines written for a reader of two", written)
	}
	failing := Stream("bad", 0o440, func(w io.Writer) error { io.WriteString(w, "x"); return syscall.ENODEV })
	if _, err := io.ReadAll(reader{openFile(t, failing, Read)}); Errno(err) != syscall.ENODEV {
		t.Errorf("failing stream: %v, want ENODEV", err)
	}
}

func TestPipe(t *testing.T) {
	waiting := []string{"line one\n", "line two\n"}
	take := func(int) ([]byte, error) {
		if len(waiting) == 0 {
			return nil, nil
		}
		next := waiting[0]
		waiting = waiting[1:]
		return []byte(next), nil
	}
	wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	f := Pipe("trace_pipe", 0o440, take, wait, func() Events { return Readable(len(waiting) > 0) })
	buf := make([]byte, 4)
	h := openFile(t, f, Read)
	var got string
	for range 5 {
		if h.Poll() != PollIn|PollRdNorm {
			t.Errorf("after %q, %d records left: poll %#x", got, len(waiting), h.Poll())
		}
		n, err := h.Read(context.Background(), buf)
		if err != nil {
			t.Fatal(err)
		}
		got += string(buf[:n])
	}
	h.Read(context.Background(), buf) // the last newline
	if h.Poll() != 0 {
		t.Errorf("all is read: poll %#x", h.Poll())
	}
	if got != "line one\nline two"[:len(got)] || len(waiting) != 0 {
		t.Errorf("read %q, %d records left", got, len(waiting))
	}
	if _, err := openFile(t, f, Read|NonBlock).Read(context.Background(), buf); Errno(err) != syscall.EAGAIN {
		t.Errorf("empty pipe with O_NONBLOCK: %v, want EAGAIN", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := openFile(t, f, Read).Read(ctx, buf); Errno(err) != syscall.EINTR {
		t.Errorf("cancelled read: %v, want EINTR", err)
	}
}

func TestTruncOnlyWhenWriting(t *testing.T) {
	cleared := 0
	f := Value("trace", 0o640, func() string { return "" }, func(string) error { return nil }).OnTrunc(func() error { cleared++; return nil })
	openFile(t, f, Read|Trunc)
	openFile(t, f, Write|Append)
	if cleared != 0 {
		t.Fatal("cleared without > ")
	}
	openFile(t, f, Write|Trunc)
	if cleared != 1 {
		t.Fatal("> did not clear")
	}
	busy := f.OnTrunc(func() error { return syscall.EBUSY })
	if _, err := busy.Open(context.Background(), Write|Trunc); Errno(err) != syscall.EBUSY || cleared != 1 {
		t.Errorf("open: %v, want EBUSY and nothing cleared", err)
	}
}

func TestTokens(t *testing.T) {
	for _, c := range []struct {
		name   string
		writes []string
		want   string
		err    syscall.Errno
	}{
		{"one line", []string{"a b\tc\n"}, "a|b|c", 0},
		{"no newline", []string{"a b"}, "a|b", 0},
		{"over two writes", []string{"vfs_", "read\n"}, "vfs_read", 0},
		{"a blank ends a word begun", []string{"vfs", " read"}, "vfs|read", 0},
		{"blanks", []string{" \n", "  "}, "", 0},
		{"NUL", []string{"a\x00b\n"}, "a|b", 0},
		{"a blank of Latin-1", []string{"a\xa0b\n"}, "a|b", 0},
		{"just fits", []string{strings.Repeat("x", 15) + "\n"}, strings.Repeat("x", 15), 0},
		{"too long", []string{strings.Repeat("x", 16) + "\n"}, "", syscall.EINVAL},
	} {
		var words []string
		f := Value("set_ftrace_filter", 0o640, nil, nil).OnTokens(16, func(w string) error { words = append(words, w); return nil })
		h := openFile(t, f, Write)
		var failed error
		for _, text := range c.writes {
			for p := []byte(text); len(p) > 0 && failed == nil; {
				n, err := h.Write(context.Background(), p)
				failed, p = err, p[n:]
			}
		}
		h.Flush()
		if got := strings.Join(words, "|"); got != c.want || Errno(failed) != c.err {
			t.Errorf("%s: words %q, %v, want %q, %v", c.name, got, failed, c.want, c.err)
		}
	}
}

func TestErrno(t *testing.T) {
	for _, c := range []struct {
		err  error
		want syscall.Errno
	}{
		{nil, 0},
		{Errorf(syscall.EBUSY, "tracer %s", "function"), syscall.EBUSY},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.ENODEV}, syscall.ENODEV},
		{context.Canceled, syscall.EINTR},
		{fs.ErrNotExist, syscall.ENOENT},
		{errors.New("a bug"), syscall.EIO},
	} {
		if got := Errno(c.err); got != c.want {
			t.Errorf("Errno(%v) = %v, want %v", c.err, got, c.want)
		}
	}
	if got := Errorf(syscall.EINVAL, "depth %q", "x").Error(); got != `depth "x": Invalid argument` {
		t.Errorf("error text %q", got)
	}
}

func FuzzParser(f *testing.F) {
	f.Add([]byte("vfs_read vfs_write\n"), 3)
	f.Add([]byte("\x00 a"), 1)
	f.Fuzz(func(t *testing.T, text []byte, chunk int) {
		// However a text is cut into writes, its words are the same.
		whole, cut := words(text, len(text)+1), words(text, 1+max(chunk, -chunk, 0)%7)
		if whole != cut {
			t.Errorf("words %q, cut up %q", whole, cut)
		}
	})
}

// words parses text in writes of size bytes; "!" stands for an error.
func words(text []byte, size int) string {
	p := Parser{Size: 32}
	var list []string
	for len(text) > 0 {
		part := text[:min(size, len(text))]
		text = text[len(part):]
		for len(part) > 0 {
			n, word, err := p.Get(part)
			if err != nil {
				return "!"
			}
			if word != "" {
				list = append(list, word)
			}
			part = part[n:]
		}
	}
	return strings.Join(append(list, p.Rest()), "|")
}
