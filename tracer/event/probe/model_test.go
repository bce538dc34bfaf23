package probe_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/probe"
)

// A register stored as a type is the register's low bytes as a number of that type, of
// a bitfield the bits that it names.
func TestNumbersModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64().Draw(t, "register")
		bits := rapid.SampledFrom([]int{8, 16, 32, 64}).Draw(t, "bits")
		mask := ^uint64(0) >> (64 - bits)
		width := rapid.IntRange(1, bits).Draw(t, "width")
		offset := rapid.IntRange(0, bits-width).Draw(t, "offset")
		signed := int64(v<<(64-bits)) >> (64 - bits)
		want := fmt.Sprintf("u=%d s=%d x=0x%x b=%d", v&mask, signed, v&mask, v&mask>>offset&(^uint64(0)>>(64-width)))

		d, err := probe.ParseKprobe(fmt.Sprintf("p:a/b vfs_read u=%%bx:u%d s=%%bx:s%d x=%%bx:x%d b=%%bx:b%d@%d/%d", bits, bits, bits, width, offset, bits), kernel{})
		if err != nil {
			t.Fatal(err)
		}
		typ, err := d.NewType(1)
		if err != nil {
			t.Fatal(err)
		}
		data := d.Append(nil, event.Common{}, probe.Hit{}, &machine{regs: map[string]uint64{"bx": v}})
		_, got, _ := strings.Cut(string(typ.AppendText(nil, data, nil)), ") ")
		if got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}
