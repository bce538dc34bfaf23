package filter_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
)

// node is an expression that can say what it is and what it is worth: the slow
// reference. It reads the record by names and types, as the documentation of
// the filters does.
type node interface {
	String() string
	holds(r *reference) bool
}

type (
	notNode  struct{ x node }
	joinNode struct {
		sign string // && or ||
		list []node
	}
	numberNode struct {
		name, sign string
		value      int64
		hex        bool
	}
	textNode struct{ name, sign, value string }
	cpusNode struct {
		name, sign string
		cpus       []int
	}
)

// reference is a record in the reference's own form.
type reference struct {
	numbers map[string]int64 // of the field's sign
	texts   map[string]string
	mask    uint16
	cpu     int
}

// widths are the number fields of mixed, in bytes, negative if signed.
var widths = map[string]int{"s8": -1, "u8": 1, "s16": -2, "u16": 2, "s32": -4, "u32": 4, "s64": -8, "CPU": -4}

// rooms are the texts of fixed size and how many characters fill them.
var rooms = map[string]int{"text": 7, "comm": 15}

func (n notNode) String() string { return "!" + n.x.String() }

func (n notNode) holds(r *reference) bool { return !n.x.holds(r) }

func (n joinNode) String() string {
	var parts []string
	for _, x := range n.list {
		parts = append(parts, x.String())
	}
	return "(" + strings.Join(parts, n.sign) + ")"
}

func (n joinNode) holds(r *reference) bool {
	for _, x := range n.list {
		if x.holds(r) != (n.sign == "&&") {
			return n.sign != "&&"
		}
	}
	return n.sign == "&&"
}

func (n numberNode) String() string {
	if n.hex && n.value >= 0 {
		return fmt.Sprintf("%s%s%#x ", n.name, n.sign, n.value)
	}
	return fmt.Sprintf("%s %s %d", n.name, n.sign, n.value)
}

// cast is a value in the field's type.
func cast(name string, v int64) int64 {
	switch widths[name] {
	case -1:
		return int64(int8(v))
	case 1:
		return int64(uint8(v))
	case -2:
		return int64(int16(v))
	case 2:
		return int64(uint16(v))
	case -4:
		return int64(int32(v))
	case 4:
		return int64(uint32(v))
	}
	return v
}

func (n numberNode) holds(r *reference) bool {
	a, b := r.numbers[n.name], cast(n.name, n.value)
	if n.name == "CPU" {
		a = int64(r.cpu)
	}
	switch n.sign {
	case "==":
		return a == b
	case "!=":
		return a != b
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	}
	return n.name != "CPU" && a&b != 0
}

func (n textNode) String() string { return fmt.Sprintf("%s %s \"%s\"", n.name, n.sign, n.value) }

func (n textNode) holds(r *reference) bool {
	s := r.texts[n.name]
	switch n.sign {
	case "==":
		return s == n.value
	case "!=":
		return s != n.value
	}
	glob, not := strings.CutPrefix(n.value, "!")
	if glob != "" && glob[0] >= '0' && glob[0] <= '9' {
		return (s == glob) != not
	}
	if room := rooms[n.name]; room > 0 && len(glob) > 1 && glob[0] == '*' && !strings.ContainsAny(glob[1:], "*?") {
		// The end of the field, which has to be full for it.
		return (len(s) == room && strings.HasSuffix(s, glob[1:])) != not
	}
	pattern := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(glob))
	return regexp.MustCompile("(?s)^"+pattern+"$").MatchString(s) != not
}

func (n cpusNode) String() string {
	return n.name + n.sign + "CPUS{" + strings.Trim(strings.ReplaceAll(fmt.Sprint(n.cpus), " ", ","), "[]") + "}"
}

func (n cpusNode) holds(r *reference) bool {
	var set uint16
	for _, cpu := range n.cpus {
		set |= 1 << cpu
	}
	field := r.mask
	if n.name != "mask" {
		cpu := r.numbers[n.name]
		if n.name == "CPU" {
			cpu = int64(r.cpu)
		}
		if set&(set-1) == 0 { // one CPU is its number
			return (cpu >= 0 && cpu < 16 && set == 1<<cpu) != (n.sign == "!=")
		}
		if cpu < 0 || cpu >= 12 {
			return false
		}
		field = 1 << cpu
	}
	switch n.sign {
	case "==":
		return field == set
	case "!=":
		return field != set
	}
	return field&set != 0
}

func drawNode(t *rapid.T, depth int) node {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind = kind%3 + 3
	}
	pick := func(what string, list ...string) string { return rapid.SampledFrom(list).Draw(t, what) }
	switch kind {
	case 0:
		return notNode{drawNode(t, depth-1)}
	case 1, 2:
		j := joinNode{sign: pick("join", "&&", "||")}
		for range rapid.IntRange(1, 4).Draw(t, "n") {
			j.list = append(j.list, drawNode(t, depth-1))
		}
		return j
	case 3:
		n := numberNode{
			name: pick("number", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "CPU"),
			sign: pick("op", "==", "!=", "<", "<=", ">", ">=", "&"), hex: rapid.Bool().Draw(t, "hex"),
		}
		n.value = drawNumber(t)
		if widths[n.name] > 0 && n.value < 0 {
			n.value = ^n.value
		}
		return n
	case 4:
		return textNode{
			pick("text", "text", "dyn", "rel", "comm"), pick("textop", "==", "!=", "~"),
			rapid.StringMatching(`!?\*?[ab1*?]{0,3}\*?`).Draw(t, "pattern"),
		}
	}
	return cpusNode{
		pick("cpus", "mask", "CPU", "s8", "u16", "s32"), pick("cpusop", "==", "!=", "&"),
		rapid.SliceOfN(rapid.IntRange(0, 11), 1, 4).Draw(t, "list"),
	}
}

// drawNumber prefers what is close to zero and to the ends of the types.
func drawNumber(t *rapid.T) int64 {
	base := rapid.SampledFrom([]int64{0, 0, 1 << 7, 1 << 8, 1 << 15, 1 << 16, 1 << 31, 1 << 32, 1 << 62}).Draw(t, "base")
	v := base + rapid.Int64Range(-12, 12).Draw(t, "offset")
	if rapid.Bool().Draw(t, "negative") {
		return -v
	}
	return v
}

// drawRecord makes a record of mixed in both forms.
func drawRecord(t *rapid.T, typ *event.Type) (*reference, []byte, filter.Context) {
	r := &reference{numbers: map[string]int64{}, texts: map[string]string{}}
	values := map[string]any{}
	for i := range typ.Fields {
		if name := typ.Fields[i].Name; widths[name] != 0 {
			r.numbers[name] = cast(name, drawNumber(t))
			values[name] = uint64(r.numbers[name])
		}
	}
	for _, name := range []string{"text", "dyn", "rel", "comm"} {
		s := rapid.StringMatching(fmt.Sprintf("[ab1*]{0,3}|[ab]{%d}", max(rooms[name], 1))).Draw(t, name)
		r.texts[name] = s
		switch name {
		case "text":
			values[name] = s
		case "dyn", "rel":
			values[name] = s + "\x00"
		}
	}
	r.cpu = rapid.IntRange(0, 11).Draw(t, "cpu")
	r.mask = rapid.Uint16Range(0, 1<<12-1).Draw(t, "mask")
	values["mask"] = string([]byte{byte(r.mask), byte(r.mask >> 8)})
	return r, record(t, typ, values), filter.Context{CPU: r.cpu, Comm: r.texts["comm"]}
}

// Any expression keeps the records that its reference keeps, however it is
// written.
func TestReference(t *testing.T) {
	typ := mixed(t)
	rapid.Check(t, func(rt *rapid.T) {
		n := drawNode(rt, 4)
		text := n.String()
		if _, ok := n.(joinNode); ok && rapid.Bool().Draw(rt, "bare") {
			text = text[1 : len(text)-1]
		}
		f, err := filter.Parse(typ, text, testEnv())
		if err != nil {
			if len(text) >= 4096 {
				return
			}
			rt.Fatalf("%s: %v", text, err)
		}
		for range 8 {
			r, data, ctx := drawRecord(rt, typ)
			if got, want := f.Match(data, ctx), n.holds(r); got != want {
				rt.Fatalf("%s: %v, want %v\n%+v", text, got, want, r)
			}
		}
	})
}

// && binds stronger than ||, without parentheses.
func TestPrecedence(t *testing.T) {
	typ := mixed(t)
	rapid.Check(t, func(rt *rapid.T) {
		any := joinNode{sign: "||"}
		var text bytes.Buffer
		for i := range rapid.IntRange(1, 6).Draw(rt, "alternatives") {
			if i > 0 {
				text.WriteString(" || ")
			}
			all := joinNode{sign: "&&"}
			for k := range rapid.IntRange(1, 6).Draw(rt, "terms") {
				if k > 0 {
					text.WriteString(" && ")
				}
				term := drawNode(rt, 1)
				text.WriteString(term.String())
				all.list = append(all.list, term)
			}
			any.list = append(any.list, all)
		}
		f, err := filter.Parse(typ, text.String(), testEnv())
		if err != nil {
			rt.Skip(err)
		}
		r, data, ctx := drawRecord(rt, typ)
		if got, want := f.Match(data, ctx), any.holds(r); got != want {
			rt.Fatalf("%s: %v, want %v\n%+v", &text, got, want, r)
		}
	})
}
