package tracedat

// The reading of the bodies that both versions have, in the order of version 6.

func (m *Meta) readHeaders(c *cursor) {
	c.expect(nameHeaderPage, "the name of header_page")
	m.HeaderPage = c.bytes(c.u64("the size of header_page"), "header_page")
	c.expect(nameHeaderEvent, "the name of header_event")
	m.HeaderEvent = c.bytes(c.u64("the size of header_event"), "header_event")
}

// readFormats reads a list of format files, with their number in front.
func readFormats(c *cursor, what string) [][]byte {
	n := c.count(8, what)
	if !c.take(int64(n)*formatCost, what) {
		return nil
	}
	var list [][]byte
	for i := 0; i < n && c.err == nil; i++ {
		list = append(list, c.bytes(c.u64("the size of a format"), "a format"))
	}
	return list
}

func (m *Meta) readSystems(c *cursor) {
	n := c.count(5, "event systems")
	for i := 0; i < n && c.err == nil; i++ {
		s := System{Name: c.str("the name of an event system")}
		c.take(systemCost+int64(len(s.Name)), "event systems")
		s.Formats = readFormats(c, "formats of the system "+s.Name)
		m.Systems = append(m.Systems, s)
	}
}

func (m *Meta) readKallsyms(c *cursor) {
	m.Kallsyms = c.bytes(uint64(c.u32("the size of kallsyms")), "kallsyms")
}

func (m *Meta) readPrintk(c *cursor) {
	m.Printk = c.bytes(uint64(c.u32("the size of printk_formats")), "printk_formats")
}

func (m *Meta) readCmdlines(c *cursor) {
	m.Cmdlines = c.bytes(c.u64("the size of saved_cmdlines"), "saved_cmdlines")
}
