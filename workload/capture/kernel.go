package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"ftracelab/tracer/event"
)

// parents is how far up a kernel's files are looked for.
const parents = 4

// maxKernelFile bounds what is read of formats or symbols.
const maxKernelFile = 64 << 20

// kernelFiles finds what is known about the kernel of a capture: in the folder that
// --kernel names, else in the capture, its parents and the folder static of each.
type kernelFiles struct {
	places []place
	near   []place // the capture and what is above it, also if --kernel names another
	cache  *Cache
}

// place is a folder that may hold files of the kernel.
type place struct {
	fsys  fs.FS
	dir   string
	shown string
}

// findKernel lists the places, the nearest first. dir is the capture's folder.
func findKernel(l location, dir string) kernelFiles {
	var k kernelFiles
	if l.fsys != nil {
		for range parents + 1 {
			k.near = append(k.near, place{l.fsys, dir, dir}, place{l.fsys, path.Join(dir, "static"), path.Join(dir, "static")})
			if dir == "." {
				break
			}
			dir = path.Dir(dir)
		}
	}
	k.places = k.near
	k.cache = new(Cache)
	if l.kernelFS != nil {
		if l.cache != nil {
			k.cache = l.cache
		}
		k.places = []place{
			{l.kernelFS, l.kernelDir, "kernel"},
			{l.kernelFS, path.Join(l.kernelDir, "static"), "kernel/static"},
		}
	}
	return k
}

// read gives the content of the first of names that a place has, with compression
// undone, and where it was.
func (k kernelFiles) read(names ...string) (text []byte, shown string, err error) {
	var b bytes.Buffer
	shown, err = readFirst(&b, k.places, names...)
	return b.Bytes(), shown, err
}

// buffer is what a file is read to, a bytes.Buffer or a strings.Builder.
type buffer interface {
	io.Writer
	Grow(n int)
	Len() int
}

func readFirst(dst buffer, places []place, names ...string) (shown string, err error) {
	for _, p := range places {
		for _, name := range names {
			for _, suffix := range []string{"", ".gz", ".zst"} {
				full, shown := path.Join(p.dir, name+suffix), path.Join(p.shown, name+suffix)
				if err := readTo(dst, p.fsys, full, shown); err == nil || !errors.Is(err, fs.ErrNotExist) {
					return shown, err
				}
			}
		}
	}
	return "", fs.ErrNotExist
}

func readAll(fsys fs.FS, name, shown string) ([]byte, error) {
	var b bytes.Buffer
	err := readTo(&b, fsys, name, shown)
	return b.Bytes(), err
}

func readTo(dst buffer, fsys fs.FS, name, shown string) error {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return err
	}
	s, err := openStream(fsys, name, shown, true)
	if err != nil {
		return err
	}
	dst.Grow(int(min(info.Size(), maxKernelFile)) + bytes.MinRead)
	_, err = io.Copy(dst, io.LimitReader(s, maxKernelFile+1))
	if err == nil && dst.Len() > maxKernelFile {
		err = fileError(shown, "more than 64 MiB", nil)
	}
	return errors.Join(err, s.Close())
}

// headerPageSize is the size of a sub-buffer that events/header_page tells; 0: none.
func (k kernelFiles) headerPageSize() (int, error) {
	text, shown, err := k.read("header_page", "header_page.txt")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if !bytes.Contains(line, []byte("char data;")) {
			continue
		}
		offset, ok1 := numberAfter(line, "offset:")
		size, ok2 := numberAfter(line, "size:")
		if ok1 && ok2 && offset+size <= maxSubbuf {
			return int(offset + size), nil
		}
	}
	return 0, fileError(shown, "no size of the data of a page", nil)
}

func numberAfter(line []byte, key string) (uint64, bool) {
	i := bytes.Index(line, []byte(key))
	if i < 0 {
		return 0, false
	}
	line = line[i+len(key):]
	n := 0
	for n < len(line) && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	return parseUint(line[:n])
}

// formats reads the event formats: formats_all of the kernel, and the format files
// under events of the capture itself, which win. No formats: fs.ErrNotExist.
func (k kernelFiles) formats(l location, dir string) (*event.Table, error) {
	types, err := k.cache.formats(k)
	if err != nil {
		return nil, err
	}
	own, oerr := ownFormats(l, dir)
	if oerr != nil {
		return nil, oerr
	}
	if len(types)+len(own) == 0 {
		return nil, fs.ErrNotExist
	}
	return mergeTypes(types, own)
}

