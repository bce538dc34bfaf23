package synth_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/synth"
)

// The captured definitions have the captured format files.
func TestFormat(t *testing.T) {
	dir := filepath.Join(testutil.Oracle(t), "full/dynamic_hist_misc/synthetic")
	list, err := os.ReadFile(filepath.Join(dir, "dynamic_events"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		line = strings.TrimSuffix(line, "\n")
		d, err := synth.ParseDynamic(line, none)
		if err != nil {
			t.Fatal(err)
		}
		if got := "s:synthetic/" + d.Show(); got != line {
			t.Errorf("%q is shown as %q", line, got)
		}
		want, err := os.ReadFile(filepath.Join(dir, "events/synthetic", d.Name, "format"))
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := event.ParseFormat(synth.System, want)
		if err != nil {
			t.Fatal(err)
		}
		ours, err := d.NewType(theirs.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := ours.Format(); !bytes.Equal(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// The captured records of wakeup_lat come out again, but for what stood in the
// buffer where no value fills a field.
func TestCapturedRecords(t *testing.T) {
	dir := filepath.Join(testutil.Oracle(t), "full/dynamic_hist_misc/synthetic")
	d := parse(t, "wakeup_lat u64 lat; pid_t pid; char comm[16]")
	typ, err := d.NewType(1139)
	if err != nil {
		t.Fatal(err)
	}
	recs := 0
	for _, name := range []string{"cpu0.raw", "cpu1.raw"} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		// A record of 280 bytes stands behind a word with its length.
		head := []byte{284 & 0xff, 284 >> 8, 0, 0, 1139 & 0xff, 1139 >> 8, 1, 5}
		for n := bytes.Index(raw, head); n >= 0; n = bytes.Index(raw, head) {
			data := raw[n+4 : n+4+280]
			raw = raw[n+4+280:]
			values := []synth.Value{
				{N: typ.Field("lat").Uint(data)},
				{N: typ.Field("pid").Uint(data)},
				{B: typ.Field("comm").Bytes(data)},
			}
			recs++
			got := d.Append(nil, event.ParseCommon(data), values)
			const pidEnd, comm = 20, 24
			commEnd := comm + bytes.IndexByte(data[comm:], 0) + 1
			if len(got) != len(data) || !bytes.Equal(got[:pidEnd], data[:pidEnd]) || !bytes.Equal(got[comm:commEnd], data[comm:commEnd]) {
				t.Fatalf("record %d\n%s\nwant\n%s", recs, hex.Dump(got), hex.Dump(data))
			}
		}
	}
	if recs < 200 {
		t.Errorf("%d records", recs)
	}
}

func stack(words ...uint64) (b []byte) {
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// Dynamic data stands in the order of the fields behind all slots.
func TestAppend(t *testing.T) {
	d := parse(t, "mixed char name[]; u16 x; unsigned long[] st; char fixed[8]; s8 y; char bad[]; char[16] last")
	typ, err := d.NewType(7)
	if err != nil {
		t.Fatal(err)
	}
	values := []synth.Value{
		{B: []byte("ab\x00rest")},
		{N: 0x12345},
		{B: stack(0x1111, 0x2222)},
		{B: []byte("longer than 8")}, // goes on behind the field: its slots have room
		{N: ^uint64(0)},
		{},
		{}, // cannot be read
	}
	data := d.Append(nil, event.Common{Type: 7, PID: 3}, values)
	const slots = 8 + 5*8 + 2*256
	if want := slots + 3 + 24; len(data) != want {
		t.Fatalf("%d bytes, want %d", len(data), want)
	}
	for name, want := range map[string]string{"name": "ab", "fixed": "longer t", "bad": "", "last": "(fault)"} {
		if got := typ.Field(name).String(data); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if x, y := typ.Field("x").Uint(data), typ.Field("y").Int(data); x != 0x2345 || y != -1 {
		t.Error(x, y)
	}
	if got := typ.Field("st").Bytes(data); !bytes.Equal(got, stack(2, 0x1111, 0x2222)) {
		t.Errorf("%x", got)
	}
	if got := string(data[typ.Field("fixed").Offset:][:14]); got != "longer than 8\x00" {
		t.Errorf("%q", got)
	}
	if got := typ.Field("st").Uint(data); got != 24<<16|(slots+3) {
		t.Errorf("%x", got)
	}
}

// A stack ends at a zero, and 15 addresses of it are copied; its room is for all
// that there are, to 16.
func TestAppendStack(t *testing.T) {
	d := parse(t, "s unsigned long[] st")
	typ, err := d.NewType(7)
	if err != nil {
		t.Fatal(err)
	}
	full := make([]uint64, 17)
	for n := range full {
		full[n] = uint64(n + 1)
	}
	for _, c := range []struct {
		addrs      []byte
		room, used int
	}{
		{nil, 8, 0},
		{stack(0), 16, 8},
		{stack(1, 0, 2), 32, 16},
		{stack(1, 2, 3), 32, 32},
		{stack(full[:15]...), 16 * 8, 16 * 8},
		{stack(full...), 17 * 8, 16 * 8},
		{stack(1, 2)[:12], 16, 16},
	} {
		data := d.Append(nil, event.Common{}, []synth.Value{{B: c.addrs}})
		if got := len(data) - 16; got != c.room {
			t.Errorf("%x: room %d, want %d", c.addrs, got, c.room)
		}
		want := append(stack(uint64(min(16, len(c.addrs)/8))), c.addrs...)[:c.used]
		if got := typ.Field("st").Bytes(data); !bytes.Equal(got, want) {
			t.Errorf("%x: %x", c.addrs, got)
		}
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	d := parse(t, "mixed char name[]; u16 x; unsigned long[] st; char fixed[8]")
	values := []synth.Value{{B: []byte("abc")}, {N: 1}, {B: stack(1, 1)}, {B: []byte("def")}}
	dst := make([]byte, 0, 512)
	if n := testing.AllocsPerRun(100, func() { dst = d.Append(dst[:0], event.Common{}, values) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
