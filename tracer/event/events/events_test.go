package events_test

import (
	"compress/gzip"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// debianFormats are the format files of Debian's 6.12 by "system/name".
func debianFormats(tb testing.TB) map[string]string {
	tb.Helper()
	f, err := os.Open("../testdata/formats.txt.gz")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	formats := make(map[string]string)
	for part := range strings.SplitSeq("\n"+string(all), "\n==== events/") {
		if name, text, ok := strings.Cut(part, "\n"); ok {
			formats[name] = strings.TrimSuffix(text, "\n") + "\n"
		}
	}
	return formats
}

// notIn612 are the events that a plain 6.12 has not.
var notIn612 = []string{"ftrace/stack_id", "ftrace/user_unwind_cookie", "ftrace/user_unwind_stack"}

// The declarations give Debian's format files, byte for byte, and every event
// of the systems they cover.
func TestFormatsAreDebians(t *testing.T) {
	formats := debianFormats(t)
	systems := make(map[string]bool)
	for _, typ := range events.All() {
		systems[typ.System] = true
		if slices.Contains(notIn612, typ.String()) {
			continue
		}
		want, ok := formats[typ.String()]
		if !ok {
			t.Errorf("%s is no event of Debian's", typ)
			continue
		}
		delete(formats, typ.String())
		if diff := cmp.Diff(want, string(typ.Format())); diff != "" {
			t.Errorf("%s:\n%s", typ, diff)
		}
	}
	for name := range formats {
		if system, _, _ := strings.Cut(name, "/"); systems[system] {
			t.Errorf("%s is missing", name)
		}
	}
	if len(systems) != 12 {
		t.Errorf("%d systems: %v", len(systems), systems)
	}
}

func TestStackIDFormat(t *testing.T) {
	const want = `name: stack_id
ID: 20
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:int stack_id;	offset:8;	size:4;	signed:1;

print fmt: "<stack_id %d>", REC->stack_id
`
	if diff := cmp.Diff(want, string(events.StackID.Format())); diff != "" {
		t.Error(diff)
	}
}

func TestAllIsATableInOrder(t *testing.T) {
	all := events.All()
	if _, err := event.NewTable(all...); err != nil {
		t.Error(err)
	}
	if !slices.IsSortedFunc(all, func(a, b *event.Type) int { return a.ID - b.ID }) {
		t.Error("not in the order of ids")
	}
	for _, typ := range all {
		if err := typ.PrintErr(); err != nil {
			t.Error(err)
		}
	}
}

// The sizes of the kernel's structs, which a format file does not always show.
func TestSizes(t *testing.T) {
	for _, tt := range []struct {
		typ  *event.Type
		want int
	}{
		{events.Function.Type, 24},
		{events.FuncgraphEntry.Type, 20},
		{events.FuncgraphExit.Type, 56},
		{events.FuncgraphExitRetval.Type, 64},
		{events.KernelStack.Type, 16},
		{events.UserStack.Type, 80},
		{events.Print.Type, 16},
		{events.Bprint.Type, 24},
		{events.RawData.Type, 12},
		{events.Hwlat.Type, 64},
		{events.StackID.Type, 12},
		{events.SchedSwitch.Type, 64},
		{events.KmemCacheAlloc.Type, 56},
		{events.SysEnter.Type, 64},
		{events.UserUnwindCookie.Type, 16},
	} {
		if tt.typ.Size != tt.want {
			t.Errorf("%s: %d bytes, want %d", tt.typ, tt.typ.Size, tt.want)
		}
	}
}

func TestKernelStackRecord(t *testing.T) {
	stack := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	rec := events.KernelStack.Append(nil, event.Common{}, &events.KernelStackRecord{Size: 10, Caller: stack})
	if len(rec) != 16+8*10 {
		t.Errorf("%d bytes", len(rec))
	}
	var got events.KernelStackRecord
	if err := events.KernelStack.Decode(rec, &got); err != nil || !slices.Equal(got.Caller, stack) || got.Size != 10 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestPrintRecord(t *testing.T) {
	rec := events.Print.Append(nil, event.Common{}, &events.PrintRecord{IP: 0x10, Buf: "hi\n"})
	if want := "hi\n\x00"; string(rec[16:]) != want {
		t.Errorf("%q, want %q", rec[16:], want)
	}
	if got, want := string(events.Print.AppendText(nil, rec, nil)), "0x10: hi\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestUserUnwindStackText(t *testing.T) {
	rec := events.UserUnwindStack.Append(nil, event.Common{}, &events.UserUnwindStackRecord{
		Cookie: 5, Stack: []uint64{0x10, 0x20}, Inodes: []uint64{7, 8}, Dev: []uint32{1, 2},
	})
	const want = "cookie=5\n{0x10,0x20}{0x7,0x8}{0x1,0x2}"
	if got := string(events.UserUnwindStack.AppendText(nil, rec, nil)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAppendSyscall(t *testing.T) {
	table, err := event.NewTable(events.All()...)
	if err != nil {
		t.Fatal(err)
	}
	openat := table.ByName("syscalls", "sys_enter_openat")
	rec := events.AppendSyscall(nil, event.Common{PID: 9}, openat, 257, []uint64{0xffffff9c, 0x7ffe1234, 0, 0o644, 99, 99})
	if len(rec) != openat.Size || event.ParseCommon(rec).Type != 749 || openat.Field("__syscall_nr").Int(rec) != 257 {
		t.Errorf("record % x", rec)
	}
	const want = "dfd: 0xffffff9c, filename: 0x7ffe1234, flags: 0x00000000, mode: 0x000001a4"
	if got := string(openat.AppendText(nil, rec, nil)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	getpid := table.ByName("syscalls", "sys_enter_getpid")
	if rec := events.AppendSyscall(nil, event.Common{}, getpid, 39, []uint64{1}); len(rec) != 16 {
		t.Errorf("getpid: %d bytes", len(rec))
	}
}

// Recorders write into reserved bytes and must not allocate.
func TestAppendDoesNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 4096)
	c := event.Common{PID: 1}
	stack := make([]uint64, 30)
	sw := events.SchedSwitchRecord{PrevPID: 1, NextPID: 2}
	free := events.KmemCacheFreeRecord{Name: "task_struct"}
	unwind := events.UserUnwindStackRecord{Stack: stack, Inodes: stack, Dev: make([]uint32, 30)}
	for name, write := range map[string]func(){
		"sched_switch": func() { buf = events.SchedSwitch.Append(buf[:0], c, &sw) },
		"fresh record": func() { buf = events.Function.Append(buf[:0], c, &events.FunctionRecord{IP: 1, ParentIP: 2}) },
		"dynamic text": func() { buf = events.KmemCacheFree.Append(buf[:0], c, &free) },
		"kernel_stack": func() {
			buf = events.KernelStack.Append(buf[:0], c, &events.KernelStackRecord{Size: 30, Caller: stack})
		},
		"user_stack": func() { buf = events.UserStack.Append(buf[:0], c, &events.UserStackRecord{TGID: 1}) },
		"arrays":     func() { buf = events.UserUnwindStack.Append(buf[:0], c, &unwind) },
	} {
		if n := testing.AllocsPerRun(100, write); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	buf := make([]byte, 0, 4096)
	b.Run("sched_switch", func(b *testing.B) {
		v := events.SchedSwitchRecord{PrevPID: 1, NextPID: 2}
		b.ReportAllocs()
		for b.Loop() {
			buf = events.SchedSwitch.Append(buf[:0], event.Common{PID: 1}, &v)
		}
	})
	b.Run("function", func(b *testing.B) {
		v := events.FunctionRecord{IP: 1, ParentIP: 2}
		b.ReportAllocs()
		for b.Loop() {
			buf = events.Function.Append(buf[:0], event.Common{PID: 1}, &v)
		}
	})
	b.Run("kernel_stack_32", func(b *testing.B) {
		v := events.KernelStackRecord{Size: 32, Caller: make([]uint64, 32)}
		b.ReportAllocs()
		for b.Loop() {
			buf = events.KernelStack.Append(buf[:0], event.Common{PID: 1}, &v)
		}
	})
}
