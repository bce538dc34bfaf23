package tracedat

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Target says which form of file is written.
type Target struct {
	Version     int    // Version6 or Version7
	Compression string // in version 7 "none", "zlib" or "zstd"; empty: none
}

// Source is a buffer to write.
type Source struct {
	Name  string // the name of the instance; empty: the top
	Clock string // trace_clock, such as "local"; empty: not known
	CPUs  []CPUPages
	Text  io.Reader // the text of a latency tracer, instead of CPUs
}

// CPUPages are the pages of a CPU. The reader gives all of them, little-endian, each of
// the size that Meta.HeaderPage tells.
type CPUPages struct {
	CPU   int
	Pages io.Reader
}

// Write writes a file to out, whose present position has to be its beginning. After an
// error, what has been written is no valid file.
//
// If there is a top buffer, it has to be the first of buffers. Version 6 needs a top
// buffer, the same number of CPUs in each buffer, and no compression.
func Write(out io.WriteSeeker, t Target, m *Meta, buffers []Source) error {
	return newWriter(out, m).file(t, buffers)
}

func newWriter(out io.WriteSeeker, m *Meta) *writer {
	return &writer{out: out, buf: bufio.NewWriterSize(out, 256<<10), m: m, order: binary.LittleEndian, long: 8}
}

// file writes the whole file.
func (w *writer) file(t Target, buffers []Source) (err error) {
	m := w.m
	if t.Compression == "" {
		t.Compression = "none"
	}
	if w.pageSize, err = subbufSize(m.HeaderPage); err != nil {
		return fmt.Errorf("tracedat: header_page: %w", err)
	}
	if err := errors.Join(t.Check(), checkBuffers(t, m, buffers, w.pageSize)); err != nil {
		return fmt.Errorf("tracedat: %w", err)
	}
	if t.Compression != "none" {
		if w.packer, err = newPacker(t.Compression); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.packer.close()) }()
	}
	w.str(magic + fmt.Sprint(t.Version) + "\x00")
	order := byte(0)
	if w.order == binary.AppendByteOrder(binary.BigEndian) {
		order = 1
	}
	w.bytes([]byte{order, byte(w.long)})
	w.u32(uint32(w.pageSize))
	if t.Version == Version6 {
		w.write6(buffers)
	} else {
		w.write7(t, buffers)
	}
	return w.finish()
}

// Check gives an error if there is no such form of file.
func (t Target) Check() error {
	switch {
	case t.Version != Version6 && t.Version != Version7:
		return fmt.Errorf("no version %d: 6 and 7 are written", t.Version)
	case t.Compression != "" && !knownCompression(t.Compression):
		return fmt.Errorf("no compression %q: there are %s", t.Compression, strings.Join(Compressions(), ", "))
	case t.Version == Version6 && t.Compression != "" && t.Compression != "none":
		return errors.New("version 6 knows no compression")
	}
	return nil
}

// checkBuffers gives an error if the target cannot hold the buffers.
func checkBuffers(t Target, m *Meta, buffers []Source, pageSize int) error {
	switch {
	case t.Version == Version6 && (len(buffers) == 0 || buffers[0].Name != ""):
		return errors.New("version 6 needs the buffer of the top, as the first")
	case m.CPUs < 0 || m.CPUs > maxCPUs:
		return fmt.Errorf("%d CPUs", m.CPUs)
	case pageSize&(pageSize-1) != 0:
		return fmt.Errorf("a sub-buffer of %d bytes is no power of two", pageSize)
	}
	names := map[string]bool{}
	for _, b := range buffers {
		if names[b.Name] || strings.IndexByte(b.Name, 0) >= 0 || len(b.Name) > maxName {
			return fmt.Errorf("two buffers with the name %q, or it cannot be one", b.Name)
		}
		names[b.Name] = true
		if b.Text != nil && t.Version == Version6 && len(buffers) > 1 {
			return errors.New("version 6 has text in place of all buffers")
		}
		cpus := map[int]bool{}
		for _, c := range b.CPUs {
			if c.CPU < 0 || c.CPU >= max(m.CPUs, 1) || cpus[c.CPU] {
				return fmt.Errorf("buffer %q: CPU %d, of %d, each once", b.Name, c.CPU, m.CPUs)
			}
			cpus[c.CPU] = true
		}
	}
	return nil
}

// writer writes the parts of a file. It keeps the first error. Numbers that are known
// only later are patched in at the end.
type writer struct {
	out      io.WriteSeeker
	buf      *bufio.Writer
	m        *Meta
	order    binary.AppendByteOrder // always little-endian, except in tests
	long     int
	pageSize int
	packer   *packer // nil: nothing is packed
	pos      int64
	patches  []patch
	strings  []byte // the content of the section of strings
	err      error
}

type patch struct {
	offset int64
	data   []byte
}

