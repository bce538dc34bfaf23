package tracedat

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"ftracelab/tracer/event"
)

// Folder shows a buffer as a capture folder, which package capture reads. It has the
// files cpuN.raw, stats.cpuN, kallsyms.txt, header_page.txt, saved_cmdlines,
// printk_formats and trace_clock. The pages are those of CanonicalPages.
//
// The folder is a [FormatsFS], from which the formats can be had, and its files are
// [SourceFile]s.
func (f *File) Folder(b *Buffer) fs.FS {
	d := folder{f: f, files: map[string]folderFile{}}
	text := func(name string, data []byte) {
		if len(data) > 0 {
			d.files[name] = folderFile{int64(len(data)), func() io.Reader { return bytes.NewBuffer(data) }, nil}
		}
	}
	text("header_page.txt", f.CanonicalHeaderPage())
	text("kallsyms.txt", f.Kallsyms)
	text("printk_formats", f.Printk)
	text("saved_cmdlines", f.Cmdlines)
	text("trace_clock", []byte(b.Clock))
	for cpu, stats := range f.stats(b) {
		text(fmt.Sprintf("stats.cpu%d", cpu), stats)
	}
	for _, c := range b.CPUs {
		d.files[fmt.Sprintf("cpu%d.raw", c.CPU)] = folderFile{
			c.Size, func() io.Reader { return f.CanonicalPages(b, c.CPU) }, func() int64 { return f.held(c) },
		}
	}
	return d
}

// FormatsFS is a capture folder that hands out the format files of all events directly,
// instead of as one text.
type FormatsFS interface {
	fs.FS
	Formats() []event.FormatFile
}

// SourceFile is a file whose content can be read without copying it. Source is a
// *bytes.Buffer with all of the content; for packed pages it is a reader that has Peek
// and Discard, like a bufio.Reader. Held is the most memory in bytes that reading takes
// besides what the file holds already: two chunks if it is a file of pages. The caller
// has to take that from a budget.
type SourceFile interface {
	fs.File
	Source() io.Reader
	Held() int64
}

// stats gives the statistics of the CPUs of a buffer. The options hold them one CPU
// after the other; those of an instance follow an option that names it.
func (f *File) stats(b *Buffer) map[int][]byte {
	stats, name := map[int][]byte{}, ""
	for _, o := range f.Options {
		if o.ID != OptionCPUStat {
			continue
		}
		head, text, _ := strings.Cut(strings.TrimLeft(o.Text(), "\n"), "\n")
		if instance, ok := strings.CutPrefix(head, "Buffer: "); ok {
			name = instance
			continue
		}
		var cpu int
		if n, err := fmt.Sscanf(head, "CPU: %d", &cpu); n == 1 && err == nil && name == b.Name {
			stats[cpu] = []byte(text)
		}
	}
	return stats
}

// folder is a file system of one folder.
type folder struct {
	f     *File
	files map[string]folderFile
}

// Formats implements FormatsFS.
func (d folder) Formats() []event.FormatFile {
	var list []event.FormatFile
	add := func(system string, formats [][]byte) {
		for _, text := range formats {
			name, _, _ := bytes.Cut(bytes.TrimPrefix(text, []byte("name:")), []byte("\n"))
			list = append(list, event.FormatFile{System: system, Name: string(bytes.TrimSpace(name)), Text: text})
		}
	}
	add("ftrace", d.f.Ftrace)
	for _, s := range d.f.Systems {
		add(s.Name, s.Formats)
	}
	return list
}

type folderFile struct {
	size int64
	open func() io.Reader
	held func() int64 // see SourceFile.Held; nil: it is 0
}

func (d folder) Open(name string) (fs.File, error) {
	if name == "." {
		return &openFolder{d: d}, nil
	}
	f, ok := d.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &openFile{fileInfo{name, f.size, 0o444}, f.open(), f.held}, nil
}

type openFile struct {
	info fileInfo
	io.Reader
	held func() int64
}

func (f *openFile) Held() int64 {
	if f.held == nil {
		return 0
	}
	return f.held()
}

func (f *openFile) Source() io.Reader          { return f.Reader }
func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

type openFolder struct {
	d    folder
	done bool
}

func (o *openFolder) Stat() (fs.FileInfo, error) { return fileInfo{".", 0, fs.ModeDir | 0o555}, nil }
func (o *openFolder) Close() error               { return nil }

func (o *openFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: ".", Err: fs.ErrInvalid}
}

// ReadDir lists all files at once.
func (o *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if o.done {
		if n > 0 {
			return nil, io.EOF
		}
		return nil, nil
	}
	o.done = true
	var list []fs.DirEntry
	for name, f := range o.d.files {
		list = append(list, fs.FileInfoToDirEntry(fileInfo{name, f.size, 0o444}))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

type fileInfo struct {
	name string
	size int64
	mode fs.FileMode
}

func (fi fileInfo) Name() string       { return path.Base(fi.name) }
func (fi fileInfo) Size() int64        { return fi.size }
func (fi fileInfo) Mode() fs.FileMode  { return fi.mode }
func (fi fileInfo) ModTime() time.Time { return time.Time{} }
func (fi fileInfo) IsDir() bool        { return fi.mode.IsDir() }
func (fi fileInfo) Sys() any           { return nil }
