package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// parents is how many folders above the capture are searched for the kernel's files.
const parents = 4

// kernelFiles finds the files of a capture's kernel: in the folder that --kernel names,
// or else in the capture's folder, the folders above it, and the folder static of each.
type kernelFiles struct {
	places []place
	near   []place // the capture's folder and those above it, even if --kernel names another
	cache  *Cache
}

// place is a folder that may hold files of the kernel.
type place struct {
	fsys  *files
	dir   string
	shown string
}

func (p place) static() place {
	return place{p.fsys, path.Join(p.dir, "static"), path.Join(p.shown, "static")}
}

// findKernel lists the places to search, the nearest first. dir is the capture's
// folder.
func findKernel(l location, dir string) kernelFiles {
	var k kernelFiles
	if l.fsys != nil {
		shown := l.shown
		if dir != l.name {
			shown = filepath.Dir(shown)
		}
		for range parents + 1 {
			here := place{l.fsys, dir, shown}
			k.near = append(k.near, here, here.static())
			if dir == "." {
				break
			}
			dir, shown = path.Dir(dir), filepath.Join(shown, "..")
		}
	}
	k.places = k.near
	k.cache = new(Cache)
	if l.cache != nil {
		k.cache = l.cache
	}
	if l.kernelFS != nil {
		here := place{l.kernelFS, l.kernelDir, l.kernelShown}
		k.places = []place{here, here.static()}
	}
	return k
}

// read gives the uncompressed content of the first of the named files that any place
// has, and the file's name for errors.
func (k kernelFiles) read(names ...string) (text []byte, shown string, err error) {
	return readFirst(k.places, names...)
}

func readFirst(places []place, names ...string) (text []byte, shown string, err error) {
	for _, p := range places {
		for _, name := range names {
			for _, suffix := range []string{"", ".gz", ".zst"} {
				full, shown := path.Join(p.dir, name+suffix), path.Join(p.shown, name+suffix)
				if text, err := readAll(p.fsys, full, shown); err == nil || !errors.Is(err, fs.ErrNotExist) {
					return text, shown, err
				}
			}
		}
	}
	return nil, "", fs.ErrNotExist
}

// headerPageSize gives the size of a sub-buffer according to events/header_page; 0 if
// there is no such file.
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

// formats finds the event formats: the kernel's formats_all, and the format files below
// events in the capture itself, which take precedence. If there are no formats at all,
// the error is fs.ErrNotExist.
func (k kernelFiles) formats(l location, dir string) (*formats, error) {
	all, err := k.cache.formats(k)
	if err != nil {
		return nil, err
	}
	own, err := ownFormats(l, dir)
	if err != nil {
		return nil, err
	}
	if len(all)+len(own) == 0 {
		return nil, fs.ErrNotExist
	}
	return mergeFormats(all, own), nil
}

// globQuote quotes a folder's name so that fs.Glob does not take it for a pattern.
func globQuote(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// setSymbols reads kallsyms, which is indexed at the first look-up. A kallsyms that
// cannot be used is an error. With KeepGoing, addresses have no names then, and Info says
// why.
func (b *base) setSymbols(k kernelFiles) error {
	if len(k.places) == 0 {
		return nil
	}
	modules, err := k.readSymbols()
	if err == nil {
		b.kallsyms = &kallsyms{files: k, modules: modules}
		return nil
	}
	if !b.opt.KeepGoing || b.stopped() {
		return err
	}
	b.info.Nameless = err
	return nil
}

// readSymbols reads kallsyms into the cache, reads kallsyms.modules.txt, and checks
// both.
func (k kernelFiles) readSymbols() (modules []byte, err error) {
	text, shown, err := k.cache.kallsyms(k)
	if err == nil {
		err = checkSymbols(text, shown)
	}
	if err != nil {
		return nil, symbolsFault(shown, err)
	}
	modules, shown, err = readSymbols(k.near, "kallsyms.modules.txt")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = checkSymbols(modules, shown)
	}
	if err != nil {
		return nil, symbolsFault(shown, err)
	}
	return modules, nil
}

func symbolsFault(shown string, err error) error {
	var at *Error
	if errors.As(err, &at) {
		return err // it names the place already
	}
	return fileError(shown, "cannot read the kernel's symbols", cause(err))
}

// maxCmdline is more than any line of saved_cmdlines has: a number and a name of at
// most 15 bytes.
const maxCmdline = 128

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
	last, n := int32(-1), 0
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		if n++; len(line) > maxCmdline {
			return &Error{File: path.Join(l.shown, "saved_cmdlines"), Line: n, Offset: -1, What: "not PID COMM: " + excerpt(line)}
		}
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
