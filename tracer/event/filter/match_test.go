package filter_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
)

// mixed has a field of every kind.
func mixed(tb testing.TB) *event.Type {
	tb.Helper()
	t, err := event.NewType(700, "test", "mixed", `""`, []event.Field{
		{Name: "s8", Decl: "s8 s8", Offset: 8, Size: 1, Signed: true},
		{Name: "u8", Decl: "u8 u8", Offset: 9, Size: 1},
		{Name: "s16", Decl: "s16 s16", Offset: 10, Size: 2, Signed: true},
		{Name: "u16", Decl: "u16 u16", Offset: 12, Size: 2},
		{Name: "s32", Decl: "int s32", Offset: 16, Size: 4, Signed: true},
		{Name: "u32", Decl: "u32 u32", Offset: 20, Size: 4},
		{Name: "s64", Decl: "s64 s64", Offset: 24, Size: 8, Signed: true},
		{Name: "u64", Decl: "u64 u64", Offset: 32, Size: 8},
		{Name: "text", Decl: "char text[8]", Offset: 40, Size: 8},
		{Name: "dyn", Decl: "__data_loc char[] dyn", Offset: 48, Size: 4},
		{Name: "rel", Decl: "__rel_loc char[] rel", Offset: 52, Size: 4},
		{Name: "mask", Decl: "__data_loc cpumask_t mask", Offset: 56, Size: 4},
		{Name: "charge", Decl: "int charge[3]", Offset: 60, Size: 12, Signed: true},
		{Name: "str", Decl: "const char * str", Offset: 72, Size: 8},
		{Name: "ip", Decl: "unsigned long ip", Offset: 80, Size: 8},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// Each filter with what its field holds, whether the record is kept.
func TestMatch(t *testing.T) {
	typ := mixed(t)
	for _, c := range []struct {
		text   string
		values map[string]any
		want   bool
	}{
		// Numbers: the field's sign decides, a value is cut to its width.
		{"s8 < 0", map[string]any{"s8": 0xff}, true},
		{"u8 > 127", map[string]any{"u8": 0xff}, true},
		{"u8 == 0x1ff", map[string]any{"u8": 0xff}, true},
		{"s8 == -1", map[string]any{"s8": 0xff}, true},
		{"s8 == 255", map[string]any{"s8": 0xff}, true},
		{"s8 != 255", map[string]any{"s8": 0xff}, false},
		{"s16 <= -32768", map[string]any{"s16": 0x8000}, true},
		{"u16 >= 0177777", map[string]any{"u16": 0xffff}, true},
		{"s32 > -2147483648", map[string]any{"s32": 0x80000001}, true},
		{"u32 < 4294967295", map[string]any{"u32": 0xfffffffe}, true},
		{"s64 == -9223372036854775808", map[string]any{"s64": uint64(1 << 63)}, true},
		{"u64 == 18446744073709551615", map[string]any{"u64": ^uint64(0)}, true},
		{"u64 & 0x8000000000000000", map[string]any{"u64": uint64(1 << 63)}, true},
		{"s32 & 6", map[string]any{"s32": 9}, false},
		{"charge == 0", nil, false},
		{"charge != 0", nil, false},
		{"!(charge != 0)", nil, true},

		// Texts.
		{`text == "abc"`, map[string]any{"text": "abc"}, true},
		{`text == "abc"`, map[string]any{"text": "abcd"}, false},
		{`text == "abcdefgh"`, map[string]any{"text": "abcdefgh"}, true},
		{`text == "abcdefghi"`, map[string]any{"text": "abcdefgh"}, false},
		{`text != 'abc'`, map[string]any{"text": "abd"}, true},
		{`text ~ "ab*"`, map[string]any{"text": "abd"}, true},
		{`text ~ "*b*"`, map[string]any{"text": "abd"}, true},
		{`text ~ "*x*"`, map[string]any{"text": "abc\x00x"}, true}, // behind the NUL
		{`text ~ "*bd"`, map[string]any{"text": "abd"}, false},     // not at the field's end
		{`text ~ "*bd"`, map[string]any{"text": "xxxxabd"}, true},
		{`text ~ "*"`, map[string]any{"text": ""}, true},
		{`text ~ "**"`, map[string]any{"text": ""}, true},
		{`text ~ "a*d"`, map[string]any{"text": "abcd"}, true},
		{`text ~ "a?[!x]d"`, map[string]any{"text": "abcd"}, true},
		{`text ~ "!a*"`, map[string]any{"text": "abcd"}, false},
		{`text ~ "!b*"`, map[string]any{"text": "abcd"}, true},
		{`text ~ "1*"`, map[string]any{"text": "12"}, false},
		{`text ~ "1*"`, map[string]any{"text": "1*"}, true},
		{`text == "a\*"`, map[string]any{"text": `a\*`}, true},
		{`text ~ "a\*"`, map[string]any{"text": "a*"}, true},
		{`dyn == "abc"`, map[string]any{"dyn": "abc\x00"}, true},
		{`dyn ~ "*bc"`, map[string]any{"dyn": "abc\x00"}, true},
		{`dyn ~ "*b?"`, map[string]any{"dyn": "abc\x00"}, true},
		{`dyn == ""`, map[string]any{"dyn": "\x00"}, true},
		{`dyn ~ "*"`, map[string]any{"dyn": ""}, false}, // no room for a text
		{`rel == "abc"`, map[string]any{"dyn": "x\x00", "rel": "abc\x00"}, true},
		{`rel ~ "a*"`, map[string]any{"dyn": "x\x00", "rel": "abc\x00"}, true},
		{`str == "kernel text"`, map[string]any{"str": uint64(0xffffffff82000000)}, true},
		{`str ~ "*text"`, map[string]any{"str": uint64(0xffffffff82000000)}, true},
		{`str != "x"`, map[string]any{"str": uint64(0xffffffff82000001)}, false}, // unreadable
		{`str.ustring == "user text"`, map[string]any{"str": 0x1000}, true},
		{`str.ustring != "user text"`, map[string]any{"str": 0x2000}, false},
		{`comm == "bash"`, nil, true},
		{`COMM ~ "b?sh"`, nil, true},
		{`COMM != "bash"`, nil, false},

		// CPUs and functions.
		{"CPU == 3", nil, true},
		{"cpu != 3", nil, false},
		{"common_cpu <= 2", nil, false},
		{"cpu & 3", nil, false}, // no operation for it
		{"cpu & CPUS{3}", nil, true},
		{"cpu & CPUS{2-4}", nil, true},
		{"cpu == CPUS{2-4}", nil, false},
		{"cpu != CPUS{2-4}", nil, true},
		{"u32 & CPUS{0-3,8}", map[string]any{"u32": 8}, true},
		{"u32 & CPUS{0-3,8}", map[string]any{"u32": 7}, false},
		{"u32 != CPUS{0-3,8}", map[string]any{"u32": 12}, false}, // no CPU
		{"s16 == CPUS{5}", map[string]any{"s16": 5}, true},
		{"s16 & CPUS{all:1/2}", map[string]any{"s16": 10}, true},
		{"s16 & CPUS{0-N:1/2}", map[string]any{"s16": 11}, false},
		{"s16 & CPUS{,}", map[string]any{"s16": 0}, false},
		{"mask & CPUS{4-6}", map[string]any{"mask": "\x40\x00"}, true},
		{"mask & CPUS{4-5}", map[string]any{"mask": "\x40\x00"}, false},
		{"mask & CPUS{6}", map[string]any{"mask": "\x41\x00"}, true},
		{"mask == CPUS{6}", map[string]any{"mask": "\x41\x00"}, false},
		{"mask == CPUS{0,6}", map[string]any{"mask": "\x41\xf0"}, true}, // there are only 12 CPUs
		{"mask != CPUS{0,6}", map[string]any{"mask": "\x41\x01"}, true},
		{"ip.function == vfs_read", map[string]any{"ip": uint64(0xffffffff812010ff)}, true},
		{"ip.function == vfs_read", map[string]any{"ip": uint64(0xffffffff81201100)}, false},
		{"ip.function != 0xffffffff81201080 && cpu == 3", map[string]any{"ip": uint64(0xffffffff81201000)}, false},
		{"stacktrace == 1", nil, false},
		{"common_pid == 77", nil, true},
	} {
		data := record(t, typ, c.values)
		event.Common{Type: 700, PID: 77}.Put(data)
		ctx := filter.Context{CPU: 3, Comm: "bash", UserStrings: func(addr uint64) (string, bool) { return "user text", addr == 0x1000 }}
		if got := parse(t, typ, c.text).Match(data, ctx); got != c.want {
			t.Errorf("%s of %v: %v", c.text, c.values, got)
		}
	}
	if !(*filter.Filter)(nil).Match(nil, filter.Context{}) {
		t.Error("no filter drops a record")
	}
}

// Texts with what is wrong with them, beyond those the captures hold.
func TestFaults(t *testing.T) {
	typ := mixed(t)
	long := strings.Repeat("x", 256)
	for _, c := range []struct {
		text  string
		msg   string
		pos   int
		errno syscall.Errno
	}{
		{"!", "No filter found", 1, syscall.EINVAL},
		{"()", "Error", 0, syscall.EINVAL},
		{"(!)", "Error", 0, syscall.EPERM},
		{"s8 == 1 || !!", "Meaningless filter expression", 13, syscall.EINVAL},
		{"!= 3", "Error", 0, syscall.EPERM},
		{"((s8 == 1) && (u8 == 2)", "Too many '('", 0, syscall.ENOENT},
		{"(s8 == 1) && ((u8 == 2)", "Too many '('", 13, syscall.ENOENT},
		{`(s8 == 1) && (text == ")"`, "Too many '('", 13, syscall.ENOENT},
		{"s8 == 1 | u8 == 2", "Too many terms in predicate expression", 8, syscall.EPERM},
		{"u8 == -1", "Illegal integer value", 7, syscall.EINVAL},
		{"s64 == 9223372036854775808", "Illegal integer value", 8, syscall.EINVAL},
		{"s64 == -9223372036854775809", "Illegal integer value", 8, syscall.EINVAL},
		{"u64 == 0x", "Illegal integer value", 8, syscall.EINVAL},
		{"u64 == 09", "Illegal integer value", 8, syscall.EINVAL},
		{"u64 == 000000000000000000000001", "Operand too long", 32, syscall.EINVAL},
		{"ip.function == 000000000000000000000001", "Operand too long", 40, syscall.EINVAL},
		{"ip.function == 0z", "Invalid value (did you forget quotes)?", 18, syscall.EINVAL},
		{"ip.function == 1", "Function not found", 17, syscall.EINVAL},
		{"(ip.function == vfs_read)", "Function not found", 26, syscall.EINVAL},
		{"ip.function > vfs_read", "Invalid operator", 15, syscall.EINVAL},
		{"dyn == 1", "Expecting string field", 8, syscall.EINVAL},
		{`u8 == "x"`, "Expecting numeric field", 7, syscall.EINVAL},
		{`stacktrace == "x"`, "Expecting numeric field", 15, syscall.EINVAL},
		{`text == "` + long + `"`, "Operand too long", 266, syscall.EINVAL},
		{"text & CPUS{0}", "Illegal operation for field type", 8, syscall.EINVAL},
		{"cpu < CPUS{0}", "Illegal operation for field type", 7, syscall.EINVAL},
		{"cpu & CPUS[0]", "Missing '{'", 12, syscall.EINVAL},
		{"cpu & CPUS{}", "Invalid cpulist", 12, syscall.EINVAL},
		{"cpu & CPUS{12}", "Invalid cpulist", 14, syscall.EINVAL},
		{"cpu & CPUS{2-1}", "Invalid cpulist", 15, syscall.EINVAL},
		{"cpu & CPUS{x}", "Invalid cpulist", 13, syscall.EINVAL},
		{"s8 == 1 \x00garbage (", "", 0, 0},

		// A list of CPUs ends at a line break, and what follows up to the brace is
		// seen by the first look only: quotes that hide what is between them, and
		// parentheses that close nothing.
		{"(cpu & CPUS{0\n)}", "Too many '('", 17, syscall.EPERM},
		{"cpu & CPUS{0\n\"} && ((s8 == 1)) && cpu & CPUS{0\n\"}", "Error", 0, syscall.EINVAL},
		{"cpu & CPUS{0\n\"} && s8 == 1 && cpu & CPUS{0\n\"}", "Too many terms in predicate expression", 19, syscall.EPERM},
		{"(cpu & CPUS{0\n\"})) && cpu & CPUS{0\n\"})", "Too few '('", 18, syscall.EPERM},
		{"cpu & CPUS{0\n\"}||text == \"x", "Too many terms in predicate expression", 17, syscall.EPERM},
		{"!(s8 == 1) && cpu & CPUS{0\n\"} && text == \"x", "Missing matching quote", 44, syscall.EINVAL},
	} {
		_, err := filter.Parse(typ, c.text, testEnv())
		var fault *filter.Error
		errors.As(err, &fault)
		switch {
		case c.msg == "" && err != nil:
			t.Errorf("%s: %v", c.text, err)
		case c.msg != "" && (fault == nil || fault.Msg != c.msg || fault.Pos != c.pos || !errors.Is(err, c.errno)):
			t.Errorf("%s: %v, want %q at %d, %v", c.text, err, c.msg, c.pos, c.errno)
		}
	}
}

// Without symbols no function is found, and without memory no text outside of
// the record is equal or unequal to anything.
func TestEmptyEnv(t *testing.T) {
	typ := mixed(t)
	for _, text := range []string{"ip.function == vfs_read", "ip.function == 0xffffffff81201000"} {
		if _, err := filter.Parse(typ, text, filter.Env{}); err == nil || !strings.Contains(err.Error(), "Function not found") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{`str == "x"`, `str != "x"`, `str.ustring != "x"`} {
		f, err := filter.Parse(typ, text, filter.Env{})
		if err != nil {
			t.Fatal(err)
		}
		if f.Match(record(t, typ, nil), filter.Context{}) {
			t.Errorf("%s holds", text)
		}
	}
	if _, err := filter.Parse(typ, strings.Repeat(" ", 4095)+"x", filter.Env{}); !errors.Is(err, syscall.EINVAL) {
		t.Error(err)
	}
}

// A text that ends with the record has no size of its own.
func TestOpenEnded(t *testing.T) {
	typ := kernelType(t, "ftrace", "print")
	data := append(make([]byte, typ.Size), "abc\x00xyz"...)
	for text, want := range map[string]bool{
		`buf == "abc"`: true, `buf == "ab"`: false, `buf ~ "ab*"`: true, `buf ~ "*b*"`: true, `buf ~ "*y*"`: false,
		`buf ~ "*c"`: false, `buf ~ "a?c"`: false, // both need a size
	} {
		if got := parse(t, typ, text).Match(data, filter.Context{}); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// The filters of ftrace:function have rules of their own.
func TestFunctionEvent(t *testing.T) {
	typ := kernelType(t, "ftrace", "function")
	for text, want := range map[string]string{
		"ip == vfs_read":                      "",
		"ip == vfs_read || ip == sched*":      "",
		"parent_ip == vfs_read":               "Only 'ip' field is supported for function trace",
		`ip == "vfs_read"`:                    "Too many terms in predicate expression",
		"ip == " + strings.Repeat("x", 256):   "Operand too long",
		"ip ==":                               "",
		"common_pid == 1":                     "Only 'ip' field is supported for function trace",
		"ip.function == vfs_read && ip == 1 ": "",
	} {
		f, err := filter.Parse(typ, text, testEnv())
		var fault *filter.Error
		if errors.As(err, &fault); want == "" && err != nil || want != "" && (fault == nil || fault.Msg != want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if err == nil && f.Match(record(t, typ, map[string]any{"ip": symbols["vfs_read"]}), filter.Context{}) {
			t.Errorf("%s matches", text)
		}
	}
}

// A predicate whose outcome does not matter is not evaluated. Here each of a, b,
// c and d points to a text "x" of its own, and the reads are told.
func TestShortCircuit(t *testing.T) {
	var fields []event.Field
	values := map[string]any{}
	for i, name := range []string{"a", "b", "c", "d"} {
		fields = append(fields, event.Field{Name: name, Decl: "char * " + name, Offset: 8 + 8*i, Size: 8})
		values[name] = int(name[0])
	}
	typ, err := event.NewType(701, "test", "pointers", `""`, fields)
	if err != nil {
		t.Fatal(err)
	}
	data := record(t, typ, values)
	const yes, no = `== "x"`, `!= "x"`
	for _, c := range []struct {
		text, reads string
		want        bool
	}{
		{"a YES && b YES && c YES && d NO", "abcd", false},
		{"a YES && b NO && c YES && d NO", "ab", false},
		{"a NO || b NO || c YES || d NO", "abc", true},
		{"(a NO || b YES) && (c YES || d YES)", "abc", true},
		{"a NO && b YES || c YES && d YES", "acd", true},
		{"a YES || b YES && c YES || d YES", "a", true},
		{"a NO || b NO && c YES || d NO", "abd", false},
		{"!(a YES && b NO) || c YES", "ab", true},
		{"!(!(a YES && b NO) && (c NO || d YES))", "abcd", false},
		{"!!a YES && !(b NO || !c YES) && d YES", "abcd", true},
		{"((a NO && (b YES || c YES))) || (d YES)", "ad", true},
	} {
		text := strings.NewReplacer("YES", yes, "NO", no).Replace(c.text)
		reads := ""
		f, err := filter.Parse(typ, text, filter.Env{Strings: func(addr uint64) (string, bool) {
			reads += string(rune(addr))
			return "x", true
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Match(data, filter.Context{}); got != c.want || reads != c.reads {
			t.Errorf("%s: %v after %q, want %v after %q", c.text, got, reads, c.want, c.reads)
		}
	}
}

func TestFile(t *testing.T) {
	typ := mixed(t)
	var f filter.File
	want := func(text string, filtered bool) {
		t.Helper()
		if got := f.Show(); got != text || (f.Filter() != nil) != filtered {
			t.Errorf("shows %q with filter %v, want %q", got, f.Filter() != nil, text)
		}
	}
	want("none\n", false)
	if err := f.Write(typ, " s8 == 1 \n", testEnv()); err != nil {
		t.Error(err)
	}
	want(" s8 == 1\n", true)
	if err := f.Write(typ, strings.Repeat(" ", 4096), testEnv()); !errors.Is(err, syscall.EINVAL) {
		t.Error(err)
	}
	want(" s8 == 1\n", true)
	if err := f.Write(typ, "s8 = 1\n", testEnv()); !errors.Is(err, syscall.EINVAL) {
		t.Error(err)
	}
	want("s8 = 1\n    ^\nparse_error: Invalid operator\n\n", false)
	if err := f.Write(typ, " 0\n", testEnv()); err != nil {
		t.Error(err)
	}
	want("none\n", false)

	// What the kernel's buffer has no room for is left out, on writing and on reading.
	long := strings.Repeat("x", 4060)
	if err := f.Write(typ, long+"==", testEnv()); !errors.Is(err, syscall.EINVAL) {
		t.Error(err)
	}
	want("", false)
	if err := f.Write(typ, long[1:]+"==", testEnv()); !errors.Is(err, syscall.EINVAL) {
		t.Error(err)
	}
	want(long[1:]+"==\n"+strings.Repeat(" ", 4060)+"^\nparse_error: Field not found\n\n", false)
	late := "s8 == 1 " + strings.Repeat(" ", 4080) + "&& x"
	if err := f.Write(typ, late, testEnv()); !errors.Is(err, syscall.EINVAL) {
		t.Error(err)
	}
	want(late+"\n", false)
}

func TestWriteSystem(t *testing.T) {
	env := testEnv()
	a, b := new(filter.File), new(filter.File)
	members := []filter.Member{
		{Type: kernelType(t, "sched", "sched_switch"), File: a},
		{Type: kernelType(t, "sched", "sched_waking"), File: b},
	}
	if err := b.Write(members[1].Type, "pid == 7", env); err != nil {
		t.Fatal(err)
	}
	faults, err := filter.WriteSystem(members, "prev_pid == 1", env)
	if err != nil || len(faults) != 1 || faults[0].Command != "prev_pid == 1" || faults[0].Pos != 0 {
		t.Errorf("faults %v, %v", faults, err)
	}
	if a.Filter() == nil || a.Show() != "prev_pid == 1\n" {
		t.Errorf("the fitting event shows %q", a.Show())
	}
	const missing = "prev_pid == 1\n^\nparse_error: Couldn't find or set field in one of a subsystem's events\n\n"
	if b.Filter() != nil || b.Show() != missing {
		t.Errorf("the other event shows %q", b.Show())
	}
	if faults, err := filter.WriteSystem(members, "0", env); faults != nil || err != nil || a.Show()+b.Show() != "none\nnone\n" {
		t.Errorf("cleared: %v, %v, %q, %q", faults, err, a.Show(), b.Show())
	}
	if _, err := filter.WriteSystem(nil, "0", env); !errors.Is(err, syscall.ENODEV) {
		t.Errorf("a system without events: %v", err)
	}
	if _, err := filter.WriteSystem(members, strings.Repeat("x", 4096), env); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a long filter: %v", err)
	}
}

// Any depth of parentheses that a write can have is taken.
func TestDepth(t *testing.T) {
	typ := mixed(t)
	n := 2040
	text := strings.Repeat("!(", n/2) + "s8 == 1" + strings.Repeat(")", n/2)
	if f := parse(t, typ, text); f.Match(record(t, typ, nil), filter.Context{}) || f.String() != text {
		t.Error("an even number of ! is wrong")
	}
	var many []string
	for i := range 400 {
		many = append(many, fmt.Sprintf("u16==%d", i))
	}
	f := parse(t, typ, strings.Join(many, "||"))
	for i := range 410 {
		if got := f.Match(record(t, typ, map[string]any{"u16": i}), filter.Context{}); got != (i < 400) {
			t.Errorf("%d: %v", i, got)
		}
	}
}

// No filter ends behind && or ||: the cases of the kernel's own selftest
// event-filter-incomplete.
func TestIncomplete(t *testing.T) {
	typ := kernelType(t, "sched", "sched_switch")
	for _, base := range []string{
		"common_pid == 1", "common_pid == 1 || common_pid == 2", "common_pid == 1 && common_pid == 2",
		"!(common_pid == 1 || common_pid == 2)",
	} {
		parse(t, typ, base)
		for _, tail := range []string{"&&", "||", "&& !", "|| !", "&& !! ", "|| !! "} {
			if _, err := filter.Parse(typ, base+" "+tail, testEnv()); !errors.Is(err, syscall.EINVAL) {
				t.Errorf("%s %s: %v", base, tail, err)
			}
		}
	}
}
