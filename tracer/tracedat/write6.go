package tracedat

// write6 writes everything behind the first bytes, in version 6.
func (w *writer) write6(buffers []Source) {
	w.headers()
	w.ftrace()
	w.systems()
	w.kallsyms()
	w.printk()
	w.cmdlines()
	w.u32(uint32(w.m.CPUs))
	w.str(tagOptions)
	_, clock := w.m.Option(OptionTraceClock)
	for _, o := range w.m.Options {
		w.option(o.ID, o.Data)
	}
	if !clock && buffers[0].Clock != "" {
		w.option(OptionTraceClock, []byte("["+buffers[0].Clock+"]\x00"))
		clock = true
	}
	var places []int64 // where the offset of each instance has to be patched in later
	for _, b := range buffers[1:] {
		w.u16(OptionBuffer)
		w.u32(uint32(8 + len(b.Name) + 1))
		places = append(places, w.later())
		w.str(b.Name + "\x00")
	}
	w.u16(OptionDone)
	if buffers[0].Text != nil {
		w.str(tagLatency)
		w.text(buffers[0])
		return
	}
	for i, b := range buffers {
		if i > 0 {
			w.patch(places[i-1], uint64(w.pos))
		}
		w.table6(b, clock)
	}
}

// table6 writes the table of a buffer, and the pages to which it leads.
func (w *writer) table6(b Source, clock bool) {
	w.str(tagRecord)
	table := make([]int64, w.m.CPUs)
	for cpu := range table {
		table[cpu] = w.later()
		w.later()
	}
	if clock {
		name := b.Clock
		if name == "" {
			name = "local"
		}
		w.sized([]byte("[" + name + "]"))
	}
	for cpu, at := range table {
		offset, size := w.pages(b.cpu(cpu))
		w.patch(at, uint64(offset))
		w.patch(at+8, uint64(size))
	}
}
