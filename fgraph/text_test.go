package fgraph

import (
	"strconv"
	"strings"
	"testing"

	"ftracelab/tracer/event"
)

func textConfig(o Options) TextConfig {
	return TextConfig{
		Options: o, PossibleCPUs: 2, IRQStart: 0x9000, IRQEnd: 0x9100,
		Symbol: func(dst []byte, addr uint64) []byte {
			return strconv.AppendUint(append(dst, "f_"...), addr, 16)
		},
		Comm:  func(pid int32) string { return "task-" + strconv.Itoa(int(pid)) },
		Flags: func(dst []byte, _ event.Common) []byte { return append(dst, "....."...) },
	}
}

// TestText prints what is rare in captures: a switch, an interrupt, a return
// whose call was lost, a comment.
func TestText(t *testing.T) {
	x := NewText(textConfig(DefaultOptions))
	at := func(pid int32) Line { return Line{CPU: 1, Common: event.Common{PID: pid}} }
	var got []byte
	got, leaf := x.Call(got, at(5), CallRecord{Func: 0x1, Depth: 0}, nil, 0)
	if leaf {
		t.Error("a leaf without a return")
	}
	ret := RetRecord{Func: 0x9010, Depth: 1, Calltime: 1000, Rettime: 1001234}
	got, leaf = x.Call(got, at(5), CallRecord{Func: 0x9010, Depth: 1}, &ret, 5)
	if !leaf {
		t.Error("a call followed by its return is a leaf")
	}
	got = x.EndComment(append(x.BeginComment(got, at(5)), "event\n"...))
	got, leaf = x.Call(got, at(6), CallRecord{Func: 0x2, Depth: 3}, &RetRecord{Func: 0x2}, 7)
	if leaf {
		t.Error("a leaf that returns in another task")
	}
	got = x.Return(got, at(6), RetRecord{Func: 0x3, Depth: 2, Rettime: 12345678901})
	got = x.Return(got, at(6), RetRecord{Func: 0x3, Depth: 1, Rettime: 123456})
	want := ` 1)               |  f_1() {
 1)   ==========> |
 1) # 1000.234 us |    f_9010();
 1)   <========== |
 1)               |  /* event */
 ------------------------------------------
 1)    task-5-5    =>    task-6-6   
 ------------------------------------------

 1)               |        f_2() {
 1) $ 12345678 us |      } /* f_3 */
 1) ! 123.456 us  |    } /* f_3 */
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestHiddenIRQs leaves out interrupt code, also when its first return is lost.
func TestHiddenIRQs(t *testing.T) {
	x := NewText(textConfig(DefaultOptions &^ IRQs))
	l := Line{Common: event.Common{PID: 1}}
	var got []byte
	got, _ = x.Call(got, l, CallRecord{Func: 0x9010, Depth: 2}, nil, 0)
	got, _ = x.Call(got, l, CallRecord{Func: 0x1, Depth: 3}, nil, 0)
	got = x.Return(got, l, RetRecord{Func: 0x1, Depth: 3})
	got = x.Return(got, l, RetRecord{Func: 0x5, Depth: 1}) // not the interrupt's own
	if len(got) != 0 {
		t.Errorf("hidden code printed %q", got)
	}
	if got, _ = x.Call(got, l, CallRecord{Func: 0x1}, nil, 0); len(got) == 0 {
		t.Error("still hidden")
	}
}

func TestAppendDuration(t *testing.T) {
	for _, c := range []struct {
		ns   uint64
		want string
	}{
		{0, "0.000 us    "},
		{999, "0.999 us    "},
		{12345, "12.345 us   "},
		{1234567, "1234.567 us "},
		{12345678, "12345.67 us "},
		{123456789, "123456.7 us "},
		{1234567890, "1234567 us  "},
		{12345678901, "12345678 us "},
		{123456789012, "123456789 us "},
	} {
		if got := string(AppendDuration(nil, c.ns)); got != c.want {
			t.Errorf("%d: %q, want %q", c.ns, got, c.want)
		}
	}
}

func TestRetval(t *testing.T) {
	for _, c := range []struct {
		v    uint64
		o    Options
		want string
	}{
		{0, Retval, "0x0"},
		{0xffff_fffe, Retval, "-2"},
		{^uint64(0) - 10, Retval, "-11"},
		{0xffff_0000, Retval, "0xffff0000"},
		{0xffff_fffe, Retval | RetvalHex, "0xfffffffe"},
	} {
		x := NewText(textConfig(c.o))
		got := string(x.Return(nil, Line{}, RetRecord{Func: 1, Retval: c.v}))
		if want := "} /* f_1 = " + c.want + " */\n"; got != want {
			t.Errorf("%#x: %q, want %q", c.v, got, want)
		}
	}
}

func TestHeader(t *testing.T) {
	cfg := textConfig(DefaultOptions | AbsTime | Proc)
	cfg.Latency = true
	got := string(NewText(cfg).AppendHeader(nil))
	want := "#     TIME        CPU  TASK/PID       ||||     DURATION                  FUNCTION CALLS\n" +
		"#      |          |     |    |        ||||      |   |                     |   |   |   |\n"
	if !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant it to end in\n%s", got, want)
	}
}

// FuzzText prints arbitrary records: it may not panic, nor take more for a
// record than a line of the kernel's buffer and its banner.
func FuzzText(f *testing.F) {
	f.Add(uint32(DefaultOptions), 0, int32(1), uint64(0x9010), int32(3), uint64(100), []byte{0, 1, 2})
	f.Add(uint32(1<<11-1), 1<<40, int32(-1), uint64(0), int32(-2147483648), ^uint64(0), []byte{1, 0, 1})
	f.Fuzz(func(t *testing.T, o uint32, cpu int, pid int32, fn uint64, depth int32, time uint64, steps []byte) {
		x := NewText(textConfig(Options(o)))
		for i, step := range steps {
			l := Line{CPU: cpu, Time: time, Common: event.Common{PID: pid + int32(i&1)}}
			r := RetRecord{Func: fn, Depth: depth, Rettime: time, Retval: fn}
			var got []byte
			switch step % 4 {
			case 0:
				got, _ = x.Call(got, l, CallRecord{Func: fn, Depth: depth}, nil, 0)
			case 1:
				got, _ = x.Call(got, l, CallRecord{Func: fn, Depth: depth}, &r, pid)
			case 2:
				got = x.Return(got, l, r)
			case 3:
				got = x.EndComment(x.BeginComment(got, l))
			}
			if len(got) > 3*maxIndent {
				t.Fatalf("%d bytes for one record", len(got))
			}
		}
	})
}
