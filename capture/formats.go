package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"ftracelab/tracer/event"
	"ftracelab/tracer/tracedat"
)

// format is a format file. A kernel has some 1500 of them and a trace needs few, so
// each is parsed only when its type is asked for.
type format struct {
	event.FormatFile
	shown string // the name, in errors, of the file that holds it
	from  *files // where it was read from
	id    int
	typ   *event.Type // nil: not parsed yet
	err   error
}

// The memory that a format file takes for each of its bytes: when it is parsed, and
// when its print fmt is compiled as well, which happens for few types.
const (
	typeCost     = 5
	compiledCost = 12
)

func newFormat(f event.FormatFile, from *files, shown string) (*format, error) {
	n := &format{FormatFile: f, from: from, shown: shown}
	var ok bool
	if n.id, ok = f.ID(); ok {
		return n, nil
	}
	t, err := n.read(typeCost) // the file is written in an unusual way; only parsing it gives the id
	if err == nil {
		n.id = t.ID
	}
	return n, err
}

// read parses the file the first time it is called; cost is the memory to ask for, for
// each byte of the file.
func (f *format) read(cost int64) (*event.Type, error) {
	if f.typ == nil && f.err == nil {
		if f.err = f.from.tables(f.Text, cost, f.shown); f.err != nil {
			return nil, f.err
		}
		if f.typ, f.err = event.ParseFormat(f.System, f.Text); f.err != nil {
			f.err = &Error{File: f.shown, Line: f.Line, Offset: -1, What: "format", Err: f.err}
		}
	}
	return f.typ, f.err
}

// formatCost is the memory that lists and indexes take for a format, besides its text.
const formatCost = 512

// formats are the format files of a kernel.
type formats struct {
	list []*format // one for each id
	byID map[int]*format
	err  error // why ByID could not read a format: the first such error
	// partial: there is no formats_all, only the formats that the capture's folder adds.
	partial bool
}

// mergeFormats keeps one format for each id: the first one, where those of own come
// before those of all.
func mergeFormats(all, own []*format) *formats {
	f := &formats{byID: make(map[int]*format, len(all)+len(own)), partial: len(all) == 0}
	for _, list := range [][]*format{own, all} {
		for _, n := range list {
			if f.byID[n.id] == nil {
				f.byID[n.id] = n
			}
		}
	}
	for _, list := range [][]*format{all, own} {
		for _, n := range list {
			if f.byID[n.id] == n {
				f.list = append(f.list, n)
			}
		}
	}
	return f
}

// ByID finds a type. It returns nil if there is none, and also if the format cannot be
// read; err then tells why.
func (f *formats) ByID(id int) *event.Type {
	n := f.byID[id]
	if n == nil {
		return nil
	}
	t, err := n.read(compiledCost)
	if err != nil && f.err == nil {
		f.err = err
	}
	return t
}

// table parses all formats.
func (f *formats) table() (*event.Table, error) {
	table := new(event.Table)
	for _, n := range f.list {
		t, err := n.read(typeCost)
		if err != nil {
			return nil, err
		}
		if err := table.Add(t); err != nil {
			return nil, err
		}
	}
	return table, nil
}

// readFormats reads the format files in formats_all, see event.SplitFormats. If there
// is no formats_all, that is no error.
func readFormats(k kernelFiles) (list []*format, err error) {
	if len(k.places) == 0 {
		return nil, nil
	}
	var found []event.FormatFile
	from, shown := k.places[0].fsys, ""
	if all, ok := k.formatsFS(); ok {
		found, shown = all.Formats(), k.places[0].shown
	} else {
		var text []byte
		text, shown, err = k.read("formats_all.txt", "formats_all", "formats_ftrace.txt")
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		heads := int64(bytes.Count(text, []byte("\n==== ")) + 1)
		if err := from.memory.Take(heads*formatCost, "the formats"); err != nil {
			return nil, fileError(shown, fmt.Sprintf("%d formats", heads), err)
		}
		if found, err = event.SplitFormats(text); err != nil {
			return nil, &Error{File: shown, Line: 1, Offset: -1, What: err.Error()}
		}
	}
	for _, f := range found {
		n, err := newFormat(f, from, shown)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

// formatsFS gives the file system of the first place if that one hands out formats
// directly instead of as a text.
func (k kernelFiles) formatsFS() (tracedat.FormatsFS, bool) {
	if len(k.places) == 0 {
		return nil, false
	}
	f, ok := k.places[0].fsys.FS.(tracedat.FormatsFS)
	return f, ok
}

// ownFormats finds events/SYSTEM/NAME/format of the capture's folder.
func ownFormats(l location, dir string) ([]*format, error) {
	if l.fsys == nil {
		return nil, nil
	}
	files, err := fs.Glob(l.fsys, path.Join(globQuote(dir), "events/*/*/format"))
	if err != nil {
		return nil, fileError(l.shown, "cannot list events", err)
	}
	var list []*format
	for _, name := range files {
		shown := path.Join(l.shown, strings.TrimPrefix(name, dir))
		text, err := readAll(l.fsys, name, shown)
		if err != nil {
			return nil, err
		}
		dir := path.Dir(name)
		n, err := newFormat(event.FormatFile{System: path.Base(path.Dir(dir)), Name: path.Base(dir), Text: text}, l.fsys, shown)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

// perSecond finds HZ in a format: a time in jiffies is divided by it to give seconds.
var perSecond = regexp.MustCompile(`\(jiffies - REC->[a-z_]+\) / ([0-9]{1,5})\b`)

// hz is how many jiffies a second has in the kernel that wrote the formats; 0 if they do
// not tell. No file of the tracefs says it, but the print format of an event does that
// shows in seconds how long ago something was (writeback:writeback_single_inode).
func (f *formats) hz() uint64 {
	for _, n := range f.list {
		if n.System != "writeback" {
			continue
		}
		if m := perSecond.FindSubmatch(n.Text); m != nil {
			hz, err := strconv.ParseUint(string(m[1]), 10, 32)
			if err == nil {
				return hz
			}
		}
	}
	return 0
}
