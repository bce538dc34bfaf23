package ringbuf_test

import (
	"reflect"
	"testing"

	"ftracelab/ringbuf"

	"pgregory.net/rapid"
)

// TestCopy: a copy and its original look the same, and still do after the same has happened
// to both; what happens to one of them the other does not see.
func TestCopy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type ring struct {
			b   *ringbuf.Buffer
			now uint64
		}
		size := rapid.SampledFrom([]int{64, 256}).Draw(t, "subbuf")
		a := new(ring)
		clock := func(r *ring) func(int) uint64 { return func(int) uint64 { r.now += 10; return r.now } }
		var err error
		a.b, err = ringbuf.New(ringbuf.Config{
			CPUs: 1, Size: rapid.IntRange(2, 5).Draw(t, "pages") * (size - 16), SubbufSize: size, Clock: clock(a),
			NoOverwrite: rapid.Bool().Draw(t, "no overwrite"), AbsoluteTime: rapid.Bool().Draw(t, "absolute"),
		})
		if err != nil {
			t.Fatal(err)
		}
		act := func(rings ...*ring) {
			what, n := rapid.IntRange(0, 9).Draw(t, "what"), rapid.IntRange(1, 30).Draw(t, "length")
			for _, r := range rings {
				switch what {
				case 0:
					r.b.Consume(0)
				case 1:
					r.b.ReadPage(0, make([]byte, size), false)
				case 2:
					r.now += 1 << 28
				default:
					e, err := r.b.Reserve(0, ringbuf.Normal, n)
					if err != nil {
						continue
					}
					for i := range e.Data {
						e.Data[i] = byte(n)
					}
					if what == 3 {
						r.b.Discard(0, e)
					} else {
						r.b.Commit(0, e)
					}
				}
			}
		}
		some := rapid.IntRange(0, 40)
		for range some.Draw(t, "before") {
			act(a)
		}
		b := &ring{now: a.now}
		b.b = a.b.Copy(clock(b))
		looks := func(r *ring) []any {
			s := r.b.Stats(0)
			return []any{r.b.Diagram(0), s, r.b.Ledger(0), r.b.Page(0)}
		}
		same := func(when string) {
			if one, other := looks(a), looks(b); !reflect.DeepEqual(one, other) {
				t.Fatalf("%s:\n%+v\n%+v", when, one, other)
			}
		}
		same("at once")
		for range some.Draw(t, "both") {
			act(a, b)
			same("after the same")
		}
		before := looks(a)
		for range some.Draw(t, "one") {
			act(b)
		}
		if after := looks(a); !reflect.DeepEqual(before, after) {
			t.Fatal("the original sees what happens to the copy")
		}
	})
}
