package tracer

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
	"testing"

	"ftracelab/ringbuf"
	"ftracelab/tracefsfs"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/event/hist"
)

func TestSyntheticEvents(t *testing.T) {
	l := newDynLab(t)
	l.must("synthetic_events", "lat u64 lat pid_t pid\n  # none\nstr char name[]; long[] st;\n")
	l.must("dynamic_events", "x:g/a\ns:synthetic/sched_switch u64 a; u64 a\n")
	l.want("synthetic_events", "lat\tu64 lat; pid_t pid\nstr\tchar[] name; long[] st\nsched_switch\tu64 a; u64 a\n")
	l.want("dynamic_events", "s:synthetic/lat\tu64 lat; pid_t pid\ns:synthetic/str\tchar[] name; long[] st\n"+
		"x:g/a\ns:synthetic/sched_switch\tu64 a; u64 a\n")
	l.fails("synthetic_events", "lat u64 lat", syscall.EEXIST)
	l.fails("synthetic_events", "s:lat u64", syscall.EINVAL)
	l.fails("synthetic_events", "!none", syscall.ENOENT)
	l.fails("dynamic_events", "-:x/lat", syscall.ENOENT)

	l.must("events/synthetic/lat/enable", "1")
	l.fails("synthetic_events", "!lat", syscall.EBUSY)
	l.must("events/synthetic/lat/enable", "0")
	e := l.ft.dyn.FindSynth("str")
	e.Hold(1)
	l.fails("synthetic_events", "!str", syscall.EBUSY)
	l.fails("dynamic_events", "-:str", syscall.EBUSY)
	if err := tracefsfs.WriteFile(l.fs, "synthetic_events", ""); !errors.Is(err, syscall.EBUSY) {
		t.Error(err)
	}
	e.Hold(-1)
	l.must("synthetic_events", "!str char name[]; whatever\n")
	l.must("dynamic_events", "!s:sched_switch u64 a\n")
	l.want("synthetic_events", "lat\tu64 lat; pid_t pid\n")
	if err := tracefsfs.WriteFile(l.fs, "synthetic_events", "new u8 a"); err != nil {
		t.Error(err)
	}
	l.want("dynamic_events", "x:g/a\ns:synthetic/new\tu8 a\n")
}

// Deleting by synthetic_events leaves what was recorded, by dynamic_events not.
func TestSyntheticEventsReset(t *testing.T) {
	for _, c := range []struct {
		file, command string
		kept          bool
	}{{"synthetic_events", "!lat", true}, {"dynamic_events", "-:lat", false}} {
		l := newDynLab(t)
		l.must("synthetic_events", "lat u64 lat")
		l.must("events/synthetic/lat/enable", "1")
		l.must("trace_marker", "mark\n")
		l.must("events/synthetic/lat/enable", "0")
		l.must(c.file, c.command)
		if kept := strings.Contains(l.read("trace"), "mark"); kept != c.kept {
			t.Errorf("%s %s: kept %t", c.file, c.command, kept)
		}
	}
}

// A synthetic event happens in each instance that has it enabled, and each has its
// own filter and triggers.
func TestSyntheticEventGenerate(t *testing.T) {
	l := newDynLab(t)
	if err := errors.Join(l.ft.mkdir("foo"), l.ft.mkdir("off")); err != nil {
		t.Fatal(err)
	}
	l.must("synthetic_events", "e u64 lat; char who[]; unsigned long[] st")
	e := l.ft.dyn.FindSynth("e")
	values := []hist.Value{{B: []byte("bash")}, {N: 7}, {B: []byte{0x34, 0x12, 0, 0, 0, 0, 0, 0}}}
	generate := func(lat uint64) {
		values[1].N = lat
		e.Generate(&hist.Moment{}, values, []int{1, 0, 2})
	}
	generate(1) // nobody listens
	l.must("events/synthetic/e/enable", "1")
	l.must("instances/foo/events/synthetic/enable", "1")
	l.must("instances/foo/events/synthetic/e/filter", "lat > 5 && who == \"bash\"")
	l.must("instances/off/events/synthetic/e/trigger", "traceoff if lat == 9")
	for lat := range uint64(10) {
		generate(lat)
	}
	text := l.read("trace")
	if n := strings.Count(text, ": e: lat="); n != 10 {
		t.Errorf("%d events in\n%s", n, text)
	}
	if want := "lat=9 who=bash st=STACK:\n=> 0x1234\n\n"; !strings.HasSuffix(text, want) {
		t.Errorf("no %q at the end of\n%s", want, text)
	}
	if text := l.read("instances/foo/trace"); strings.Count(text, ": e: lat=") != 4 {
		t.Errorf("foo:\n%s", text)
	}
	if text := l.read("instances/off/trace"); strings.Contains(text, ": e: ") {
		t.Errorf("off:\n%s", text)
	}
	l.want("instances/off/tracing_on", "0\n")
	l.want("tracing_on", "1\n")
}

