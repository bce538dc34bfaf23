package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"

	"ftracelab/capture"
	"ftracelab/tracer/tracedat"
)

// peakBound is the most memory, in bytes of RSS, that the program may take for an input
// that is smaller than that.
const peakBound = 128_000_000

// buildCommand builds the command and gives its path.
func buildCommand(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ftracelab")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	return path
}

// launcher marks a test binary that only runs a command and says how much memory it
// took: until it is the new program, a child has its parent's memory, which counts, and
// that of tests is large.
const launcher = "FTRACELAB_TEST_LAUNCHER"

func init() {
	if os.Getenv(launcher) != "" {
		os.Exit(launch())
	}
}

// launch runs the command line and writes its peak of RSS, in bytes, to descriptor 3.
func launch() int {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, io.Discard, os.Stderr
	_ = cmd.Run()
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 125
	}
	fmt.Fprintln(os.NewFile(3, "peak"), usage.Maxrss<<10)
	return cmd.ProcessState.ExitCode()
}

// peak runs the command as a process of its own and gives its peak of RSS in bytes and
// what it says about errors.
func peak(t *testing.T, path string, stdin io.Reader, args ...string) (rss int64, stderr string, err error) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{path}, args...)...)
	cmd.Env = append(os.Environ(), launcher+"=1")
	cmd.Stdin = stdin
	var text bytes.Buffer
	cmd.Stderr = &text
	cmd.ExtraFiles = []*os.File{w}
	err = cmd.Run()
	w.Close()
	if _, serr := fmt.Fscan(r, &rss); serr != nil {
		t.Fatalf("%v: no peak (%v): %v: %s", args, serr, err, text.String())
	}
	return rss, text.String(), err
}

// bombs is an input that wants much memory.
type bombs struct {
	name  string
	make  func(t *testing.T, path string) // writes a file, or a folder
	stdin func() io.Reader                // or this instead
	args  [][]string                      // commands; the path follows
	want  string                          // in what each command says; "": it succeeds
	most  int64                           // of an input that is larger than peakBound; 0: peakBound
}

var (
	commands    = [][]string{{"estimate"}, {"report"}, {"convert"}}
	datCommands = append([][]string{{"report", "--as", "trace"}}, commands...)
	estimates   = [][]string{{"estimate"}}
	reportTrace = [][]string{{"report"}}
)

// TestPeakMemory runs the commands on inputs that are smaller than the bound and would
// take more.
func TestPeakMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("peak memory is measured in the long tests: with the race detector its inputs take minutes to make")
	}
	command := buildCommand(t)
	for _, h := range slices.Concat(datBombs(), folderBombs(), textBombs(), dumpBombs()) {
		t.Run(h.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "input")
			if h.make != nil {
				h.make(t, path)
			}
			for _, words := range h.args {
				args := slices.Clone(words)
				var stdin io.Reader
				if h.stdin != nil {
					stdin = h.stdin()
					args = append(args, "-")
				} else {
					args = append(args, path)
				}
				if words[0] == "convert" {
					args = append(args, filepath.Join(dir, "out.dat"))
				}
				rss, stderr, err := peak(t, command, stdin, args...)
				t.Logf("%-24s %6.1f MB  %.250s", strings.Join(words, " "), float64(rss)/1e6, stderr)
				if rss > max(peakBound, h.most) {
					t.Errorf("%v: a peak of %.1f MB", words, float64(rss)/1e6)
				}
				var exit *exec.ExitError
				switch {
				case h.want == "" && slices.Contains(words, "--keep-going") && errors.As(err, &exit) && exit.ExitCode() == exitSkipped:
				case h.want == "" && err != nil:
					t.Errorf("%v: %v: %s", words, err, stderr)
				case h.want != "" && (!errors.As(err, &exit) || exit.ExitCode() != exitFailed || !strings.Contains(stderr, h.want)):
					t.Errorf("%v: %v: %s; want %q", words, err, stderr, h.want)
				}
				if strings.Contains(stderr, "goroutine ") {
					t.Errorf("%v panicked", words)
				}
			}
		})
	}
}

