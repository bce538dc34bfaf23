package tracedat

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// machine is one that writes a sample file.
type machine struct {
	order interface {
		binary.AppendByteOrder
		binary.ByteOrder
	}
	long int
}

var native = machine{binary.LittleEndian, 8}

const samplePage = 4096

func (m machine) longs(b []byte, v uint64) []byte {
	if m.long == 4 {
		return m.order.AppendUint32(b, uint32(v))
	}
	return m.order.AppendUint64(b, v)
}

// head is the u32 of an event: type_len is in its lower or, big-endian, upper bits.
func (m machine) head(b []byte, kind, delta uint32) []byte {
	if m.order.Uint16([]byte{0, 1}) == 1 {
		return m.order.AppendUint32(b, kind<<27|delta)
	}
	return m.order.AppendUint32(b, delta<<5|kind)
}

// page is a page that begins at a time: a function event, one with a dynamic array, one
// that is long, a time extend and a function event. lost events are missing before it.
func (m machine) page(stamp, lost uint64) []byte {
	common := func(b []byte, id uint16) []byte {
		return m.order.AppendUint32(append(m.order.AppendUint16(b, id), 0, 1), 42)
	}
	var data []byte
	add := func(delta uint32, payload []byte) {
		for len(payload)%4 != 0 {
			payload = append(payload, 0)
		}
		if n := len(payload) / 4; n <= 28 {
			data = m.head(data, uint32(n), delta)
		} else {
			data = m.order.AppendUint32(m.head(data, 0, delta), uint32(len(payload)+4))
		}
		data = append(data, payload...)
	}
	function := m.longs(m.longs(common(nil, 1), 0xc1000010), 0xc1000020)
	add(0, function)
	dynamic := m.order.AppendUint32(common(nil, 300), 6<<16|12) // __data_loc u16 v[]
	for _, v := range []uint16{0x102, 0x304, 0x506} {
		dynamic = m.order.AppendUint16(dynamic, v)
	}
	add(7, dynamic)
	long := common(nil, 301)
	for i := range 40 {
		long = m.order.AppendUint32(long, uint32(i)<<8)
	}
	add(1000, long)
	data = m.order.AppendUint32(m.head(data, 30, 5), 1) // 5 + 1<<27 ns
	add(3, function)

	b := m.order.AppendUint64(nil, stamp)
	commit := uint64(len(data))
	if lost > 0 {
		commit |= 1<<31 | 1<<30
	}
	b = append(m.longs(b, commit), data...)
	if lost > 0 {
		b = m.longs(b, lost)
	}
	return append(b, make([]byte, samplePage-len(b))...)
}

// meta is what goes with the pages.
func (m machine) meta() *Meta {
	event := func(name string, id int, fields string) []byte {
		return fmt.Appendf(nil, "name: %s\nID: %d\nformat:\n"+
			"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"+
			"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"+
			"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"+
			"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n%s\n", name, id, fields)
	}
	function := fmt.Sprintf("\tfield:unsigned long ip;\toffset:8;\tsize:%d;\tsigned:0;\n"+
		"\tfield:unsigned long parent_ip;\toffset:%d;\tsize:%d;\tsigned:0;\n\n"+
		`print fmt: " %%ps <-- %%ps", (void *)REC->ip, (void *)REC->parent_ip`, m.long, 8+m.long, m.long)
	return &Meta{
		HeaderPage: fmt.Appendf(nil, "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"+
			"\tfield: local_t commit;\toffset:8;\tsize:%d;\tsigned:1;\n"+
			"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"+
			"\tfield: char data;\toffset:%d;\tsize:%d;\tsigned:0;\n", m.long, 8+m.long, samplePage-8-m.long),
		HeaderEvent: []byte("# compressed entry header\n"),
		Ftrace:      [][]byte{event("function", 1, function)},
		Systems: []System{{"sample", [][]byte{
			event("dynamic", 300, "\tfield:__data_loc u16[] v;\toffset:8;\tsize:4;\tsigned:0;\n\nprint fmt: \"%s\", __print_array(__get_dynamic_array(v), __get_dynamic_array_len(v) / 2, 2)"),
			event("long", 301, "\tfield:unsigned int v[40];\toffset:8;\tsize:160;\tsigned:0;\n\nprint fmt: \"%d\", REC->v[3]"),
		}}},
		Kallsyms: []byte("c1000000 T first\nc1000020 T second\nc1000100 T third\n"),
		Printk:   []byte("0xc1ffffff : \"hello\"\n"),
		Cmdlines: []byte("42 sample\n"),
		CPUs:     2,
		Options: []Option{
			{OptionUname, []byte("Linux sample\x00")},
			{OptionCPUStat, []byte("CPU: 0\nentries: 8\n\x00")},
			{OptionTraceClock, []byte("[local] global\n\x00")},
		},
	}
}

// sources are a top buffer, whose second CPU has lost events, and an instance.
func (m machine) sources() []Source {
	pages := func(list ...[]byte) io.Reader { return bytes.NewReader(bytes.Join(list, nil)) }
	return []Source{
		{Clock: "local", CPUs: []CPUPages{
			{0, pages(m.page(1_000_000_000, 0), m.page(2_000_000_000, 0))}, {1, pages(m.page(1_500_000_000, 3))},
		}},
		{Name: "inst", Clock: "local", CPUs: []CPUPages{{0, pages()}, {1, pages(m.page(1_700_000_000, 0))}}},
	}
}

// sample writes a file.
func (m machine) sample(t Target) []byte {
	var out file
	w := newWriter(&out, m.meta())
	w.order, w.long = m.order, m.long
	if err := w.file(t, m.sources()); err != nil {
		panic(err) // the sample is wrong
	}
	return out.data
}

// file is a file in memory.
type file struct {
	data []byte
	pos  int
}

func (f *file) Write(b []byte) (int, error) {
	if need := f.pos + len(b); need > len(f.data) {
		f.data = append(f.data, make([]byte, need-len(f.data))...)
	}
	copy(f.data[f.pos:], b)
	f.pos += len(b)
	return len(b), nil
}

func (f *file) Seek(offset int64, whence int) (int64, error) {
	f.pos = int(offset) // io.SeekStart, the only one that is used
	return offset, nil
}

// sampleTargets are all forms of file that are written.
func sampleTargets() []Target {
	list := []Target{{Version: Version6}}
	for _, c := range Compressions() {
		list = append(list, Target{Version7, c})
	}
	return list
}
