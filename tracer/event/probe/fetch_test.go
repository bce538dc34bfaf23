package probe_test

import (
	"fmt"
	"strings"
	"testing"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/probe"
)

// machine is a source with some memory: at kernelBase and userBase.
type machine struct {
	probe.None
	regs   map[string]uint64
	stack  []uint64
	args   []uint64
	ret    uint64
	comm   string
	kernel []byte
	user   []byte
	record []byte
}

const (
	kernelBase = 0xffff888100000000
	userBase   = 0x7f0000000000
)

func (m *machine) Reg(n int) uint64     { return m.regs[probe.Registers[n]] }
func (m *machine) StackPointer() uint64 { return 0xffffc90000003f00 }
func (m *machine) RetVal() uint64       { return m.ret }
func (m *machine) Comm() string         { return m.comm }
func (m *machine) Record() []byte       { return m.record }

func (m *machine) Stack(n int) uint64 {
	if n < len(m.stack) {
		return m.stack[n]
	}
	return 0
}

func (m *machine) Arg(n int) uint64 {
	if n < len(m.args) {
		return m.args[n]
	}
	return 0
}

func (m *machine) Kernel(dst []byte, addr uint64) int { return read(m.kernel, kernelBase, dst, addr) }
func (m *machine) User(dst []byte, addr uint64) int   { return read(m.user, userBase, dst, addr) }

func read(memory []byte, base uint64, dst []byte, addr uint64) int {
	if addr < base || addr-base >= uint64(len(memory)) {
		return 0
	}
	return copy(dst, memory[addr-base:])
}

func (m *machine) AppendSymbol(dst []byte, addr uint64) []byte {
	if addr>>32 == 0xffffffff {
		return fmt.Appendf(dst, "vfs_read+0x%x/0x370", addr&0xfff)
	}
	return fmt.Appendf(dst, "%#x", addr)
}

// pointer is a word in memory.
func pointer(v uint64) string {
	var b [8]byte
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
	return string(b[:])
}

func newMachine() *machine {
	m := &machine{
		regs:  map[string]uint64{"di": 3, "si": userBase + 16, "dx": 0xfffffffffffff234, "ip": 0xffffffff81000004, "ax": kernelBase, "bx": 0xdead},
		stack: []uint64{0xffffffff81458123, 0x1122334455667788},
		args:  []uint64{kernelBase, userBase + 16, 100, 7},
		ret:   ^uint64(0),
		comm:  "wl",
	}
	m.kernel = []byte(pointer(kernelBase+32) + pointer(kernelBase+48) + pointer(0) + pointer(userBase) + "hello\x00..........world\x00")
	m.kernel = append(m.kernel, make([]byte, 64)...)
	copy(m.kernel[80:], "end without a zero byte: "+strings.Repeat("x", 64))
	m.user = []byte("0123456789abcde\x00/etc/passwd\x00\x00rest")
	m.record = make([]byte, 64)
	copy(m.record[8:], "bash\x00")
	copy(m.record[24:], "\xfe\xff\xff\xff\x78\x00\x00\x00")
	copy(m.record[32:], "\x30\x00\x04\x00\x14\x00\x04\x00\x80\x00\xff\xff")
	copy(m.record[56:], "rel\x00")
	copy(m.record[48:], "dyn\x00")
	return m
}

// values renders the record that a probe writes: the arguments as the print fmt says.
func values(t *testing.T, definition string, m *machine) string {
	t.Helper()
	d := parseAny(t, definition)
	typ, err := d.NewType(1500)
	if err != nil {
		t.Fatal(err)
	}
	entry := d.AppendEntry(nil, m)
	if len(entry) != d.EntryArgs() {
		t.Errorf("%d saved words, want %d", len(entry), d.EntryArgs())
	}
	data := d.Append(nil, event.Common{Type: 1500}, probe.Hit{IP: 0x10, RetIP: 0x20, Entry: entry}, m)
	text := string(typ.AppendText(nil, data, nil))
	if i := strings.Index(text, ") "); i >= 0 {
		text = text[i+1:]
	}
	return strings.TrimPrefix(text, " ")
}