// A synthetic event stands behind the event that triggers it, or behind what is left
// of that if it is dropped: padding with a time of its own, as in oracle capture
// full/dynamic_hist_misc/synthetic. But an event that may be dropped is kept out of
// the buffer, if no trigger wants its stamp.
func TestSyntheticEventOrder(t *testing.T) {
	const padding, record = 29, 16 / 4 // type_len
	for _, c := range []struct {
		unbuffered, soft bool
		first            byte
		at               int // the synthetic event's field
	}{
		{true, false, record, 16 + (4 + 16) + (4 + 8)},
		{true, true, padding, 16 + (4 + 16) + (4 + 8)},
		{false, false, record, 16 + (4 + 16) + (4 + 8)},
		{false, true, record, 16 + (4 + 8)},
	} {
		l := newDynLab(t)
		l.must("synthetic_events", "e u64 lat")
		l.must("events/synthetic/e/enable", "1")
		tr, cpu, typ := l.ft.top, l.ft.machine.CPUs()[0], events.SchedWakeup.Type
		if c.unbuffered {
			tr.keepUnbuffered(true)
		}
		if c.soft {
			tr.softEnableEvent(typ, true)
		}
		h := event.Common{Type: uint16(typ.ID), PID: 1}
		rec := make([]byte, 16)
		h.Put(rec)
		e := &happening{cpu: cpu, ctx: ringbuf.Normal, t: typ, h: h, data: rec}
		room := tr.reserve(e)
		const lat = 0x1122334455667788
		l.ft.dyn.FindSynth("e").Generate(&hist.Moment{}, []hist.Value{{N: lat}}, []int{0})
		tr.fill(&room, !c.soft, e)

		page := make([]byte, 4096)
		if !tr.buf.ReadPage(0, page, false) {
			t.Fatal("nothing is in the buffer")
		}
		if got := page[16] & 31; got != c.first {
			t.Errorf("%+v: the first record has type_len %d", c, got)
		}
		if at := bytes.Index(page, []byte{0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11}); at != c.at {
			t.Errorf("%+v: the synthetic event is at %d", c, at)
		}
	}
}

// A number that goes to a text is an address, here one that cannot be read.
func TestSyntheticEventFault(t *testing.T) {
	l := newDynLab(t)
	l.must("synthetic_events", "e char any[]; char fixed[16]; u64 number")
	l.must("events/synthetic/e/enable", "1")
	l.ft.dyn.FindSynth("e").Generate(&hist.Moment{}, []hist.Value{{N: 48}}, []int{0, 0, 0})
	if text, want := l.read("trace"), "e: any= fixed=(fault) number=48\n"; !strings.HasSuffix(text, want) {
		t.Errorf("no %q at the end of\n%s", want, text)
	}
}

func TestSyntheticEventDoesNotAllocate(t *testing.T) {
	l := newDynLab(t)
	l.must("synthetic_events", "e u64 lat; char who[]; unsigned long[] st")
	l.must("events/synthetic/e/enable", "1")
	e := l.ft.dyn.FindSynth("e")
	m, field := new(hist.Moment), []int{1, 0, 2}
	values := []hist.Value{{B: []byte("bash")}, {N: 7}, {B: make([]byte, 64)}}
	if n := testing.AllocsPerRun(1000, func() { e.Generate(m, values, field) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A stack of either type can be the key of a histogram.
func TestSyntheticEventStackKey(t *testing.T) {
	l := newDynLab(t)
	l.must("synthetic_events", "a unsigned long[] st\nb long[] st\nc long st\n")
	l.must("events/synthetic/a/trigger", "hist:keys=st.stacktrace")
	l.must("events/synthetic/b/trigger", "hist:keys=st.stacktrace")
	l.fails("events/synthetic/c/trigger", "hist:keys=st.stacktrace", syscall.EINVAL)
}
