package capture

import (
	"errors"
	"io/fs"
)

// Cache keeps the formats and symbols of a kernel, for a program that opens many of
// its captures. The zero value is empty. All captures opened with it must have the
// same Options.Kernel; their types are shared. It is not safe for concurrent use.
type Cache struct {
	list              []*format // of formats_all; nil: not read yet
	text              []byte    // what kallsyms holds
	shown             string    // the name of that file
	err               error     // from reading it
	textRead, indexed bool
	symbols           symbolIndex // of kallsyms, without kallsyms.modules.txt
}

// formats gives the formats in formats_all, and reads the file the first time.
func (c *Cache) formats(k kernelFiles) (_ []*format, err error) {
	if c.list == nil {
		c.list, err = readFormats(k)
	}
	return c.list, err
}

// kallsyms gives the text of kallsyms, and reads it the first time; nil if there is no
// such file.
func (c *Cache) kallsyms(k kernelFiles) (text []byte, shown string, err error) {
	if !c.textRead {
		c.textRead = true
		c.text, c.shown, c.err = readSymbols(k.places, "kallsyms.txt", "kallsyms")
		if errors.Is(c.err, fs.ErrNotExist) {
			c.err = nil
		}
	}
	return c.text, c.shown, c.err
}

// index gives the symbols in the text of kallsyms. Only call it after kallsyms has
// given no error.
func (c *Cache) index(k kernelFiles) symbolIndex {
	if text, _, _ := c.kallsyms(k); !c.indexed && len(text) > 0 {
		c.indexed = true
		c.symbols.set(text, nil, false)
	}
	return c.symbols
}
