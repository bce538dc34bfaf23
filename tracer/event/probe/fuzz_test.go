package probe_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/probe"
)

// definitions are what fuzzing starts from.
var definitions = []string{
	"p:kprobes/p_vfsr vfs_read a1=$arg1:x64 a3=$arg3:u32 a3d=%dx:s16 comm=$comm stk=$stack0:x64 sy=$stack0:symbol bf=%dx:b4@2/32",
	"p:mygrp/p_str do_sys_openat2 c1=+0(+u0(%si)):x8 s=+u0(%si):ustring",
	"r8:r_vfsr vfs_read arg1=$retval $arg2",
	`p:a/b vfs_read+4 i=\-0x10:s8 t=\"text" m=@kfree+8:u16[3] n=@0xffff888100000000:string y=%ip:symstr`,
	"p vfs_read%return +0(+8(%ax)):string[4] +0(%ax):ustring[64] +u-8(%sp):char[2]",
	"p foo:bar file=%di:%pD", "p 0xffffffff81000000 $stack", "p:x name_show",
	"p:u /bin/sh:0x10(0x20) fd=%di:s32 b=+0(%si):x8[4] @+0x10:string", "r /usr/bin/wl:16%return $retval",
	"f vfs_read $arg*", "f vfs_read%return $retval count file->f_path.dentry->d_iname:string", "f9:a/ kfree%return $arg1",
	"f vfs_read file->f_mode3 file->f_flags buf:ustring", "t sched_switch $arg1 prev_state", "t:g.n nosuch $arg2:u8",
	"e:a/b sched.sched_switch c=$prev_comm:string p=$prev_pid n=$note r=$rel:ustring if prev_pid > 0",
	"e syscalls/sys_enter_openat file=+0($filename):ustring[3] c=$comm:string", "e:x sched.sched_switch if",
	"p:a/b vfs_read +0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(@0))))))))))))))", "p vfs_read a=%ax:b64@0/64[2]",
}

// FuzzParse: every text is a definition or an error. A definition has a type whose
// format file can be read; what it shows is a definition of the same fields.
func FuzzParse(f *testing.F) {
	for _, d := range definitions {
		f.Add(d)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		for _, parse := range parsers {
			d, err := parse(text, kernel{})
			if err == nil {
				checkDefinition(t, d)
				continue
			}
			var e *probe.Error
			if !errors.As(err, &e) || e.Errno == 0 {
				t.Fatalf("%q: %v", text, err)
			}
			for _, entry := range e.Log {
				if entry.Pos < 0 || entry.Pos > len(entry.Command)+1 || entry.Msg == "" || e.Errno == syscall.ECANCELED {
					t.Errorf("%q: %+v", text, entry)
				}
			}
		}
	})
}

var parsers = []func(string, probe.Env) (*probe.Definition, error){
	probe.ParseKprobe, probe.ParseUprobe, probe.ParseFprobe, probe.ParseEprobe,
}

func checkDefinition(t *testing.T, d *probe.Definition) {
	t.Helper()
	typ, err := d.NewType(1000)
	if err != nil {
		t.Fatalf("%s: %v", d.Show(), err)
	}
	format := typ.Format()
	if parsed, err := event.ParseFormat(d.Group, format); err != nil || string(parsed.Format()) != string(format) {
		t.Errorf("%s: format %v:\n%s", d.Show(), err, format)
	}
	if !d.Match(d.Group, d.Event, nil) {
		t.Errorf("%s is not matched by its name", d.Show())
	}
	if d.Kind == probe.Kprobe && d.Symbol == "" {
		return // its line has the hash of the address
	}
	again, err := reparse(d)
	if err != nil {
		return // its line has other names, so that arguments are too long or not unique
	}
	typ2, err := again.NewType(1000)
	if err != nil {
		t.Fatal(err)
	}
	if again.Show() != d.Show() || string(typ2.Format()) != string(format) {
		t.Errorf("%s is %s", d.Show(), again.Show())
	}
}

