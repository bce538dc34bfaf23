package tracedat

import (
	"encoding/binary"
	"io"
	"strings"

	"ftracelab/capture/budget"
)

// Meta is what a file holds beside the pages.
type Meta struct {
	HeaderPage, HeaderEvent []byte   // events/header_page, events/header_event
	Ftrace                  [][]byte // format files of the events of the system ftrace
	Systems                 []System // the other events
	Kallsyms                []byte   // as in /proc
	Printk                  []byte   // printk_formats
	Cmdlines                []byte   // saved_cmdlines
	CPUs                    int

	// Options are those that do not tell where something is: not OptionBuffer,
	// OptionCPUCount and the sections'. Numbers in them are in the file's byte
	// order.
	Options []Option
}

// System is an event system with its format files.
type System struct {
	Name    string
	Formats [][]byte
}

// Option is a note in the file.
type Option struct {
	ID   uint16
	Data []byte
}

// Text is the content of an option that is text.
func (o Option) Text() string { return strings.TrimRight(string(o.Data), "\x00") }

// Option finds the first option with an id.
func (m *Meta) Option(id uint16) (Option, bool) {
	for _, o := range m.Options {
		if o.ID == id {
			return o, true
		}
	}
	return Option{}, false
}

// Buffer is the buffer of the top or of an instance.
type Buffer struct {
	Name     string // of the instance; empty: the top
	Clock    string // trace_clock, as "local"; may be empty
	PageSize int    // as written; version 6 has one for the file
	CPUs     []CPUData
	Text     *TextData // of a file that trace-cmd's latency tracers wrote: no pages but this
}

// CPUData says where the pages of a CPU are.
type CPUData struct {
	CPU    int
	Offset int64 // in the file
	Size   int64 // as stored: packed or not
	packed bool
}

// TextData says where the text of a buffer is.
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
	PageSize    int    // of the machine that wrote it, as written
	Compression string // "none", "zlib", "zstd"; of version 6 "none"
	SubbufSize  int    // bytes of a sub-buffer, as HeaderPage tells
	Buffers     []Buffer

	memory   *budget.Budget
	src      io.ReaderAt
	size     int64
	close    func() error
	unpacker unpacker

	translated allFields
}

// Close closes what Open opened.
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
