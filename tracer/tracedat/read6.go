package tracedat

// read6 reads version 6, in which one part follows the other.
func (f *File) read6(c *cursor) error {
	f.readHeaders(c)
	f.Ftrace = readFormats(c, "formats of ftrace")
	f.readSystems(c)
	f.readKallsyms(c)
	f.readPrintk(c)
	f.readCmdlines(c)
	at := c.pos
	cpus := c.u32("the number of CPUs")
	f.setCPUs(c, at, cpus)
	tag := f.tag(c)
	var later []int64 // the offsets of the instances, in the order of f.Buffers[1:]
	top := Buffer{PageSize: f.PageSize}
	f.Buffers = append(f.Buffers, top)
	if tag == tagOptions {
		later = f.readOptions6(c)
		tag = f.tag(c)
	}
	switch {
	case c.err != nil:
	case tag == tagLatency:
		f.Buffers[0].Text = &TextData{Offset: c.pos, Size: c.left()}
	case tag == tagRecord:
		f.readTable6(c, &f.Buffers[0], f.CPUs > int(cpus))
	default:
		c.fail(c.pos-tagSize, "%q, where options, flyrecord or latency are expected", tag)
	}
	for i, offset := range later {
		if c.err != nil {
			break
		}
		c.pos = offset
		if tag := f.tag(c); tag != tagRecord {
			c.fail(offset, "%q, where flyrecord is expected", tag)
		}
		f.readTable6(c, &f.Buffers[1+i], false)
	}
	return c.err
}

func (f *File) tag(c *cursor) string { return string(c.bytes(tagSize, "a tag")) }

func (f *File) setCPUs(c *cursor, at int64, n uint32) {
	if n > maxCPUs {
		c.fail(at, "%d CPUs", n)
		return
	}
	f.CPUs = int(n)
}

// readOptions6 reads the options up to their end. It gives the offsets that
// OptionBuffer tells for the instances.
func (f *File) readOptions6(c *cursor) (later []int64) {
	for n := 0; c.err == nil; n++ {
		at := c.pos
		id := c.u16("an option")
		if c.err != nil || id == OptionDone {
			return later
		}
		if n > maxItems {
			c.fail(at, "more than %d options", maxItems)
		}
		size := c.u32("the size of an option")
		body := c.pos
		data := c.bytes(uint64(size), "an option")
		switch o := f.optionCursor(data, body, c); {
		case c.err != nil:
		case id == OptionBuffer:
			offset := o.u64("the offset of a buffer")
			name := o.str("the name of a buffer")
			if o.err == nil && (offset > uint64(f.size) || len(f.Buffers) >= maxBuffers) {
				o.fail(0, "buffer %q at %d", name, offset)
			}
			o.take(bufferCost+int64(len(name)), "the buffers")
			later = append(later, int64(offset))
			f.Buffers = append(f.Buffers, Buffer{Name: name, PageSize: f.PageSize})
			c.err = o.err
		case id == OptionCPUCount:
			if n := o.u32("CPUCOUNT"); o.err == nil {
				f.setCPUs(c, body, n)
			} else {
				c.err = o.err
			}
		default:
			f.Options = append(f.Options, Option{id, data})
		}
	}
	return later
}

// readTable6 reads where the pages of each CPU are. raised says that an option has told
// more CPUs than the file's head; then a further pair follows that means nothing.
func (f *File) readTable6(c *cursor, b *Buffer, raised bool) {
	c.take(int64(f.CPUs)*cpuCost, "the tables of the CPUs")
	for cpu := 0; cpu < f.CPUs && c.err == nil; cpu++ {
		at := c.pos
		offset, size := c.u64("the place of a CPU's pages"), c.u64("the size of a CPU's pages")
		if offset > uint64(f.size) || size > uint64(f.size) {
			c.fail(at, "the pages of CPU %d, %d bytes at %d, are not in the file", cpu, size, offset)
		}
		b.CPUs = append(b.CPUs, CPUData{CPU: cpu, Offset: int64(offset), Size: int64(size)})
	}
	if raised {
		c.u64("the empty place")
		c.u64("the empty size")
	}
	if _, ok := f.Option(OptionTraceClock); ok && c.err == nil {
		b.Clock = ChosenClock(string(c.bytes(c.u64("the size of trace_clock"), "trace_clock")))
	}
}