// What the arguments of one hit become.
func TestFetch(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"a=%di:s32 b=%dx:s16 c=%dx:u8 d=%dx:x32", "a=3 b=-3532 c=52 d=0xfffff234"},
		{"a=%dx", "a=0xfffffffffffff234"},
		{"a=%dx:b4@2/32 b=%dx:b8@8/16 c=%dx:b64@0/64", "a=13 b=242 c=18446744073709548084"},
		{"a=$stack b=$stack1:x32 c=$stack99", "a=0xffffc90000003f00 b=0x55667788 c=0x0"},
		{"a=$arg3:u16 b=$arg9", "a=100 b=0x0"},
		{"a=$comm b=$COMM:string", `a="wl" b="wl"`},
		{`a=\-5:s8 b=\"text" c=\0x10:u8 d=\+7:u8`, `a=-5 b="text" c=16 d=7`},
		{"a=+0(+0(%ax)):string b=+8(%ax):x64", `a="hello" b=0xffff888100000030`},
		{"a=+0(+8(%ax)):string b=+48(%ax):string", `a="world" b="world"`},
		{"a=+32(%ax):char[5] b=+32(%ax):x8[2] c=+0(%ax):x64[2]", "a={'h','e','l','l','o'} b={0x68,0x65} c={0xffff888100000020,0xffff888100000030}"},
		{"a=+0(%si):ustring b=+u0(%si):string c=+u0(%si):char", `a="/etc/passwd" b="/etc/passwd" c='/'`},
		{"a=+0(+16(%ax)):string b=+0(%di):u32 c=+0(+0(%di)):x8", `a="" b=0 c=0x0`},
		{"a=+80(%ax):string", `a=""`},
		{"a=%ip:symstr", `a="vfs_read+0x4/0x370"`},
		{"a=@0xffff888100000020:string b=@kfree:x8", `a="hello" b=0x0`},
		{"file=$arg1 n=+0($arg1):x64", "file=0xffff888100000000 n=0xffff888100000020"},
	} {
		if got := values(t, "p:a/b vfs_read "+c.args, newMachine()); got != c.want {
			t.Errorf("%s: %s, want %s", c.args, got, c.want)
		}
	}
}

// What other kinds of probes fetch.
func TestFetchKinds(t *testing.T) {
	for _, c := range []struct{ definition, want string }{
		{"r:a/b vfs_read ret=$retval:s32", "ret=-1"},
		{"r:a/b vfs_read $retval $arg1 c=$arg3:u8 again=$arg1", "arg1=-1 file=0xffff888100000000 c=100 again=0xffff888100000000"},
		{"f:a/b vfs_read $arg*", "file=0xffff888100000000 buf=0x7f0000000010 count=100 pos=0x7"},
		{"f:a/b vfs_read%return file count", "file=0xffff888100000000 count=100"},
		{"f:a/b vfs_read n=file->f_path.dentry->d_iname:string", `n=""`},
		{"f:a/b vfs_read buf:ustring", `buf="/etc/passwd"`},
		{"t:a/b sched_switch prev next", "prev=0x7f0000000010 next=0x64"},
		{"t:a/b sched_switch $arg1 x=$arg2", "preempt=0 x=0x7f0000000010"},
		{
			"p:a/b /bin/sh:0x10 a=%di:u8 b=+0(%si):string c=$comm d=@+0x7f0000000000:string e=+u0(%si):ustring",
			`a=3 b="/etc/passwd" c="wl" d="0123456789abcde" e="/etc/passwd"`,
		},
		{`p:a/b /bin/sh:0x10 a=\"text"`, `a=""`},
		{"r:a/b /bin/sh:0x10 a=$retval:s8 b=$stack1:u8", "a=-1 b=136"},
		{
			"e:a/b sched.sched_switch c=$prev_comm:string p=$prev_pid:s32 q=$prev_prio:u8 n=$note:string r=$rel:string",
			`c="bash" p=-2 q=120 n="dyn" r="rel"`,
		},
		{"e:a/b sched.sched_switch a=$flag:s8 b=$half:s32 c=$comm:string d=+1($prev_comm):char", `a=-128 b=65535 c="wl" d='a'`},
		{"e:a/b sched.sched_switch c=$prev_comm:symstr", `c="0xffffe8ffffc00008"`},
	} {
		if got := values(t, c.definition, newMachine()); got != c.want {
			t.Errorf("%s: %s, want %s", c.definition, got, c.want)
		}
	}
}