// mergeTypes makes a table in which a type of own replaces one with its id.
func mergeTypes(types, own []*event.Type) (*event.Table, error) {
	replaced := map[int]bool{}
	for _, t := range own {
		replaced[t.ID] = true
	}
	table, err := event.NewTable()
	if err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	for _, t := range types {
		if !replaced[t.ID] && !seen[t.ID] {
			seen[t.ID] = true
			if err := table.Add(t); err != nil {
				return nil, err
			}
		}
	}
	for _, t := range own {
		if table.ByID(t.ID) == nil {
			if err := table.Add(t); err != nil {
				return nil, err
			}
		}
	}
	return table, nil
}

// parseFormats reads format files one after the other, see event.SplitFormats.
func parseFormats(text []byte, shown string) ([]*event.Type, error) {
	files, err := event.SplitFormats(text)
	if err != nil {
		return nil, &Error{File: shown, Line: 1, Offset: -1, What: err.Error()}
	}
	types := make([]*event.Type, 0, len(files))
	for _, f := range files {
		t, err := event.ParseFormat(f.System, f.Text)
		if err != nil {
			return nil, &Error{File: shown, Line: f.Line, Offset: -1, What: "format of events/" + f.System + "/" + f.Name, Err: err}
		}
		types = append(types, t)
	}
	return types, nil
}

// ownFormats reads events/SYSTEM/NAME/format of the capture's folder.
func ownFormats(l location, dir string) ([]*event.Type, error) {
	if l.fsys == nil {
		return nil, nil
	}
	files, err := fs.Glob(l.fsys, path.Join(globQuote(dir), "events/*/*/format"))
	if err != nil {
		return nil, fileError(l.shown, "cannot list events", err)
	}
	var types []*event.Type
	for _, name := range files {
		shown := path.Join(l.shown, strings.TrimPrefix(name, dir))
		text, err := readAll(l.fsys, name, shown)
		if err != nil {
			return nil, err
		}
		t, err := event.ParseFormat(path.Base(path.Dir(path.Dir(name))), text)
		if err != nil {
			return nil, fileError(shown, "format", err)
		}
		types = append(types, t)
	}
	return types, nil
}

// globQuote keeps a folder's name from being a pattern.
func globQuote(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// symbols prepares kallsyms; nothing is read before the first look-up.
func (k kernelFiles) symbols() *kallsyms {
	if len(k.places) == 0 {
		return nil
	}
	return &kallsyms{files: k}
}

// savedCmdlines reads the names of tasks.
func (b *base) savedCmdlines(l location, dir string) error {
	name := path.Join(dir, "saved_cmdlines")
	text, err := readAll(l.fsys, name, path.Join(l.shown, "saved_cmdlines"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	last := int32(-1)
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		pid, comm, ok := bytes.Cut(line, []byte(" "))
		switch v, good := parseUint(pid); {
		case ok && good && v <= 1<<31-1:
			last = int32(v)
			b.comms.set(last, string(comm))
		case len(line) > 0 && last >= 0 && len(b.comms.byPID[last])+1+len(line) <= maxComm: // the name has a newline
			b.comms.set(last, b.comms.byPID[last]+"\n"+string(line))
		}
	}
	return nil
}

// stats reads a stats.cpuN file.
func readStats(l location, dir string, cpu int) (s CPUStats, ok bool, err error) {
	base := fmt.Sprintf("stats.cpu%d", cpu)
	text, err := readAll(l.fsys, path.Join(dir, base), path.Join(l.shown, base))
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	s.CPU = cpu
	number := map[string]*uint64{
		"entries": &s.Entries, "overrun": &s.Overrun, "commit overrun": &s.CommitOverrun, "bytes": &s.Bytes,
		"dropped events": &s.DroppedEvents, "read events": &s.ReadEvents,
	}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		key, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		value = bytes.TrimSpace(value)
		switch p := number[string(key)]; {
		case p != nil:
			if *p, ok = parseUint(value); !ok {
				return s, false, &Error{File: path.Join(l.shown, base), Line: n, Offset: -1, What: "no number: " + excerpt(line)}
			}
		case string(key) == "oldest event ts":
			s.OldestTS = string(value)
		case string(key) == "now ts":
			s.NowTS = string(value)
		}
	}
	return s, true, nil
}
