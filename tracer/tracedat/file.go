package tracedat

import (
	"encoding/binary"
	"io"
	"strings"

	"ftracelab/budget"
)

// Meta is what a file holds besides the pages.
type Meta struct {
	HeaderPage, HeaderEvent []byte   // events/header_page, events/header_event
	Ftrace                  [][]byte // format files of the events of the system ftrace
	Systems                 []System // the other events, by system
	Kallsyms                []byte   // /proc/kallsyms
	Printk                  []byte   // printk_formats
	Cmdlines                []byte   // saved_cmdlines
	CPUs                    int

	// Options are the file's options, except for those that describe its layout:
	// OptionBuffer, OptionCPUCount, and those that lead to sections. Numbers in them
	// are in the file's byte order.
	Options []Option
}

// System is an event system with its format files.
type System struct {
	Name    string
	Formats [][]byte
}

// Option is a note in the file: an id and some content.
type Option struct {
	ID   uint16
	Data []byte
}

// Text gives the content of an option that holds text.
func (o Option) Text() string { return strings.TrimRight(string(o.Data), "\x00") }

// Option finds the first option with that id.
func (m *Meta) Option(id uint16) (Option, bool) {
	for _, o := range m.Options {
		if o.ID == id {
			return o, true
		}
	}
	return Option{}, false
}

// Buffer is the top buffer or that of an instance.
type Buffer struct {
	Name     string // the name of the instance; empty: the top
	Clock    string // trace_clock, such as "local"; may be empty
	PageSize int    // as the file tells it; version 6 has one size for the whole file
	CPUs     []CPUData
	Text     *TextData // not nil: trace-cmd has recorded a latency tracer, and there is this text instead of pages
}

// CPUData says where in the file the pages of a CPU are.
type CPUData struct {
	CPU    int
	Offset int64 // where they begin in the file
	Size   int64 // how many bytes they take there, packed or not
	packed bool
}

// TextData says where in the file the text of a buffer is.
type TextData struct {
	Offset int64
	Size   int64
	packed bool
}

// File is an open trace.dat. Its methods may be called from several goroutines.
type File struct {
	Meta
	Version     int
	Order       binary.ByteOrder
	LongSize    int    // 4 or 8
	PageSize    int    // the page size of the machine, as the file tells it
	Compression string // "none", "zlib" or "zstd"; in version 6 always "none"
	SubbufSize  int    // the size of a sub-buffer in bytes, as HeaderPage tells it
	Buffers     []Buffer

	memory   *budget.Budget
	src      io.ReaderAt
	size     int64
	close    func() error
	unpacker unpacker

	translated allFields
}

// Close closes the file that Open opened.
func (f *File) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}

// Buffer finds a buffer by the name of its instance.
func (f *File) Buffer(name string) *Buffer {
	for i := range f.Buffers {
		if f.Buffers[i].Name == name {
			return &f.Buffers[i]
		}
	}
	return nil
}