func reparse(d *probe.Definition) (again *probe.Definition, err error) {
	for _, parse := range parsers {
		if again, err = parse(d.Show(), kernel{}); err == nil {
			return again, nil
		}
	}
	return nil, err
}

// hostile is a source that has something everywhere: memory that ends anywhere and
// begins anew, registers that point into it.
type hostile struct {
	memory []byte
	at     uint64
}

func (h *hostile) next() uint64 {
	h.at = h.at*6364136223846793005 + 1442695040888963407
	return h.at >> 13
}

func (h *hostile) Reg(int) uint64         { return h.next() }
func (h *hostile) StackPointer() uint64   { return h.next() }
func (h *hostile) Stack(int) uint64       { return h.next() }
func (h *hostile) Arg(int) uint64         { return h.next() }
func (h *hostile) RetVal() uint64         { return h.next() }
func (h *hostile) Comm() string           { return string(h.memory[:len(h.memory)/3]) }
func (h *hostile) FileAddr(uint64) uint64 { return h.next() }
func (h *hostile) Record() []byte         { return h.memory[len(h.memory)/2:] }

func (h *hostile) Kernel(dst []byte, addr uint64) int {
	if len(h.memory) == 0 {
		return 0
	}
	n := copy(dst, h.memory[addr%uint64(len(h.memory)):])
	if addr&64 != 0 {
		for n < len(dst) {
			n += copy(dst[n:], h.memory)
		}
	}
	return n
}

func (h *hostile) User(dst []byte, addr uint64) int { return h.Kernel(dst, addr^64) }

func (h *hostile) AppendSymbol(dst []byte, addr uint64) []byte {
	return fmt.Appendf(dst, "%s+%#x", h.memory[:min(len(h.memory), int(addr%600))], addr)
}

// FuzzFetch: whatever memory holds, a hit becomes a record: of bounded length, its
// strings inside of it.
func FuzzFetch(f *testing.F) {
	for i, d := range definitions {
		f.Add(d, []byte("memory\x00of the kernel\x00"+strings.Repeat("x", 37*i)), uint64(i))
	}
	f.Fuzz(func(t *testing.T, text string, memory []byte, seed uint64) {
		if len(text) > 512 {
			return
		}
		for _, parse := range parsers {
			if d, err := parse(text, kernel{}); err == nil {
				checkHit(t, d, &hostile{memory: memory, at: seed})
			}
		}
	})
}

func checkHit(t *testing.T, d *probe.Definition, src probe.Source) {
	t.Helper()
	typ, err := d.NewType(1000)
	if err != nil {
		t.Fatal(err)
	}
	entry := d.AppendEntry(nil, src)
	const before = "before"
	all := d.Append([]byte(before), event.Common{Type: 1000}, probe.Hit{IP: 1, RetIP: 2, Entry: entry}, src)
	data, ok := bytes.CutPrefix(all, []byte(before))
	if !ok || len(data) > 1<<16 {
		t.Fatalf("%s: record of %d bytes", d.Show(), len(data))
	}
	for i := range typ.Fields {
		f := &typ.Fields[i]
		if f.Offset+f.Size > len(data) {
			t.Errorf("%s: field %s ends at %d of %d", d.Show(), f.Name, f.Offset+f.Size, len(data))
		}
		for at := f.Offset; f.Dynamic() && at < f.Offset+f.Size; at += 4 {
			w := uint64(data[at]) | uint64(data[at+1])<<8 | uint64(data[at+2])<<16 | uint64(data[at+3])<<24
			if int(w>>16) > 0 && int(w&0xffff)+int(w>>16) > len(data) {
				t.Errorf("%s: field %s at %d is %d…%d of %d", d.Show(), f.Name, at, w&0xffff, w&0xffff+w>>16, len(data))
			}
		}
	}
	_ = typ.AppendText(nil, data, nil)
}
