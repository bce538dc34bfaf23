package capture

// Cache keeps the formats and symbols of a kernel, for a program that opens many of
// its captures. The zero value is empty. All captures opened with it must have the
// same Options.Kernel; their types are shared. It is not safe for concurrent use.
type Cache struct {
	list              []*format // nil: not read yet
	text              []byte    // of kallsyms
	textRead, indexed bool
	symbols           symbolIndex // of kallsyms alone
}

// formats are those of formats_all.
func (c *Cache) formats(k kernelFiles) (_ []*format, err error) {
	if c.list == nil {
		c.list, err = readFormats(k)
	}
	return c.list, err
}

// kallsyms is the text of that file; none if it cannot be read, and addresses have
// no names then.
func (c *Cache) kallsyms(k kernelFiles) []byte {
	if !c.textRead {
		c.textRead = true
		if text, _, err := readSymbols(k.places, "kallsyms.txt", "kallsyms"); err == nil {
			c.text = text
		}
	}
	return c.text
}

// index are the symbols of kallsyms.
func (c *Cache) index(k kernelFiles) symbolIndex {
	if text := c.kallsyms(k); !c.indexed && len(text) > 0 {
		c.indexed = true
		c.symbols.set(text, nil, false)
	}
	return c.symbols
}
