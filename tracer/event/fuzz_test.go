package event_test

import (
	"bytes"
	"testing"

	"ftracelab/tracer/event"
)

// Any text is an error or a type that writes a format which reads back the
// same, and that renders any record.
func FuzzParseFormat(f *testing.F) {
	data := bytes.Repeat([]byte{0x10, 0, 4, 0}, 32)
	f.Add([]byte(wakeupFormat), data)
	for i, file := range splitFormats(f, readFile(f, "testdata/formats.txt")) {
		if i%100 == 0 {
			f.Add(file.text, data)
		}
	}
	f.Fuzz(func(t *testing.T, text, data []byte) {
		typ, err := event.ParseFormat("fuzz", text)
		if err != nil {
			return
		}
		format := typ.Format()
		again, err := event.ParseFormat("fuzz", format)
		if err != nil {
			t.Fatalf("own format: %v\n%s", err, format)
		}
		if second := again.Format(); !bytes.Equal(format, second) {
			t.Fatalf("formats differ:\n%s\n%s", format, second)
		}
		typ.AppendText(nil, data, nil)
		typ.AppendFields(nil, data, nil)
		for i := range typ.Fields {
			fd := &typ.Fields[i]
			_, _, _, _ = fd.Int(data), fd.Bytes(data), fd.String(data), fd.ElemSize()
		}
	})
}

// Any bytes are an error, or a record whose meaning survives being written.
func FuzzDecode(f *testing.F) {
	d := event.Define[mixed](900, "test", "mixed", `"%s", __get_str(d)`)
	f.Add(d.Append(nil, event.Common{PID: 1}, &mixed{A: 1, D: "text", E: []uint64{1, 2}, G: []byte("x")}))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v, w mixed
		if d.Decode(data, &v) != nil {
			return
		}
		if err := d.Decode(d.Append(nil, event.ParseCommon(data), &v), &w); err != nil && len(v.D)+8*len(v.E)+len(v.G) < 1<<15 {
			t.Fatal(err)
		}
	})
}
