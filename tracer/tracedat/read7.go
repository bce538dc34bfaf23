package tracedat

// optionCursor makes a cursor for the content of an option, which is at offset in c.
func (f *File) optionCursor(data []byte, offset int64, c *cursor) *cursor {
	o := inMemory(data, offset, c)
	if c.packed {
		o.at = c.at
	}
	return o
}

// section says where the content of a section is.
type section struct {
	id     uint16
	packed bool
	offset int64 // where its content begins
	size   int64
}

// sectionAt reads the header of a section, which must have the id want.
func (f *File) sectionAt(c *cursor, offset uint64, want uint16) section {
	if offset > uint64(f.size) {
		c.fail(c.pos, "a section at %d, beyond the end of the file", offset)
		return section{}
	}
	c.pos = int64(offset)
	s := section{id: c.u16("the id of a section")}
	s.packed = c.u16("the flags of a section")&sectionPacked != 0
	c.u32("the name of a section")
	size := c.u64("the size of a section")
	switch {
	case c.err != nil:
	case s.id != want:
		c.fail(int64(offset), "a section with the id %d instead of %d (%s)", s.id, want, sectionNames[want])
	case size > uint64(c.left()):
		c.fail(int64(offset), "the section %s, of %d bytes, runs past the end of the file", sectionNames[want], size)
	}
	s.offset, s.size = c.pos, int64(size)
	return s
}

// open gives a cursor for the unpacked content of a section.
func (f *File) open(c *cursor, s section) *cursor {
	if c.err != nil || !s.packed {
		return &cursor{src: c.src, pos: s.offset, end: s.offset + s.size, order: c.order, memory: c.memory, err: c.err}
	}
	body := &cursor{src: c.src, pos: s.offset, end: s.offset + s.size, order: c.order, memory: c.memory}
	packed, size := body.u32("the packed size of a section"), body.u32("the unpacked size of a section")
	if !body.take(int64(size), "the section "+sectionNames[s.id]) {
		return body
	}
	in := body.bytes(uint64(packed), "the packed section "+sectionNames[s.id])
	if body.err != nil {
		return body
	}
	data, err := f.unpack(nil, in, int(size))
	c.memory.Give(int64(len(in)))
	o := inMemory(data, s.offset, c)
	if err != nil {
		o.err = &Error{Offset: s.offset + 8, Packed: -1, What: "unpacking " + sectionNames[s.id], Err: err}
	}
	return o
}

// places says where the sections are, by their id, as the options tell it.
type places map[uint16]place

type place struct {
	offset uint64
	at     int64 // where the option is that tells it
}

// read7 reads version 7: the options, and the sections to which they lead.
func (f *File) read7(c *cursor) error {
	at := c.pos
	f.Compression = c.str("the name of the compression")
	c.str("the version of the compression")
	if c.err == nil && !knownCompression(f.Compression) {
		c.fail(at, "compression %q; none, zlib and zstd are read", f.Compression)
	}
	next := c.u64("the place of the options")
	found := places{}
	seen := map[uint64]bool{}
	for n := 0; c.err == nil && next != 0; n++ {
		if seen[next] {
			c.fail(int64(next), "the options lead back to themselves")
			break
		}
		if n == maxOptionSections {
			c.fail(int64(next), "more than %d sections of options", maxOptionSections)
			break
		}
		seen[next] = true
		o := f.open(c, f.sectionAt(c, next, OptionDone))
		next = f.readOptions7(o, found)
		c.err = o.err
	}
	for _, part := range []struct {
		id   uint16
		read func(*cursor)
	}{
		{sectionHeaderInfo, f.readHeaders},
		{sectionFtrace, func(c *cursor) { f.Ftrace = readFormats(c, "formats of ftrace") }},
		{sectionFormats, f.readSystems},
		{sectionKallsyms, f.readKallsyms},
		{sectionPrintk, f.readPrintk},
		{sectionCmdlines, f.readCmdlines},
	} {
		where, ok := found[part.id]
		if !ok || c.err != nil {
			continue
		}
		c.pos = where.at
		o := f.open(c, f.sectionAt(c, where.offset, part.id))
		part.read(o)
		c.err = o.err
	}
	return c.err
}

// readOptions7 reads one section of options. It gives the offset of the next one, or 0
// if there is none.
func (f *File) readOptions7(c *cursor, found places) (next uint64) {
	for c.err == nil {
		at := c.pos
		id := c.u16("an option")
		size := c.u32("the size of an option")
		body := c.pos
		if len(f.Options)+len(f.Buffers) > maxItems {
			c.fail(at, "more than %d options", maxItems)
		}
		data := c.bytes(uint64(size), "an option")
		if c.err != nil {
			break
		}
		o := f.optionCursor(data, body, c)
		switch id {
		case OptionDone:
			next = o.u64("the place of more options")
			c.err = o.err
			return next
		case OptionBuffer, sectionBufferText:
			f.readBuffer7(o, id)
		case OptionCPUCount:
			if n := o.u32("CPUCOUNT"); o.err == nil {
				f.setCPUs(o, 0, n)
			}
		case sectionHeaderInfo, sectionFtrace, sectionFormats, sectionKallsyms, sectionPrintk, sectionCmdlines:
			found[id] = place{o.u64("the place of a section"), o.at}
		default:
			f.Options = append(f.Options, Option{id, data})
		}
		c.err = o.err
	}
	return 0
}

// readBuffer7 reads the option that describes a buffer.
func (f *File) readBuffer7(o *cursor, id uint16) {
	offset := o.u64("the place of a buffer")
	b := Buffer{Name: o.str("the name of a buffer"), Clock: o.str("the clock of a buffer"), PageSize: f.PageSize}
	o.take(bufferCost+int64(len(b.Name)+len(b.Clock)), "the buffers")
	file := &cursor{src: f.src, end: f.size, order: f.Order, memory: o.memory, err: o.err, pos: o.at}
	s := f.sectionAt(file, offset, id)
	if o.err = file.err; o.err != nil {
		return
	}
	if len(f.Buffers) >= maxBuffers || f.Buffer(b.Name) != nil {
		o.fail(0, "buffer %q is there already, or the %d. of them", b.Name, len(f.Buffers)+1)
		return
	}
	if id == sectionBufferText {
		b.Text = &TextData{Offset: s.offset, Size: s.size, packed: s.packed}
		f.Buffers = append(f.Buffers, b)
		return
	}
	at := o.pos
	if size := o.u32("the page size of a buffer"); size == 0 || size > maxPage {
		o.fail(at, "a page size of %d", size)
	} else {
		b.PageSize = int(size)
	}
	n := o.count(20, "CPUs of a buffer")
	o.take(int64(n)*cpuCost, "the tables of the CPUs")
	seen := map[int]bool{}
	for i := 0; i < n && o.err == nil; i++ {
		at := o.pos
		cpu, offset, size := o.u32("a CPU"), o.u64("the place of a CPU's pages"), o.u64("the size of a CPU's pages")
		switch {
		case cpu >= maxCPUs || seen[int(cpu)]:
			o.fail(at, "CPU %d, of which there are at most %d, each once", cpu, maxCPUs)
		case offset > uint64(f.size) || size > uint64(f.size):
			o.fail(at, "the pages of CPU %d, %d bytes at %d, are not in the file", cpu, size, offset)
		}
		seen[int(cpu)] = true
		b.CPUs = append(b.CPUs, CPUData{CPU: int(cpu), Offset: int64(offset), Size: int64(size), packed: s.packed})
	}
	if o.err == nil {
		f.Buffers = append(f.Buffers, b)
	}
}
