package capture

import (
	"errors"
	"io/fs"
	"strings"

	"ftracelab/tracer/event"
)

// Cache keeps the formats and symbols of a kernel, for a program that opens many of
// its captures. The zero value is empty. All captures opened with it must have the
// same Options.Kernel; their types are shared. It is not safe for concurrent use.
type Cache struct {
	types             []*event.Type // nil: not read yet
	text              string        // of kallsyms
	textRead, indexed bool
	symbols           symbolIndex // of kallsyms alone
}

// formats are the types of formats_all.
func (c *Cache) formats(k kernelFiles) ([]*event.Type, error) {
	if c.types != nil {
		return c.types, nil
	}
	all, shown, err := k.read("formats_all.txt", "formats_all", "formats_ftrace.txt")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	types, err := parseFormats(all, shown)
	if err == nil {
		c.types = types
	}
	return types, err
}

// kallsyms is the text of that file; none if it cannot be read, and addresses have
// no names then.
func (c *Cache) kallsyms(k kernelFiles) string {
	if !c.textRead {
		c.textRead = true
		var text strings.Builder
		if _, err := readFirst(&text, k.places, "kallsyms.txt", "kallsyms"); err == nil {
			c.text = text.String()
		}
	}
	return c.text
}

// index are the symbols of kallsyms.
func (c *Cache) index(k kernelFiles) symbolIndex {
	if text := c.kallsyms(k); !c.indexed && text != "" {
		c.indexed = true
		c.symbols.set(text, "", false)
	}
	return c.symbols
}
