package golden

import (
	"bytes"
	"fmt"
)

// The kernel prints some things as they are when the text is read. They are in no file of a
// capture, so a line may differ in them.
const (
	Jiffies    = "jiffies"               // the age of an inode, from the jiffies of that moment
	EndedTasks = "frames of ended tasks" // the kernel has forgotten the mappings; the capture kept them
)

// excuse says why the kernel's line may differ from ours; "" if it may not.
func excuse(got, want []byte) string {
	switch {
	case bytes.Contains(got, []byte("[unknown jiffies]")):
		return Jiffies
	case userAddress.Match(want) && userPlace.Match(got):
		return EndedTasks
	}
	return ""
}

// Difference describes the first line in which got and t differ; "" if they do not
// differ.
func (t *Text) Difference(got []byte) string {
	first, _ := t.difference(got, func(_, _ []byte) string { return "" })
	return first
}

// Excused is as Difference, but it counts the lines that differ for one of the reasons
// above and goes on.
func (t *Text) Excused(got []byte) (first string, excused map[string]int) {
	return t.difference(got, excuse)
}

func (t *Text) difference(got []byte, excuse func(got, want []byte) string) (first string, excused map[string]int) {
	want := t.Content
	excused = map[string]int{}
	if t.Part {
		// If the part that was kept ends inside a line, our text is cut at the same
		// place.
		lines := bytes.Count(want, []byte("\n"))
		got = firstLines(got, lines+1)
		if n := bytes.LastIndexByte(want, '\n'); n >= 0 {
			want = want[:n+1]
			got = firstLines(got, lines)
		}
	}
	p := pointers{}
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := 0; i < max(len(g), len(w)); i++ {
		var a, b []byte
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if i < len(g) && i < len(w) {
			if p.same(a, b) {
				continue
			}
			if why := excuse(a, b); why != "" {
				excused[why]++
				continue
			}
		}
		return fmt.Sprintf("line %d of %d, kernel %d:\n  got  %.200q\n  want %.200q", i+1, len(g), len(w), a, b), excused
	}
	return "", excused
}

func firstLines(text []byte, n int) []byte {
	end := 0
	for ; n > 0; n-- {
		i := bytes.IndexByte(text[end:], '\n')
		if i < 0 {
			return text
		}
		end += i + 1
	}
	return text[:end]
}

// pointers maps the pointers that we print as they are to what the kernel printed. Its
// hash has a secret key and gives 32 bits. The kernel must have printed the same for
// the same pointer everywhere.
type pointers map[string]string

const pointerDigits = 16

// same reports whether two lines differ in nothing but pointers.
func (p pointers) same(got, want []byte) bool {
	for !bytes.Equal(got, want) {
		n := 0
		for n < len(got) && n < len(want) && got[n] == want[n] {
			n++
		}
		for n > 0 && isHex(got[n-1]) {
			n--
		}
		got, want = got[n:], want[n:]
		if len(got) < pointerDigits || len(want) < pointerDigits {
			return false
		}
		ptr, text := got[:pointerDigits], string(want[:pointerDigits])
		got, want = got[pointerDigits:], want[pointerDigits:]
		switch {
		case !allHex(ptr) || len(got) > 0 && isHex(got[0]):
			return false
		case !allHex([]byte(text)) || text[:8] != "00000000":
			return false
		case p[string(ptr)] == "":
			p[string(ptr)] = text
		case p[string(ptr)] != text:
			return false
		}
	}
	return true
}

func allHex(b []byte) bool {
	for _, c := range b {
		if !isHex(c) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }
