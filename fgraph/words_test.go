package fgraph

import (
	"fmt"
	"strings"
	"testing"

	"ftracelab/machine"
)

// TestWordEncodings compares each word of a stack with the kernel's encoding: bits 0–9
// the way back, 10–11 the type (1 bitmap, 2 data), 12–27 the bitmap, 12–16 size-1 and
// 17–20 the user of data.
func TestWordEncodings(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uint64
	}{
		{"reserved", reservedWord(4), 0x4},
		{"only user 0", bitmapWord(1, 4), 0x1404},
		{"users 0 and 1", bitmapWord(3, 4), 0x3404},
		{"user 15 and the mark", bitmapWord(1<<15|1, 5), 0x8001405},
		{"1 word of user 0", dataWord(0, 1, 6), 0x806},
		{"3 words of user 3", dataWord(3, 3, 8), 3<<17 | 2<<12 | 2<<10 | 8},
		{"32 words of user 15", dataWord(15, 32, 37), 0x1ff825},
	} {
		if c.got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, c.got, c.want)
		}
	}
}

// TestStackWords shows the words of a stack on which two calls are in flight. Of the first,
// user 0 and user 1 want the return, and user 1 has reserved two words; of the second,
// only user 1 wants it.
func TestStackWords(t *testing.T) {
	for _, c := range []struct {
		always bool
		second string // its bitmap word
	}{{false, "10003404"}, {true, "3404"}} {
		g, _ := newGraph(Config{AlwaysReturnZero: c.always})
		a, b := newUser(0), newUser(9)
		a.wants = func(call Call) bool { return call.Func == 0x100 }
		for _, u := range []*user{a, b} {
			if err := g.Register(&u.Ops); err != nil {
				t.Fatal(err)
			}
		}
		s := &Stack{}
		g.Enter(nil, s, 0x100, 0xaaa, 1)
		b.reserve = 0
		g.Enter(nil, s, 0x200, 0xbbb, 2)
		want := "aaa 100 a 1 3404 100 101 21807 bbb 200 14 2 " + c.second
		var got []string
		for _, w := range s.Words(nil) {
			got = append(got, fmt.Sprintf("%x", w))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("words %s, want %s", text, want)
		}
	}
}

func hex(dst []byte, addr uint64) []byte { return fmt.Appendf(dst, "%#x", addr) }

// TestWordsRead takes the words apart that Append describes.
func TestWordsRead(t *testing.T) {
	g, _ := newGraph(Config{})
	a := newUser(9)
	if err := g.Register(&a.Ops); err != nil {
		t.Fatal(err)
	}
	s := &Stack{}
	g.Enter(nil, s, 0x100, 0xaaa, 3)
	want := []string{
		"  0 0000000000000aaa return address 0xaaa",
		"  1 0000000000000100 function 0x100",
		"  2 000000000000000a time of the call",
		"  3 0000000000000003 place of the return address",
		"  4 0000000000001404 bitmap: frame 4 below; users 0",
		"  5 0000000000000100 data of user 0",
		"  6 0000000000000101 data of user 0",
		"  7 0000000000001807 data word: frame 7 below; 2 words of user 0",
	}
	if got := string(g.AppendWords(nil, s, hex)); got != strings.Join(want, "\n")+"\n" {
		t.Errorf("got\n%swant\n%s", got, strings.Join(want, "\n"))
	}
	// A stack in the middle of a push, as an interrupt sees it.
	g.Unregister(&a.Ops)
	var in string
	o := &Ops{Return: func(*machine.CPU, *Stack, Ret) {}}
	o.Entry = func(_ *machine.CPU, s *Stack, _ Call) bool { in = string(g.AppendWords(nil, s, hex)); return false }
	if err := g.Register(o); err != nil {
		t.Fatal(err)
	}
	g.Enter(nil, s, 0x200, 0xbbb, 4)
	if !strings.HasSuffix(in, " 12 0000000000000004 reserved: frame 4 below\n") {
		t.Errorf("in the middle of a push:\n%s", in)
	}
}
