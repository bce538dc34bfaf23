package filter_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
)

// Any text is a fault that can be shown, or a filter that any record can be
// given to and whose text is the same filter.
func FuzzFilter(f *testing.F) {
	typ := mixed(f)
	seed := record(f, typ, map[string]any{"s8": 1, "text": "abc", "dyn": "abc\x00", "mask": "\x03\x00"})
	for _, text := range []string{
		"s8 == 1 && !(u64 > 0x10 || text ~ \"a*c\")", "mask & CPUS{0-3,8}", "ip.function != vfs_read",
		"str.ustring == 'x' || cpu & CPUS{all:1/2}", "((s8 == 1", "rel ~ \"[!a-c]?\\\\\"", "s16 == -1 &&", "\xa0\xd7 == ",
	} {
		f.Add(text, seed)
	}
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		var file filter.File
		err := file.Write(typ, text, testEnv())
		checkError(t, text, err)
		if shown := file.Show(); len(shown) > 8192 {
			t.Fatalf("%d bytes are shown", len(shown))
		}
		filter.WriteSystem([]filter.Member{{Type: typ, File: &file}}, text, testEnv())
		filter.Parse(functionType, text, testEnv())
		got, err := filter.Parse(typ, text, testEnv())
		checkError(t, text, err)
		if err != nil {
			return
		}
		ctx := filter.Context{CPU: 2, Comm: text, UserStrings: func(uint64) (string, bool) { return text, true }}
		again := parse(t, typ, got.String())
		for n := range min(len(data), 100) {
			if got.Match(data[n:], ctx) != again.Match(data[n:], ctx) {
				t.Fatalf("%q and %q differ", text, again)
			}
		}
	})
}

// checkError wants an errno, and of a text of moderate length an Error about it.
func checkError(t *testing.T, text string, err error) {
	t.Helper()
	var errno syscall.Errno
	var fault *filter.Error
	switch {
	case err == nil:
	case !errors.As(err, &errno):
		t.Fatalf("no errno: %v", err)
	case errors.As(err, &fault) != (len(text) < 4096):
		t.Fatalf("%d bytes: %v", len(text), err)
	case fault != nil && (fault.Pos < 0 || fault.Pos > len(fault.Command)+1 || !strings.HasPrefix(text, fault.Command)):
		t.Fatalf("%#v", fault)
	}
}

var functionType = func() *event.Type {
	t, err := event.NewType(1, "ftrace", "function", `""`, []event.Field{
		{Name: "ip", Decl: "unsigned long ip", Offset: 8, Size: 8},
		{Name: "parent_ip", Decl: "unsigned long parent_ip", Offset: 16, Size: 8},
	})
	if err != nil {
		panic(err)
	}
	return t
}()
