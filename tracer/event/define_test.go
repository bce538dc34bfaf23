package event_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ftracelab/tracer/event"
)

type mixed struct {
	A uint8     `c:"u8 a"`
	B int64     `c:"s64 b"`
	C [3]uint16 `c:"u16 c[3]"`
	D string    `c:"__data_loc char[] d"`
	E []uint64  `c:"__data_loc u64[] e"`
	F bool      `c:"bool f"`
	G []byte    `c:"__data_loc u8[] g"`
	H int16     `c:"short h"`
}

func TestLayout(t *testing.T) {
	d := event.Define[mixed](900, "test", "mixed", `"%d %s", REC->a, __get_str(d)`)
	type place struct {
		Name                  string
		Offset, Size, Elem    int
		Signed, Text, Dynamic bool
	}
	var got []place
	for i := range d.Fields {
		f := &d.Fields[i]
		got = append(got, place{f.Name, f.Offset, f.Size, f.ElemSize(), f.Signed, f.IsText(), f.Dynamic()})
	}
	want := []place{
		{"a", 8, 1, 1, false, false, false},
		{"b", 16, 8, 8, true, false, false},
		{"c", 24, 6, 2, false, false, false},
		{"d", 32, 4, 1, false, true, true},
		{"e", 36, 4, 8, false, false, true},
		{"f", 40, 1, 1, false, false, false},
		{"g", 44, 4, 1, false, false, true},
		{"h", 48, 2, 2, true, false, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if d.Size != 56 || !d.Dynamic() {
		t.Errorf("size %d, dynamic %v", d.Size, d.Dynamic())
	}
	parsed, err := event.ParseFormat("test", d.Format())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d.Fields, parsed.Fields); diff != "" {
		t.Error("format read back:", diff)
	}
	if parsed.Size != d.Size {
		t.Errorf("size %d read back as %d", d.Size, parsed.Size)
	}
}

// Dynamic data begins where the last field ends, not behind the padding, and
// the record is longer by all of it.
func TestDynamicData(t *testing.T) {
	d := event.Define[mixed](900, "test", "mixed", `""`)
	data := d.Append(nil, event.Common{PID: 3}, &mixed{D: "xy", G: []byte{9}})
	if w := d.Field("d").Uint(data); w != 3<<16|50 {
		t.Errorf("location of d: %#x", w)
	}
	if w := d.Field("g").Uint(data); w != 1<<16|53 {
		t.Errorf("location of g: %#x", w)
	}
	if len(data) != 56+3+1 {
		t.Errorf("%d bytes", len(data))
	}
	if s := d.Field("d").String(data); s != "xy" {
		t.Errorf("d is %q", s)
	}
}

func TestCodecInverse(t *testing.T) {
	d := event.Define[mixed](900, "test", "mixed", `""`)
	rapid.Check(t, func(t *rapid.T) {
		v := mixed{
			A: rapid.Uint8().Draw(t, "a"), B: rapid.Int64().Draw(t, "b"),
			C: [3]uint16(rapid.SliceOfN(rapid.Uint16(), 3, 3).Draw(t, "c")),
			D: rapid.StringMatching(`[a-z]{0,20}`).Draw(t, "d"),
			E: rapid.SliceOfN(rapid.Uint64(), 0, 9).Draw(t, "e"),
			F: rapid.Bool().Draw(t, "f"),
			G: rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "g"),
			H: rapid.Int16().Draw(t, "h"),
		}
		c := event.Common{Flags: rapid.Uint8().Draw(t, "flags"), PID: rapid.Int32().Draw(t, "pid")}
		data := d.Append([]byte("before"), c, &v)[len("before"):]
		var got mixed
		if err := d.Decode(data, &got); err != nil {
			t.Fatal(err)
		}
		if len(v.E) == 0 {
			v.E, got.E = nil, nil
		}
		if len(v.G) == 0 {
			v.G, got.G = nil, nil
		}
		if diff := cmp.Diff(v, got); diff != "" {
			t.Fatal(diff)
		}
		c.Type = 900
		if event.ParseCommon(data) != c {
			t.Fatalf("header %+v, want %+v", event.ParseCommon(data), c)
		}
	})
}

func TestDecodeErrors(t *testing.T) {
	d := event.Define[mixed](900, "test", "mixed", `""`)
	data := d.Append(nil, event.Common{}, &mixed{D: "text"})
	var v mixed
	if err := d.Decode(data[:20], &v); err == nil {
		t.Error("a short record was decoded")
	}
	if err := d.Decode(data[:52], &v); err == nil {
		t.Error("a record without room for the fixed part was decoded")
	}
	lie := append([]byte(nil), data...)
	lie[32], lie[33] = 0xff, 0xff
	if err := d.Decode(lie, &v); err == nil || !strings.Contains(err.Error(), "65535") {
		t.Errorf("data outside of the record: %v", err)
	}
	lie = append([]byte(nil), data...)
	lie[0]++
	if err := d.Decode(lie, &v); err == nil {
		t.Error("another type's record was decoded")
	}
}

func TestFaultyDeclarations(t *testing.T) {
	panics := func(what string, define func()) {
		defer func() {
			if r := recover(); r == nil || !strings.HasPrefix(r.(string), "event: invariant: ") {
				t.Errorf("%s: recovered %v", what, r)
			}
		}()
		define()
	}
	panics("unknown field in the print fmt", func() {
		event.Define[struct {
			A uint8 `c:"u8 a"`
		}](1, "test", "x", `"%d", REC->b`).PrintErr()
	})
	panics("a Go type without a size", func() {
		event.Define[struct {
			A int `c:"int a"`
		}](1, "test", "x", `""`)
	})
	panics("array length differs", func() {
		event.Define[struct {
			A [3]uint8 `c:"u8 a[4]"`
		}](1, "test", "x", `""`)
	})
	panics("field behind an open array", func() {
		event.Define[struct {
			A string `c:"char a[]"`
			B uint8  `c:"u8 b"`
		}](1, "test", "x", `""`)
	})
}

func TestTable(t *testing.T) {
	a, _ := event.NewType(1, "s", "a", `""`, nil)
	b, _ := event.NewType(2, "s", "b", `""`, nil)
	table, err := event.NewTable(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if table.ByID(2) != b || table.ByName("s", "a") != a || table.ByID(3) != nil {
		t.Error("look-ups fail")
	}
	if c, _ := event.NewType(1, "s", "c", `""`, nil); table.Add(c) == nil {
		t.Error("an id was given twice")
	}
	if !table.Remove(a) || table.Remove(a) || table.ByID(1) != nil || len(table.All()) != 1 {
		t.Error("Remove")
	}
}

// An id that comes free is the next to be given, however late.
func TestTableFreeID(t *testing.T) {
	var table event.Table
	var types []*event.Type
	for n := range 4 {
		id, err := table.FreeID()
		if err != nil || id != 20+n {
			t.Fatalf("id %d, %v; want %d", id, err, 20+n)
		}
		typ, _ := event.NewType(id, "s", string(rune('a'+n)), `""`, nil)
		if err := table.Add(typ); err != nil {
			t.Fatal(err)
		}
		types = append(types, typ)
	}
	before := table.Changes()
	table.Remove(types[2])
	table.Remove(types[1])
	if id, _ := table.FreeID(); id != 21 || table.Changes() != before+2 {
		t.Errorf("id %d, %d changes; want 21, 2", id, table.Changes()-before)
	}
}
