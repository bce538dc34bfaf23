package stackcode

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawStack draws a stack that often shares its outer addresses with ref.
func drawStack(t *rapid.T, ref []uint64, name string) []uint64 {
	address := rapid.OneOf(
		rapid.Uint64(), rapid.Uint64Range(0xffffffff81000000, 0xffffffff83ffffff),
		rapid.Uint64Range(0xffffffffc0000000, 0xffffffffc0ffffff), rapid.Uint64Range(0x400000, 0x7fffffffffff),
		rapid.SampledFrom([]uint64{0, 1, 1 << 63, 1<<63 - 1, ^uint64(0)}),
	)
	own := rapid.SliceOfN(address, 0, 40).Draw(t, name)
	return append(own, ref[rapid.IntRange(0, len(ref)).Draw(t, name+" shares from"):]...)
}

// TestRoundTrip: what was written is read again, whatever the stacks are, and however
// many zeros the ring buffer puts behind it.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ref := drawStack(t, nil, "reference")
		ips := drawStack(t, ref, "stack")
		shared := Shared(ref, ips)
		if !slices.Equal(ref[len(ref)-shared:], ips[len(ips)-shared:]) || shared < len(ref) && shared < len(ips) && ref[len(ref)-1-shared] == ips[len(ips)-1-shared] {
			t.Fatalf("%d addresses are shared by %#x and %#x", shared, ref, ips)
		}
		for _, c := range []Code{Prefix, Delta} {
			data := c.Append([]byte{}, ref, ips, shared)
			if c == Prefix && len(data) != wordSize*(len(ips)-shared) {
				t.Fatalf("%d bytes for %d addresses", len(data), len(ips)-shared)
			}
			data = append(data, make([]byte, rapid.IntRange(0, 7).Draw(t, "zeros"))...)
			got, err := c.Decode([]uint64{7}, ref, len(ips)-shared, shared, data)
			if err != nil || !slices.Equal(got, append([]uint64{7}, ips...)) {
				t.Fatalf("%v: %#x, want %#x: %v", c, got, ips, err)
			}
		}
	})
}

// TestDelta: how the differences are counted.
func TestDelta(t *testing.T) {
	for _, c := range []struct {
		ref, ips []uint64
		want     []byte
	}{
		{nil, []uint64{^uint64(0)}, []byte{1}},                              // -1
		{nil, []uint64{12, 10}, []byte{20, 4}},                              // 10, then 2 more
		{[]uint64{5, 9}, []uint64{8, 9}, []byte{6}},                         // 3 more than 5
		{[]uint64{9}, []uint64{8, 9}, []byte{1}},                            // the reference ends; 1 less than 9
		{[]uint64{5, 9}, []uint64{6, 8, 9}, []byte{6, 3}},                   // 3 more than 5, then 2 less
		{[]uint64{5, 9}, []uint64{5, 9}, []byte{}},                          // all is shared
		{[]uint64{5, 9}, []uint64{9}, []byte{}},                             // an outer part is
		{nil, []uint64{0xffffffff81000000}, []byte{255, 255, 255, 239, 15}}, // 5 bytes
	} {
		if got := Delta.Append(nil, c.ref, c.ips, Shared(c.ref, c.ips)); !slices.Equal(got, c.want) {
			t.Errorf("%#x after %#x: % d, want % d", c.ips, c.ref, got, c.want)
		}
	}
}

// TestDamaged: what is wrong with a record is said, and nothing is read from it.
func TestDamaged(t *testing.T) {
	ref := []uint64{1, 2, 3}
	for _, c := range []struct {
		code        Code
		own, shared int
		data        []byte
		want        string
	}{
		{Prefix, 0, 4, nil, "it shares 4 addresses with a stack of 3"},
		{Prefix, 1, 0, make([]byte, 7), "within an address"},
		{Prefix, 2, 0, make([]byte, 15), "within an address"},
		{Delta, 1, 0, nil, "within an address"},
		{Delta, 1, 0, []byte{0x80, 0x80}, "within an address"},
		{Delta, 2, 0, []byte{1, 0x80}, "within an address"},
		{Delta, 1, 0, []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 2}, "within an address"},
		{Delta, 1, 1, []byte{1, 0, 0, 1}, "something follows"},
		{Prefix, 0, 1, []byte{1, 0}, "something follows"},
	} {
		got, err := c.code.Decode([]uint64{9}, ref, c.own, c.shared, c.data)
		if err == nil || !strings.Contains(err.Error(), c.want) || !slices.Equal(got, []uint64{9}) {
			t.Errorf("%v, %d own, %d shared, % x: %#x, %v, want …%s…", c.code, c.own, c.shared, c.data, got, err, c.want)
		}
	}
}
