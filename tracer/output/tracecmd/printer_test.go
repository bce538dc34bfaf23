package tracecmd

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// list is a source of entries.
type list struct{ entries []Entry }

func (l *list) Next(e *Entry) error {
	if len(l.entries) == 0 {
		return io.EOF
	}
	*e, l.entries = l.entries[0], l.entries[1:]
	return nil
}

func graphEntry(cpu int, time uint64, pid int32, fn uint64) Entry {
	data := events.FuncgraphEntry.Append(nil, event.Common{Type: 11, PID: pid}, &events.FuncgraphEntryRecord{Func: fn, Depth: 1})
	return Entry{CPU: cpu, Time: time, Type: events.FuncgraphEntry.Type, Data: data}
}

func graphExit(cpu int, time uint64, pid int32, fn, duration uint64) Entry {
	data := events.FuncgraphExit.Append(nil, event.Common{Type: 10, PID: pid},
		&events.FuncgraphExitRecord{Func: fn, Depth: 1, Calltime: time - duration, Rettime: time})
	return Entry{CPU: cpu, Time: time, Type: events.FuncgraphExit.Type, Data: data}
}

// The return of the idle task on another CPU is not that of this one; gaps are told
// before the next entry of their CPU; instances are named.
func TestPrint(t *testing.T) {
	p := New(Config{Kallsyms: []byte("ffffffff81000000 T first\nffffffff81000010 T second\nffffffff81000020 T last\n"), Cmdlines: []byte("7 task\n"), LongSize: 8})
	var out strings.Builder
	err := p.Print(t.Context(), &out, []Buffer{
		{CPUs: 2, Source: &list{[]Entry{
			graphEntry(0, 1000, 0, 0xffffffff81000000),
			{Gap: true, CPU: 1, Lost: 3},
			graphExit(1, 2500, 0, 0xffffffff81000000, 1500),
			graphEntry(0, 3000, 7, 0xffffffff81000012),
			graphExit(0, 15000, 7, 0xffffffff81000012, 12000),
			{Gap: true, CPU: 1, Lost: -1},
			graphEntry(1, 20_000, 9, 0x10),
		}}},
		{Name: "inst", CPUs: 2, Source: &list{[]Entry{graphExit(0, 2000, 7, 0x10, 1_234_567_890)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `cpus=2
                <idle>-0     [000]     0.000001: funcgraph_entry:                   |    first() {
inst:             task-7     [000]     0.000002: funcgraph_exit:       $ 1234567 us |    }
      CPU:1 [3 EVENTS DROPPED]
          <idle>-0     [001]     0.000003: funcgraph_exit:         1.500 us   |    }
                  task-7     [000]     0.000003: funcgraph_entry:      + 12.000 us  |    second();
      CPU:1 [EVENTS DROPPED]
           <...>-9     [001]     0.000020: funcgraph_entry:                   |    10() {
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Records, symbols and names of any content print something, and nothing panics.
func FuzzPrint(f *testing.F) {
	for _, t := range events.All() {
		f.Add(uint16(t.ID), bytes.Repeat([]byte{0x81, 0xff}, 40), []byte("81ff81ff T sym\n"), []byte("33185 name\n"))
		f.Add(uint16(t.ID), make([]byte, 8), []byte("x"), []byte("1 a\n1 b\n"))
	}
	table, err := event.NewTable(events.All()...)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, id uint16, data, kallsyms, cmdlines []byte) {
		typ := table.ByID(int(id))
		if typ == nil || len(data) < event.CommonSize {
			return
		}
		p := New(Config{Kallsyms: kallsyms, Printk: cmdlines, Cmdlines: cmdlines, LongSize: 8})
		var out bytes.Buffer
		entries := []Entry{{Type: typ, Data: data}, {CPU: 1, Time: 5, Type: typ, Data: data}}
		if err := p.Print(t.Context(), &out, []Buffer{{CPUs: 2, Source: &list{entries}}}); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(out.Bytes(), []byte("cpus=2\n")) {
			t.Errorf("%q", out.Bytes())
		}
	})
}

// What libtraceevent 1.7.1 makes of a character, which a probe's argument may be: %c is
// unknown to it, and its argument goes to the next conversion.
func TestCharacter(t *testing.T) {
	typ, err := event.NewType(1500, "kprobes", "p_ch", `"(%lx) c='%c' n=%u m=%d", REC->__probe_ip, REC->c, REC->n, REC->m`, []event.Field{
		{Name: "__probe_ip", Decl: "unsigned long __probe_ip", Offset: 8, Size: 8},
		{Name: "c", Decl: "u8 c", Offset: 16, Size: 1},
		{Name: "n", Decl: "u32 n", Offset: 17, Size: 4},
		{Name: "m", Decl: "s8 m", Offset: 21, Size: 1, Signed: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	data := append(make([]byte, 8), "\x44\x73\x45\x81\xff\xff\xff\xffB\x11\x00\x00\x00\x12\x00\x00"...)
	p := New(Config{LongSize: 8})
	var out strings.Builder
	if err := p.Print(t.Context(), &out, []Buffer{{CPUs: 1, Source: &list{[]Entry{{Type: typ, Data: data}}}}}); err != nil {
		t.Fatal(err)
	}
	if want := "p_ch:                 (ffffffff81457344) c='>c<' n=66 m=17\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("%s, want %s", out.String(), want)
	}
}
