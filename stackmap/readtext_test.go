package stackmap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readText collects what ReadText gives.
func readText(file []byte) (list []TextRecord, err error) {
	err = ReadText(bytes.NewReader(file), func(r TextRecord) error {
		list = append(list, r)
		return nil
	})
	return list, err
}

// TestReadText: the text that a kernel printed of a map has the stacks of its
// stack_map_bin.
func TestReadText(t *testing.T) {
	for _, dir := range []string{"v2/pairs/sm_kmem", "v2/pairs/sm_toggle", "v2/deep/sm_deep_kmem_stackmap1"} {
		dump, err := ReadDump(bytes.NewReader(readFile(t, selection(), dir+"/stack_map_bin")), nil)
		if err != nil {
			t.Fatal(err)
		}
		list, err := readText(readFile(t, selection(), dir+"/stack_map"))
		if err != nil || len(list) != len(dump.Records) || len(list) == 0 {
			t.Fatalf("%s: %d stacks of %d, %v", dir, len(list), len(dump.Records), err)
		}
		for i, r := range list {
			want := dump.Records[i]
			if r.ID != want.ID || r.Ref != want.Ref || len(r.Frames) != len(want.IPs) {
				t.Errorf("%s: stack %d is %+v, in the binary %+v", dir, i, r, want)
			}
			for j, frame := range r.Frames {
				if !strings.Contains(frame, "+0x") && frame != fmt.Sprintf("%#x", want.IPs[j]) {
					t.Errorf("%s: frame %d of stack %d is %q, in the binary %#x", dir, j, i, frame, want.IPs[j])
				}
			}
		}
	}
}

func TestReadTextErrors(t *testing.T) {
	const one = "stack_id 7 [ref 2, depth 2]\n  [0] a+0x1/0x2 [m]\n  [1] 0x7fffffff\n"
	for _, c := range []struct {
		text string
		n    int
		err  string
	}{
		{"", 0, ""},
		{"\n\n", 0, ""},
		{one, 1, ""},
		{strings.TrimSuffix(one, "\n"), 1, ""},
		{strings.ReplaceAll(one, "\n", "\r\n") + "\r\n" + one, 2, ""},
		{"stack_id 0 [ref 0, depth 0]\n\n" + one, 2, ""},
		{one + "stack_id 8 [ref 2, depth 2]\n  [0] a\n", 1, "line 6: inside a stack: unexpected EOF"},
		{one + "  [2] b\n", 1, `line 4: no first line of a stack: "  [2] b"`},
		{"stack_id 1 [ref 1, depth 2]\n  [1] b\n", 0, `line 2: no frame 0: "  [1] b"`},
		{"stack_id 1 [ref 1, depth 1]\n  [0] \n", 0, `line 2: no frame 0: "  [0] "`},
		{"stack_id -1 [ref 1, depth 1]\n", 0, `line 1: no first line of a stack: "stack_id -1 [ref 1, depth 1]"`},
		{"stack_id 1 [ref 1, depth 65536]\n", 0, "line 1: no first line of a stack"},
		{strings.Repeat("x", maxTextLine+1), 0, "line 1: more than 4096 bytes"},
	} {
		list, err := readText([]byte(c.text))
		if len(list) != c.n || err == nil != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
			t.Errorf("%.60q: %d stacks, %v; want %d, %s", c.text, len(list), err, c.n, c.err)
		}
	}
	list, _ := readText([]byte(one))
	if diff := cmp.Diff(list, []TextRecord{{7, 2, []string{"a+0x1/0x2 [m]", "0x7fffffff"}}}); diff != "" {
		t.Error(diff)
	}
	broken := errors.New("broken")
	if err := ReadText(io.MultiReader(strings.NewReader(one), failingReader{broken}), func(TextRecord) error { return nil }); !errors.Is(err, broken) {
		t.Errorf("a reader's error came as %v", err)
	}
	if err := ReadText(strings.NewReader(one), func(TextRecord) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("take's error came as %v", err)
	}
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

// FuzzReadText: what was read, written again, is read as the same.
func FuzzReadText(f *testing.F) {
	f.Add(readFile(f, selection(), "v2/pairs/sm_toggle/stack_map"))
	f.Add([]byte("stack_id 1 [ref 4294967295, depth 1]\n  [0] [FTRACE TRAMPOLINE]\n"))
	f.Add([]byte("stack_id 1 [ref 1, depth 3]\n  [0] 0xffffffff81000000\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		list, err := readText(file)
		if err != nil && !strings.HasPrefix(err.Error(), "line ") {
			t.Fatalf("an error without its line: %v", err)
		}
		var text []byte
		for _, r := range list {
			text = appendHead(text, r.ID, r.Ref, len(r.Frames))
			for i, frame := range r.Frames {
				text = append(append(appendIndex(text, i), frame...), '\n')
			}
			text = append(text, '\n')
		}
		again, err := readText(text)
		if diff := cmp.Diff(again, list); diff != "" || err != nil {
			t.Fatalf("%v: %s", err, diff)
		}
	})
}
