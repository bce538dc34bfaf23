package tracedat

import (
	"bufio"
	"errors"
	"io"
)

// write7 writes everything behind the first bytes, in version 7: the sections and,
// last, the options that say where these are.
func (w *writer) write7(t Target, buffers []Source) {
	w.str(t.Compression + "\x00")
	for _, c := range compressions {
		if c.name == t.Compression {
			w.str(c.version + "\x00")
		}
	}
	options := w.later()
	type led struct {
		id uint16
		at int64
	}
	var sections []led
	for _, s := range []struct {
		id   uint16
		body func()
	}{
		{sectionHeaderInfo, w.headers},
		{sectionFtrace, w.ftrace},
		{sectionFormats, w.systems},
		{sectionKallsyms, w.kallsyms},
		{sectionPrintk, w.printk},
		{sectionCmdlines, w.cmdlines},
	} {
		sections = append(sections, led{s.id, w.pos})
		w.section(s.id, true, s.body)
	}
	var described []Option
	for _, b := range buffers {
		described = append(described, w.buffer7(b))
	}
	w.patch(options, uint64(w.pos))
	w.section(OptionDone, false, func() {
		for _, o := range w.m.Options {
			w.option(o.ID, o.Data)
		}
		w.option(OptionCPUCount, w.order.AppendUint32(nil, uint32(w.m.CPUs)))
		for _, s := range sections {
			w.option(s.id, w.order.AppendUint64(nil, uint64(s.at)))
		}
		for _, o := range described {
			w.option(o.ID, o.Data)
		}
		w.option(OptionDone, make([]byte, 8))
	})
	w.section(sectionStrings, false, func() { w.bytes(w.strings) })
}

// section writes a section. pack says that it may be packed.
func (w *writer) section(id uint16, pack bool, body func()) {
	flags := uint16(0)
	if pack && w.packer != nil {
		flags = sectionPacked
	}
	size := w.sectionHead(id, flags, sectionNames[id])
	start := w.pos
	if flags == 0 {
		body()
	} else {
		w.packedBody(body)
	}
	w.patch(size, uint64(w.pos-start))
}

// sectionHead writes the header of a section. It gives the offset at which the size has
// to be patched in.
func (w *writer) sectionHead(id, flags uint16, name string) (size int64) {
	w.u16(id)
	w.u16(flags)
	w.u32(uint32(len(w.strings)))
	w.strings = append(w.strings, name+"\x00"...)
	return w.later()
}

// packedBody packs what body writes. Nothing in a packed body can be patched later.
func (w *writer) packedBody(body func()) {
	if w.err != nil {
		return
	}
	head := w.pos
	w.u32(0)
	w.u32(0)
	file, start := w.buf, w.pos
	packed := counter{out: file}
	z, err := w.packer.stream(&packed)
	if err != nil {
		w.err = err
		return
	}
	w.buf = bufio.NewWriter(z)
	body()
	size := w.pos - start
	err = errors.Join(w.buf.Flush(), z.Close())
	w.buf, w.pos = file, start+packed.n
	if w.err == nil {
		w.err = err
	}
	w.patches = append(w.patches, patch{head, w.order.AppendUint32(w.order.AppendUint32(nil, uint32(packed.n)), uint32(size))})
}

// counter counts what is written to out.
type counter struct {
	out io.Writer
	n   int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.out.Write(b)
	c.n += int64(n)
	return n, err
}

// buffer7 writes the section of a buffer. It gives the option that describes the
// buffer.
func (w *writer) buffer7(b Source) Option {
	flags := uint16(0)
	if w.packer != nil {
		flags = sectionPacked
	}
	id, name := uint16(OptionBuffer), "buffer flyrecord "+b.Name
	if b.Text != nil {
		id, name = sectionBufferText, "buffer text "+b.Name
	}
	o := w.order.AppendUint64(nil, uint64(w.pos))
	o = append(o, b.Name+"\x00"+b.Clock+"\x00"...)
	size := w.sectionHead(id, flags, name)
	start := w.pos
	if b.Text != nil {
		w.text(b)
	} else {
		o = w.order.AppendUint32(o, uint32(w.pageSize))
		o = w.order.AppendUint32(o, uint32(len(b.CPUs)))
		for _, c := range b.CPUs {
			offset, size := w.pages(c.Pages)
			o = w.order.AppendUint32(o, uint32(c.CPU))
			o = w.order.AppendUint64(o, uint64(offset))
			o = w.order.AppendUint64(o, uint64(size))
		}
	}
	w.patch(size, uint64(w.pos-start))
	return Option{id, o}
}

// text writes the text of a latency tracer's buffer.
func (w *writer) text(b Source) {
	if w.packer != nil {
		w.chunks(b.Text)
		return
	}
	if w.err != nil {
		return
	}
	var n int64
	n, w.err = io.Copy(w.buf, b.Text)
	w.pos += n
}

// cpu gives the pages of a CPU; nil if there are none.
func (s Source) cpu(cpu int) io.Reader {
	for _, c := range s.CPUs {
		if c.CPU == cpu {
			return c.Pages
		}
	}
	return nil
}
