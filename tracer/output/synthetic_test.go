package output_test

import (
	"testing"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/synth"
	"ftracelab/tracer/output"
)

// The text of a synthetic event as the kernel's function makes it: small numbers
// without their sign, the names of a gfp_t behind the blank, nothing behind a stack.
func TestSynthetic(t *testing.T) {
	d, _, err := synth.Parse("e s8 a; s32 b; gfp_t g; s64 c; gfp_t none; char d[4]; unsigned long[] st; char last[]",
		func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	typ, err := d.NewType(1500)
	if err != nil {
		t.Fatal(err)
	}
	types, err := event.NewTable(typ)
	if err != nil {
		t.Fatal(err)
	}
	minus := ^uint64(0)
	data := d.Append(nil, event.Common{Type: 1500, PID: 1558}, []synth.Value{
		{N: minus},
		{N: minus},
		{N: 0xdc0},
		{N: minus},
		{},
		{B: []byte("beyond it")},
		{B: bytesOf([2]uint64{0x1234, 8}, [2]uint64{0x5678, 8})},
		{B: []byte("end")},
	})
	for options, want := range map[output.Options]string{
		0: "e: a=255 b=-1 g=dc0  (GFP_KERNEL|__GFP_ZERO)c=-1 none=0  ()d=beyond it st=STACK:\n" +
			"=> 0x1234\n=> 0x5678\nlast=end\n",
		output.Verbose: "e: %d a=255 %d b=-1 %x g=dc0  (GFP_KERNEL|__GFP_ZERO)%lld c=-1 %x none=0  ()%s d=beyond it %s st=STACK:\n" +
			"=> 0x1234\n=> 0x5678\n%s last=end\n",
	} {
		if got := printOne(t, output.Config{Types: types, Options: options}, data, 0); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}