// writeTo writes a file through a buffer.
func writeTo(t *testing.T, path string, write func(w *bufio.Writer)) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	write(w)
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// repeat is a text without an end, of lines that count.
type repeat struct {
	line func(b []byte, n int) []byte
	n    int
	rest []byte
	buf  []byte
}

func (r *repeat) Read(b []byte) (int, error) {
	if len(r.rest) == 0 {
		r.buf = r.buf[:0]
		for len(r.buf) < 64<<10 {
			r.buf = r.line(r.buf, r.n)
			r.n++
		}
		r.rest = r.buf
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// text is size bytes of lines that count.
func text(size int64, line func(b []byte, n int) []byte) io.Reader {
	return io.LimitReader(&repeat{line: line}, size)
}

// same is a line that does not count.
func same(line string) func([]byte, int) []byte {
	return func(b []byte, _ int) []byte { return append(b, line...) }
}

// symbolsOf is about size bytes, in whole lines of kallsyms.
func symbolsOf(size int64) int64 {
	line := int64(len(symbolLine(nil, 0)))
	return size / line * line
}

func symbolLine(b []byte, n int) []byte {
	return fmt.Appendf(b, "%x t a\n", 0xffff800000000000+uint64(n))
}

// pack packs a text.
func pack(t *testing.T, how string, in io.Reader) []byte {
	t.Helper()
	var out bytes.Buffer
	var z io.WriteCloser
	switch how {
	case "zlib":
		z = zlib.NewWriter(&out)
	case "gzip":
		z = gzip.NewWriter(&out)
	case "zstd":
		var err error
		if z, err = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.Copy(z, in); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// dat7 makes a trace.dat of version 7 by hand: sections first, then options that lead
// to them.
type dat7 struct {
	head, body []byte
	options    []byte
}

func newDat7(compression string) *dat7 {
	d := &dat7{head: []byte("\x17\x08\x44tracing7\x00\x00\x08")}
	d.head = binary.LittleEndian.AppendUint32(d.head, 4096)
	d.head = append(d.head, compression+"\x001.0\x00"...)
	return d
}

func (d *dat7) at() uint64 { return uint64(len(d.head) + 8 + len(d.body)) }

// section appends a section; unpacked ≥ 0: it is packed.
func (d *dat7) section(id uint16, content []byte, unpacked int64) (at uint64) {
	at, flags, size := d.at(), uint16(0), len(content)
	if unpacked >= 0 {
		flags, size = 1, size+8
	}
	le := binary.LittleEndian
	d.body = le.AppendUint16(d.body, id)
	d.body = le.AppendUint16(d.body, flags)
	d.body = le.AppendUint32(d.body, 0)
	d.body = le.AppendUint64(d.body, uint64(size))
	if unpacked >= 0 {
		d.body = le.AppendUint32(d.body, uint32(len(content)))
		d.body = le.AppendUint32(d.body, uint32(unpacked))
	}
	d.body = append(d.body, content...)
	return at
}

func option(b []byte, id uint16, data []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, id)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	return append(b, data...)
}

func number(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

// write writes the file, whose options begin at options; 0: those that were collected.
func (d *dat7) write(t *testing.T, path string, options uint64) {
	t.Helper()
	if options == 0 {
		options = d.section(0, option(d.options, 0, number(0)), -1)
	}
	writeTo(t, path, func(w *bufio.Writer) {
		w.Write(d.head)
		w.Write(number(options))
		w.Write(d.body)
	})
}

// example is what a trace.dat of the capture that comes with the program holds.
func example(t *testing.T) *tracedat.Meta {
	t.Helper()
	d, err := capture.OpenDat("../../capture/example/kmem_stack", capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return d.Meta
}

// page is a page with one record, of the event id.
func page(size int, id uint16) []byte {
	b := make([]byte, size)
	binary.LittleEndian.PutUint64(b[8:], 44)  // commit
	binary.LittleEndian.PutUint32(b[16:], 10) // type_len: 40 bytes
	binary.LittleEndian.PutUint16(b[20:], id)
	return b
}

// datOf writes a trace.dat with a page for each CPU.
func datOf(t *testing.T, path string, target tracedat.Target, m *tracedat.Meta, cpus int, pages func() io.Reader) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	m.CPUs = cpus
	s := tracedat.Source{Clock: "local"}
	for cpu := range cpus {
		s.CPUs = append(s.CPUs, tracedat.CPUPages{CPU: cpu, Pages: pages()})
	}
	if err := errors.Join(tracedat.Write(f, target, m, []tracedat.Source{s}), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func datBombs() []bombs {
	var list []bombs
	for _, compression := range []string{"zlib", "zstd"} {
		list = append(list, bombs{
			name: "three sections of 80 MB, " + compression,
			make: func(t *testing.T, path string) {
				d := newDat7(compression)
				for _, id := range []uint16{19, 20, 21} {
					size := int64(80 << 20)
					length := binary.LittleEndian.AppendUint32(nil, uint32(size-4))
					if id == 21 {
						length = number(uint64(size - 8))
					}
					body := io.MultiReader(bytes.NewReader(length), text(size-int64(len(length)), same("A")))
					at := d.section(id, pack(t, compression, body), size)
					d.options = option(d.options, id, number(at))
				}
				d.write(t, path, 0)
			},
			args: datCommands, want: "the section kallsyms would take 80 MiB of memory, more than --memory 128M allows: at least --memory 144M is needed",
		}, bombs{
			name: "options of 128 MB, " + compression,
			make: func(t *testing.T, path string) {
				d := newDat7(compression)
				const size = 128 << 20
				d.write(t, path, d.section(0, pack(t, compression, text(size, same("\x00"))), size))
			},
			args: datCommands, want: "the section options would take 128 MiB",
		}, bombs{
			name: "more than was announced, " + compression,
			make: func(t *testing.T, path string) {
				d := newDat7(compression)
				d.write(t, path, d.section(0, pack(t, compression, text(100<<20, same("\x00"))), 1000))
			},
			args: datCommands, want: "unpacking options",
		}, bombs{
			name: "options of 70 MB in small pieces, " + compression,
			make: func(t *testing.T, path string) {
				d := newDat7(compression)
				const size = 70 << 20
				one := string(option(nil, 5, []byte("x")))
				d.write(t, path, d.section(0, pack(t, compression, text(size, same(one))), size))
			},
			args: datCommands, want: "more than 65536 options",
		})
	}
	return append(list,
		bombs{
			name: "a chain of options",
			make: func(t *testing.T, path string) {
				d := newDat7("none")
				for range 1 << 20 {
					next := d.at() + 16 + 14
					d.section(0, option(nil, 0, number(next)), -1)
				}
				d.write(t, path, uint64(len(d.head)+8))
			},
			args: datCommands, want: "more than 1024 sections of options",
		},
		bombs{
			name: "options that lead back",
			make: func(t *testing.T, path string) {
				d := newDat7("none")
				d.write(t, path, d.section(0, option(nil, 0, number(d.at())), -1))
			},
			args: datCommands, want: "lead back",
		},
		bombs{
			name: "4000 buffers of 8192 CPUs",
			make: func(t *testing.T, path string) { writeTo(t, path, manyBuffers) },
			args: datCommands, want: "the tables of the CPUs would take",
		},
		bombs{
			name: "kallsyms of 25 MB in the shortest lines",
			make: func(t *testing.T, path string) {
				m := example(t)
				m.Kallsyms = readAllOf(t, text(symbolsOf(25<<20), symbolLine))
				datOf(t, path, tracedat.Target{Version: 6}, m, 2, func() io.Reader { return bytes.NewReader(make([]byte, 4096)) })
			},
			args: [][]string{{"convert"}},
		},
		bombs{
			name: "64 CPUs with chunks of 16 MB",
			make: func(t *testing.T, path string) { bigChunks(t, path, 64, 16<<20) },
			args: [][]string{{"estimate"}, {"report"}, {"report", "--as", "trace"}}, want: "--memory",
		},
		bombs{
			name: "2 CPUs with chunks of 8 MB",
			make: func(t *testing.T, path string) { bigChunks(t, path, 2, 8<<20) },
			args: [][]string{{"estimate"}, {"report"}, {"report", "--as", "trace"}, {"convert"}},
		},
	)
}

func readAllOf(t *testing.T, in io.Reader) []byte {
	t.Helper()
	b, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const headerPageText = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n" +
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:%d;\tsigned:1;\n"

// manyBuffers writes a trace.dat of version 6 whose buffers all have one table.
func manyBuffers(w *bufio.Writer) {
	var b []byte
	le := binary.LittleEndian
	b = append(b, "\x17\x08\x44tracing6\x00\x00\x08"...)
	b = le.AppendUint32(b, 4096)
	text := fmt.Sprintf(headerPageText, 4080)
	b = append(append(b, "header_page\x00"...), number(uint64(len(text)))...)
	b = append(b, text...)
	b = append(append(b, "header_event\x00"...), number(0)...)
	b = le.AppendUint32(b, 0) // formats of ftrace
	b = le.AppendUint32(b, 0) // systems
	b = le.AppendUint32(b, 0) // kallsyms
	b = le.AppendUint32(b, 0) // printk_formats
	b = le.AppendUint64(b, 0) // saved_cmdlines
	b = le.AppendUint32(b, 8192)
	b = append(b, "options  \x00"...)
	const buffers = 4000
	var names [buffers][]byte
	size := 0
	for i := range names {
		names[i] = fmt.Appendf(nil, "i%d\x00", i)
		size += 6 + 8 + len(names[i])
	}
	table := len(b) + size + 2
	for _, name := range names {
		b = option(b, 3, append(number(uint64(table)), name...))
	}
	b = le.AppendUint16(b, 0)
	b = append(b, "flyrecord\x00"...)
	b = append(b, make([]byte, 16*8192)...)
	w.Write(b)
}

// bigChunks writes a trace.dat whose pages lie in chunks of that size.
func bigChunks(t *testing.T, path string, cpus, size int) {
	t.Helper()
	m := example(t)
	packed := pack(t, "zstd", bytes.NewReader(bytes.Repeat(page(4096, 1), size/4096)))
	d := newDat7("zstd")
	d.sectionsOf(t, m)
	le := binary.LittleEndian
	o := number(d.at())
	o = append(o, "\x00local\x00"...)
	o = le.AppendUint32(o, 4096)
	o = le.AppendUint32(o, uint32(cpus))
	d.section(3, nil, -1)
	d.body[len(d.body)-14] |= 1 // packed
	for cpu := range cpus {
		o = le.AppendUint32(o, uint32(cpu))
		o = le.AppendUint64(o, d.at())
		o = le.AppendUint64(o, uint64(8+len(packed)))
		d.body = le.AppendUint32(d.body, 1)
		d.body = le.AppendUint32(d.body, uint32(len(packed)))
		d.body = le.AppendUint32(d.body, uint32(size))
		d.body = append(d.body, packed...)
	}
	d.options = option(d.options, 8, le.AppendUint32(nil, uint32(cpus)))
	d.options = option(d.options, 3, o)
	d.write(t, path, 0)
}

// sectionsOf appends what m holds.
func (d *dat7) sectionsOf(t *testing.T, m *tracedat.Meta) {
	t.Helper()
	le := binary.LittleEndian
	sized := func(b, text []byte) []byte { return append(append(b, number(uint64(len(text)))...), text...) }
	formats := func(b []byte, list [][]byte) []byte {
		b = le.AppendUint32(b, uint32(len(list)))
		for _, f := range list {
			b = sized(b, f)
		}
		return b
	}
	headers := sized([]byte("header_page\x00"), m.HeaderPage)
	headers = sized(append(headers, "header_event\x00"...), m.HeaderEvent)
	systems := le.AppendUint32(nil, uint32(len(m.Systems)))
	for _, s := range m.Systems {
		systems = formats(append(systems, s.Name+"\x00"...), s.Formats)
	}
	for _, s := range []struct {
		id   uint16
		data []byte
	}{
		{16, headers},
		{17, formats(nil, m.Ftrace)},
		{18, systems},
		{19, append(le.AppendUint32(nil, uint32(len(m.Kallsyms))), m.Kallsyms...)},
	} {
		d.options = option(d.options, s.id, number(d.section(s.id, s.data, -1)))
	}
}
