package events_test

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ftracelab/internal/testutil"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// debianFormats are the format files of Debian's 6.12 in the order of its folders.
func debianFormats(tb testing.TB) []event.FormatFile {
	tb.Helper()
	return splitFormats(tb, testutil.Gunzip(tb, "../testdata/formats.txt.gz"))
}

// fullFormats are those of the oracle's kernel with everything switched on.
func fullFormats(tb testing.TB) []event.FormatFile {
	tb.Helper()
	return splitFormats(tb, testutil.Gunzip(tb, filepath.Join(testutil.Oracle(tb), "full/static/formats_all.txt.gz")))
}

func splitFormats(tb testing.TB, all []byte) []event.FormatFile {
	tb.Helper()
	files, err := event.SplitFormats(all)
	if err != nil {
		tb.Fatal(err)
	}
	return files
}

// notDebians are the events that Debian's 6.12 has not.
var notDebians = append([]string{
	"preemptirq/preempt_enable", "preemptirq/preempt_disable", "preemptirq/irq_enable", "preemptirq/irq_disable",
	"osnoise/sample_threshold", "osnoise/nmi_noise", "osnoise/irq_noise", "osnoise/softirq_noise", "osnoise/thread_noise",
	"ext2/ext2_dio_read_begin", "ext2/ext2_dio_read_end", "ext2/ext2_dio_write_begin", "ext2/ext2_dio_write_buff_end",
	"ext2/ext2_dio_write_end", "ext2/ext2_dio_write_endio", "rv/error_wwnr", "rv/event_wwnr",
}, notIn612...)

// notIn612 are the events that no plain 6.12 has.
var notIn612 = []string{"ftrace/fn_ret", "ftrace/stack_id", "ftrace/user_unwind_cookie", "ftrace/user_unwind_stack", "inode_cache/inode_cache"}

// A kernel without patches has Debian's format files, all of them, byte for byte.
func TestFormatsAreDebians(t *testing.T) {
	types := events.Kernel{}.Events()
	table, err := event.NewTable(types...)
	if err != nil {
		t.Fatal(err)
	}
	files := debianFormats(t)
	for _, f := range files {
		typ := table.ByName(f.System, f.Name)
		if typ == nil {
			t.Errorf("%s/%s is missing", f.System, f.Name)
			continue
		}
		want := bytes.TrimRight(f.Text, "\n")
		if diff := cmp.Diff(string(want), string(bytes.TrimRight(typ.Format(), "\n"))); diff != "" {
			t.Errorf("%s:\n%s", typ, diff)
		}
	}
	if len(types) != len(files) {
		t.Errorf("%d events, Debian has %d", len(types), len(files))
	}
}

// With the patches the same events are there, and notDebians. initcall_finish has
// given its id to stack_id and no other has changed; the list has them in the order
// of a patched kernel.
func TestPatchedKernel(t *testing.T) {
	plain, err := event.NewTable(events.Kernel{}.Events()...)
	if err != nil {
		t.Fatal(err)
	}
	all := events.All()
	var more []string
	for _, typ := range all {
		if typ.System == "ext4" || typ.System == "jbd2" {
			continue // of modules, and not of the patches
		}
		switch old := plain.ByName(typ.System, typ.Name); {
		case old == nil:
			more = append(more, typ.String())
		case old.ID != typ.ID && typ.String() != "initcall/initcall_finish":
			t.Errorf("%s has id %d, and %d without the patches", typ, typ.ID, old.ID)
		}
	}
	slices.Sort(more)
	if want := slices.Sorted(slices.Values(notDebians)); !slices.Equal(more, want) {
		t.Errorf("with the patches come %q, want %q", more, want)
	}
	at := slices.IndexFunc(all, func(typ *eventType) bool { return typ == events.StackID.Type })
	var next []string
	for _, typ := range all[at : at+4] {
		next = append(next, typ.Name)
	}
	if want := []string{"stack_id", "initcall_finish", "initcall_start", "initcall_level"}; !slices.Equal(next, want) {
		t.Errorf("the list goes on with %q, want %q", next, want)
	}
}