// A fault of user memory is a string of length 0, and an empty user string is one in
// the kernel's probes, too.
func TestFault(t *testing.T) {
	for definition, length := range map[string]int{
		"p:a/b vfs_read s=+0(%di):ustring":     0,
		"p:a/b vfs_read s=+12(%si):ustring":    0,
		"p:a/b /bin/sh:1 s=+12(%si):string":    1,
		"p:a/b vfs_read s=+0(%si):ustring":     12,
		"p:a/b vfs_read s=+0(%ax):ustring":     0,
		"p:a/b vfs_read s=+0(%si):string":      0,
		"p:a/b vfs_read s=+u0(+0(%si)):string": 0,
	} {
		d := parseAny(t, definition)
		typ, err := d.NewType(1)
		if err != nil {
			t.Fatal(err)
		}
		data := d.Append(nil, event.Common{}, probe.Hit{}, newMachine())
		if got := int(typ.Field("s").Uint(data) >> 16); got != length {
			t.Errorf("%s: length %d, want %d", definition, got, length)
		}
	}
}

// A symbol's name uses up its place without its NUL, on which the next string begins.
func TestSymbolStrings(t *testing.T) {
	got := values(t, `p:a/b vfs_read a=%ip:symstr b=\"next"`, newMachine())
	if want := `a="vfs_read+0x4/0x370next" b="next"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// An array of strings: pointers that follow each other; one that cannot be read is a
// string of length 0.
func TestStringArray(t *testing.T) {
	d := parseAny(t, "p:a/b vfs_read a=+0(%ax):string[4]")
	data := d.Append(nil, event.Common{}, probe.Hit{}, newMachine())
	want := "\x20\x00\x06\x00\x26\x00\x06\x00\x2c\x00\x00\x00\x2c\x00\x00\x00hello\x00world\x00"
	if string(data[16:]) != want {
		t.Errorf("%q, want %q", data[16:], want)
	}
}

// The record's layout: header, place, arguments, strings.
func TestLayout(t *testing.T) {
	d := parseAny(t, `r:a/b vfs_read a=$comm b=\1:u8 c=\"xyz"`)
	data := d.Append([]byte("before"), event.Common{Type: 7, Flags: 1, PreemptCount: 2, PID: 3}, probe.Hit{IP: 0x1111, RetIP: 0x2222}, newMachine())
	want := "before\x07\x00\x01\x02\x03\x00\x00\x00" + pointer(0x1111) + pointer(0x2222) +
		"\x21\x00\x03\x00\x01\x24\x00\x04\x00wl\x00xyz\x00"
	if string(data) != want {
		t.Errorf("%q, want %q", data, want)
	}
}

// Firing does not allocate.
func TestNoAllocation(t *testing.T) {
	m := newMachine()
	dst := make([]byte, 0, 4096)
	for _, definition := range []string{
		"p:a/b vfs_read a=%di:s32 s=+0(%si):ustring c=$comm d=+0(+0(%ax)):string e=+0(%ax):x8[8] f=%dx:b4@2/32",
		"e:a/b sched.sched_switch c=$prev_comm:string p=$prev_pid",
	} {
		d := parseAny(t, definition)
		if n := testing.AllocsPerRun(100, func() { dst = d.Append(dst[:0], event.Common{}, probe.Hit{}, m) }); n != 0 {
			t.Errorf("%s: %v allocations", definition, n)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	for name, args := range map[string]string{
		"registers": "a=%di:s32 b=%dx c=$stack1",
		"deref":     "a=+0(+0(%ax)):x64",
		"string":    "a=+0(%si):ustring",
		"array":     "a=+0(%ax):x8[16]",
	} {
		b.Run(name, func(b *testing.B) {
			d, err := probe.ParseKprobe("p:a/b vfs_read "+args, kernel{})
			if err != nil {
				b.Fatal(err)
			}
			m := &fastMachine{*newMachine()}
			dst := make([]byte, 0, 4096)
			b.ReportAllocs()
			for b.Loop() {
				dst = d.Append(dst[:0], event.Common{}, probe.Hit{}, m)
			}
		})
	}
}

// fastMachine has its registers at hand.
type fastMachine struct{ machine }

func (m *fastMachine) Reg(n int) uint64 {
	switch n {
	case 13:
		return userBase + 16
	case 10:
		return kernelBase
	}
	return uint64(n)
}
