package synth_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"ftracelab/tracer/event/synth"
)

func none(string) bool { return false }

func parse(tb testing.TB, line string) *synth.Definition {
	tb.Helper()
	d, _, err := synth.Parse(line, none)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// What is taken is listed with one form of blanks, the brackets at the type.
func TestParse(t *testing.T) {
	for line, want := range map[string]string{
		"myevent u64 var1":                                    "myevent\tu64 var1",
		" \tmyevent u64 var1 ;u64 var2 ;":                     "myevent\tu64 var1; u64 var2",
		"wakeup_latency  u64 lat pid_t pid char comm[16]":     "wakeup_latency\tu64 lat; pid_t pid; char[16] comm",
		"foo u64 a; u64 a":                                    "foo\tu64 a; u64 a",
		"foo char a[]; u64 b":                                 "foo\tchar[] a; u64 b",
		"foo char a[0]":                                       "foo\tchar[0] a",
		"foo char[0x8] a":                                     "foo\tchar[0x8] a",
		"foo unsigned int a;int b;":                           "foo\tunsigned int a; int b",
		"foo unsigned char a[8]":                              "foo\tunsigned char[8] a",
		"foo unsigned long[] st; long[5] x":                   "foo\tunsigned long[] st; long[5] x",
		"foo xchar[256] a":                                    "foo\txchar[256] a",
		"_f\xe9 s8 a u8 b s16 c u16 d s32 e u32 f s64 g":      "_f\xe9\ts8 a; u8 b; s16 c; u16 d; s32 e; u32 f; s64 g",
		"foo char c bool b gfp_t g long l unsigned long ul\n": "foo\tchar c; bool b; gfp_t g; long l; unsigned long ul",
	} {
		d, remove, err := synth.Parse(line, none)
		if err != nil || remove {
			t.Errorf("%q: remove %t, %v", line, remove, err)
			continue
		}
		if got := d.Show(); got != want {
			t.Errorf("%q is shown as %q, want %q", line, got, want)
		}
	}
}

func TestParseRemove(t *testing.T) {
	for line, want := range map[string]string{"!foo": "foo", "!foo u64 a; b": "foo", " !foo;": "foo;", "!": "", "! foo": ""} {
		d, remove, err := synth.Parse(line, none)
		if err != nil || !remove || d.Name != want {
			t.Errorf("%q: %v, remove %t, %v", line, d, remove, err)
		}
	}
	for _, line := range []string{"", " \t\n\v"} {
		if d, remove, err := synth.Parse(line, none); d != nil || remove || err != nil {
			t.Errorf("%q: %v, %t, %v", line, d, remove, err)
		}
	}
}

// A ^ stands where the kernel's error_log has it.
func TestParseFaults(t *testing.T) {
	const (
		badName      = "Illegal name"
		invalidCmd   = "Command must be of the form: <name> field[;field] ..."
		dynCmd       = "Command must be of the form: s or -:[synthetic/]<name> field[;field] ..."
		exists       = "Event already exists"
		incomplete   = "Incomplete type"
		invalidType  = "Invalid type"
		invalidField = "Invalid field"
		arraySpec    = "Invalid array specification"
	)
	for _, c := range []struct {
		line, msg string
		errno     syscall.Errno
	}{
		// trigger-synthetic_event_syntax_errors.tc
		{"myevent ^chr arg", invalidType, syscall.EINVAL},
		{"myevent ^unsigned arg", incomplete, syscall.EINVAL},
		{"myevent char ^str]; int v", badName, syscall.EINVAL},
		{"^mye-vent char str[]", badName, syscall.EINVAL},
		{"myevent char ^st-r[]", badName, syscall.EINVAL},
		{"myevent char str;^[]", invalidField, syscall.EINVAL},
		{"myevent char str; ^int", invalidField, syscall.EINVAL},
		{"myevent char ^str[; int v", arraySpec, syscall.EINVAL},
		{"myevent char ^str[kdjdk]", arraySpec, syscall.EINVAL},
		{"myevent char ^str[257]", arraySpec, syscall.EINVAL},
		{"^mye;vent char str[]", invalidCmd, syscall.EINVAL},
		{"^myevent ; char str[]", invalidCmd, syscall.EINVAL},
		{"^myevent; char str[]", invalidCmd, syscall.EINVAL},
		{"^myevent ;char str[]", invalidCmd, syscall.EINVAL},
		{"^; char str[]", invalidCmd, syscall.EINVAL},
		{"^;myevent char str[]", invalidCmd, syscall.EINVAL},
		{"^myevent", invalidCmd, syscall.EINVAL},
		{"^s:junk/myevent char str[", dynCmd, syscall.EINVAL},
		// the captured error cases
		{"^foo u64", invalidCmd, syscall.EINVAL},
		{"foo ^badtype a", invalidType, syscall.EINVAL},
		{"foo u64 ^1a", badName, syscall.EINVAL},
		{"foo u64 a ^b", invalidField, syscall.EINVAL},
		{"^1foo u64 a", badName, syscall.EINVAL},
		{"foo char ^a[999]", arraySpec, syscall.EINVAL},
		{"foo char ^a[16", arraySpec, syscall.EINVAL},
		{"foo ^struct x y", invalidType, syscall.EINVAL},
		{"foo pid_t pid; pid_t pid2; ^u8 x[4]", invalidType, syscall.EINVAL},
		{"^taken u64 a", exists, syscall.EEXIST},
		{"s:^taken u64 b", exists, syscall.EEXIST},
		{"^s:grp/foo u64 a", dynCmd, syscall.EINVAL},
		// the rest of the parser
		{"foo ^char[999] a", invalidType, syscall.EINVAL},
		{"foo char ^a[-1]", arraySpec, syscall.EINVAL},
		{"foo char ^a[4]b", arraySpec, syscall.EINVAL},
		{"foo char[4] ^a[8]", arraySpec, syscall.EINVAL},
		{"foo u64 ^[8]", badName, syscall.EINVAL},
		{"foo char a; ^unsigned char", incomplete, syscall.EINVAL},
		{"f^oo u64 a; o", invalidField, syscall.EINVAL}, // the column of the first o
		{"^foo\ru64\ra", invalidCmd, syscall.EINVAL},
		{"^s:foo", invalidCmd, syscall.EINVAL},
		{"^s: foo u64 a", invalidCmd, syscall.EINVAL},
		{"^s:synthetic/ foo u64 a", invalidCmd, syscall.EINVAL},
		{"^s:foo u64 a/b", dynCmd, syscall.EINVAL},
		{"s:^!foo u64 a", badName, syscall.EINVAL},
		{"^s:foo u64; u32 b", invalidCmd, syscall.EINVAL},
	} {
		before, after, _ := strings.Cut(c.line, "^")
		line := before + after
		taken := func(name string) bool { return name == "taken" }
		var err error
		if strings.HasPrefix(line, "s:") {
			_, err = synth.ParseDynamic(" "+line, taken)
		} else {
			_, _, err = synth.Parse(" "+line, taken)
		}
		var fault *synth.Error
		if !errors.As(err, &fault) {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		want := synth.Error{Msg: c.msg, Pos: len(before), Command: line, Errno: c.errno}
		if *fault != want {
			t.Errorf("%s: %+v\nwant %+v", c.line, *fault, want)
		}
	}
}

func TestTooManyFields(t *testing.T) {
	line := "foo"
	for n := range 64 {
		line += fmt.Sprintf(" u64 a%d;", n)
	}
	parse(t, line)
	_, _, err := synth.Parse(line+"u64 a64;", none)
	var fault *synth.Error
	if !errors.As(err, &fault) || fault.Msg != "Too many fields" || fault.Pos != 0 {
		t.Error(err)
	}
}

func TestParseDynamic(t *testing.T) {
	for _, line := range []string{"s:latency1 u64 lat; pid_t pid;", "s:synthetic/latency1 u64 lat; pid_t pid;"} {
		d, err := synth.ParseDynamic(line, none)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := d.Show(), "latency1\tu64 lat; pid_t pid"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if d, err := synth.ParseDynamic(" ", none); d != nil || err != nil {
		t.Error(d, err)
	}
	for _, line := range []string{"p:foo vfs_read", "s", "sx:y", "z"} {
		if _, err := synth.ParseDynamic(line, none); !errors.Is(err, syscall.ECANCELED) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// Any text is a fault with a column inside of it, or a definition whose line
// means the same again.
func FuzzParse(f *testing.F) {
	for _, line := range []string{
		"wakeup_lat u64 lat; pid_t pid; char comm[16]", "s:synthetic/x unsigned long[] st; char name[]",
		"!foo", "foo unsigned int", "foo char a[]b]", "s:a/b c d", "foo \xa0u64\xa0a", "a ]char[4] b", "s:taken u8 a",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		taken := func(name string) bool { return name == "taken" }
		d, remove, err := synth.Parse(line, taken)
		check(t, line, err)
		if d != nil && !remove {
			again(t, d)
		}
		d, err = synth.ParseDynamic(line, taken)
		check(t, line, err)
		if d != nil {
			again(t, d)
		}
	})
}

func check(t *testing.T, line string, err error) {
	t.Helper()
	var fault *synth.Error
	if err == nil {
		return
	}
	if !errors.As(err, &fault) || fault.Errno == 0 || fault.Pos < 0 || fault.Pos > len(fault.Command) || !strings.Contains(line, fault.Command) {
		t.Fatalf("%q: %#v", line, err)
	}
}

func again(t *testing.T, d *synth.Definition) {
	t.Helper()
	if got := parse(t, d.Show()).Show(); got != d.Show() {
		t.Fatalf("%q reads as %q", d.Show(), got)
	}
	typ, err := d.NewType(2000)
	if err != nil {
		t.Fatal(err)
	}
	typ.Format()
}