// Events of a kernel with everything switched on have that kernel's format files,
// but for their ids.
func TestFormatsOfAllTracers(t *testing.T) {
	files := fullFormats(t)
	id := regexp.MustCompile(`(?m)^ID: \d+$`)
	for _, path := range notDebians {
		system, name, _ := strings.Cut(path, "/")
		if system == "ftrace" || system == "inode_cache" {
			continue
		}
		in := slices.IndexFunc(files, func(f event.FormatFile) bool { return f.System == system && f.Name == name })
		at := slices.IndexFunc(events.All(), func(typ *eventType) bool { return typ.System == system && typ.Name == name })
		if in < 0 || at < 0 {
			t.Errorf("%s: in the oracle %v, in the catalogue %v", path, in >= 0, at >= 0)
			continue
		}
		want := strings.TrimSpace(string(files[in].Text))
		got := strings.TrimSpace(string(events.All()[at].Format()))
		if diff := cmp.Diff(id.ReplaceAllString(want, "ID"), id.ReplaceAllString(got, "ID")); diff != "" {
			t.Errorf("%s:\n%s", path, diff)
		}
	}
}

type eventType = event.Type

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
	if first := all[0]; first.String() != "jbd2/jbd2_write_superblock" {
		t.Errorf("%s comes first", first)
	}
	declared := events.Declared()
	if !slices.IsSortedFunc(declared, func(a, b *event.Type) int { return a.ID - b.ID }) {
		t.Error("not in the order of ids")
	}
	for _, typ := range events.Declared() {
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
	data := events.KernelStack.Append(nil, event.Common{}, &events.KernelStackRecord{Size: 10, Caller: stack})
	if len(data) != 16+8*10 {
		t.Errorf("%d bytes", len(data))
	}
	var got events.KernelStackRecord
	if err := events.KernelStack.Decode(data, &got); err != nil || !slices.Equal(got.Caller, stack) || got.Size != 10 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestPrintRecord(t *testing.T) {
	data := events.Print.Append(nil, event.Common{}, &events.PrintRecord{IP: 0x10, Buf: "hi\n"})
	if want := "hi\n\x00"; string(data[16:]) != want {
		t.Errorf("%q, want %q", data[16:], want)
	}
	if got, want := string(events.Print.AppendText(nil, data, nil)), "0x10: hi\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestUserUnwindStackText(t *testing.T) {
	data := events.UserUnwindStack.Append(nil, event.Common{}, &events.UserUnwindStackRecord{
		Cookie: 5, Stack: []uint64{0x10, 0x20}, Inodes: []uint64{7, 8}, Dev: []uint32{1, 2},
	})
	const want = "cookie=5 stack={0x10,0x20} inodes={0x7,0x8} dev={0x1,0x2}"
	if got := string(events.UserUnwindStack.AppendText(nil, data, nil)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAppendSyscall(t *testing.T) {
	table, err := event.NewTable(events.All()...)
	if err != nil {
		t.Fatal(err)
	}
	openat := table.ByName("syscalls", "sys_enter_openat")
	data := events.AppendSyscall(nil, event.Common{PID: 9}, openat, 257, []uint64{0xffffff9c, 0x7ffe1234, 0, 0o644, 99, 99})
	if len(data) != openat.Size || event.ParseCommon(data).Type != 749 || openat.Field("__syscall_nr").Int(data) != 257 {
		t.Errorf("record % x", data)
	}
	const want = "dfd: 0xffffff9c, filename: 0x7ffe1234, flags: 0x00000000, mode: 0x000001a4"
	if got := string(openat.AppendText(nil, data, nil)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	getpid := table.ByName("syscalls", "sys_enter_getpid")
	if data := events.AppendSyscall(nil, event.Common{}, getpid, 39, []uint64{1}); len(data) != 16 {
		t.Errorf("getpid: %d bytes", len(data))
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