func (w *writer) bytes(b []byte) {
	if w.err == nil {
		_, w.err = w.buf.Write(b)
		w.pos += int64(len(b))
	}
}

func (w *writer) str(s string) { w.bytes([]byte(s)) }
func (w *writer) u16(v uint16) { w.bytes(w.order.AppendUint16(nil, v)) }
func (w *writer) u32(v uint32) { w.bytes(w.order.AppendUint32(nil, v)) }
func (w *writer) u64(v uint64) { w.bytes(w.order.AppendUint64(nil, v)) }

// later leaves room for a number that is patched in later.
func (w *writer) later() (at int64) {
	at = w.pos
	w.u64(0)
	return at
}

func (w *writer) patch(at int64, v uint64) {
	w.patches = append(w.patches, patch{at, w.order.AppendUint64(nil, v)})
}

// align writes zeros up to an offset where pages may begin.
func (w *writer) align() {
	if over := int(w.pos % int64(w.pageSize)); over != 0 {
		w.bytes(make([]byte, w.pageSize-over))
	}
}

func (w *writer) finish() error {
	if w.err == nil {
		w.err = w.buf.Flush()
	}
	if w.err != nil {
		return w.err
	}
	slices.SortFunc(w.patches, func(a, b patch) int { return int(a.offset - b.offset) })
	for _, p := range w.patches {
		if _, err := w.out.Seek(p.offset, io.SeekStart); err != nil {
			return err
		}
		if _, err := w.out.Write(p.data); err != nil {
			return err
		}
	}
	_, err := w.out.Seek(w.pos, io.SeekStart)
	return err
}

// pages writes the pages of a CPU, packed in chunks or as they are. It gives their
// place in the file.
func (w *writer) pages(in io.Reader) (offset, size int64) {
	w.align()
	offset = w.pos
	if w.err != nil || in == nil {
		return offset, 0
	}
	if w.packer != nil {
		w.chunks(in)
		return offset, max(0, w.pos-offset-4) // without the number of chunks
	}
	n, err := io.Copy(w.buf, in)
	w.pos += n
	if w.err = err; err == nil && n%int64(w.pageSize) != 0 {
		w.err = fmt.Errorf("tracedat: %d bytes are no whole pages of %d", n, w.pageSize)
	}
	return offset, w.pos - offset
}

// chunks packs what in gives. If that is nothing, it writes nothing, not even a number
// of chunks.
func (w *writer) chunks(in io.Reader) {
	data := make([]byte, pagesInChunk*w.pageSize)
	head, count := int64(0), uint32(0)
	for w.err == nil {
		n, err := io.ReadFull(in, data)
		if n == 0 && errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			w.err = err
			return
		}
		packed, perr := w.packer.pack(data[:n])
		if perr != nil {
			w.err = perr
			return
		}
		if count++; count == 1 {
			head = w.pos
			w.u32(0)
		}
		w.u32(uint32(len(packed)))
		w.u32(uint32(n))
		w.bytes(packed)
		if err != nil {
			break
		}
	}
	if count > 0 {
		w.patches = append(w.patches, patch{head, w.order.AppendUint32(nil, count)})
	}
}

// The writing of the bodies that both versions have.

func (w *writer) headers() {
	for _, h := range []struct {
		name string
		text []byte
	}{{nameHeaderPage, w.m.HeaderPage}, {nameHeaderEvent, w.m.HeaderEvent}} {
		w.str(h.name)
		w.sized(h.text)
	}
}

// sized writes the number of bytes (64 bits), then the bytes.
func (w *writer) sized(b []byte) {
	w.u64(uint64(len(b)))
	w.bytes(b)
}

func (w *writer) formats(list [][]byte) {
	w.u32(uint32(len(list)))
	for _, f := range list {
		w.sized(f)
	}
}

func (w *writer) ftrace() { w.formats(w.m.Ftrace) }

func (w *writer) systems() {
	w.u32(uint32(len(w.m.Systems)))
	for _, s := range w.m.Systems {
		w.str(s.Name + "\x00")
		w.formats(s.Formats)
	}
}

func (w *writer) kallsyms() { w.sized32(w.m.Kallsyms) }
func (w *writer) printk()   { w.sized32(w.m.Printk) }
func (w *writer) cmdlines() { w.sized(w.m.Cmdlines) }

func (w *writer) sized32(b []byte) {
	if uint64(len(b)) > 1<<32-1 && w.err == nil {
		w.err = fmt.Errorf("tracedat: a part of %d bytes is too large for its size", len(b))
	}
	w.u32(uint32(len(b)))
	w.bytes(b)
}

// option writes one option.
func (w *writer) option(id uint16, data []byte) {
	w.u16(id)
	w.u32(uint32(len(data)))
	w.bytes(data)
}
