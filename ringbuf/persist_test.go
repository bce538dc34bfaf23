package ringbuf_test

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"ftracelab/ringbuf"
)

var imageConfig = ringbuf.Config{CPUs: 1, Size: 3 * 48, SubbufSize: 64, Clock: func(int) uint64 { return 1 }}

const imageBase = 0xffff888000000000

// readable is what a reader would find, without the buffer being changed.
func readable(b *ringbuf.Buffer) (list []string) {
	it := b.Iter(0)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		list = append(list, fmt.Sprintf("%d:%s", e.Time, e.Data))
	}
	return list
}

func recovered(image []byte) ([]string, error) {
	b, err := ringbuf.Recover(image, imageConfig)
	if err != nil {
		return nil, err
	}
	if err := ringbuf.Check(b, 0); err != nil && !errors.Is(err, ringbuf.ErrLedger) {
		return nil, err
	}
	var list []string
	for e, ok := b.Consume(0); ok; e, ok = b.Consume(0) {
		list = append(list, fmt.Sprintf("%d:%s", e.Time, e.Data))
	}
	return list, nil
}

// crashRun calls crash at every point of a run with interrupts at every point,
// discards, overwriting, and a reader between the events.
func crashRun(t *testing.T, crash func(b *ringbuf.Buffer)) {
	for _, point := range ringbuf.Points {
		var now uint64
		cfg := imageConfig
		cfg.Clock = func(int) uint64 { now += 10; return now }
		b := mustNew(t, cfg)
		interrupted := false // once in each event
		ringbuf.Interrupt(b, 0, func(at string) {
			crash(b)
			if !interrupted && at == point {
				interrupted = true
				if e, err := b.Reserve(0, ringbuf.IRQ, 4+int(now%3)*4); err == nil {
					copy(e.Data, "irq.........")
					crash(b)
					if now%20 == 0 {
						b.Discard(0, e)
					} else {
						b.Commit(0, e)
					}
				}
			}
		})
		for n := range 40 {
			interrupted = false
			if n == 30 {
				now += 1 << 40 // a time extend
			}
			e, err := b.Reserve(0, ringbuf.Normal, 4+n%3*4)
			if err != nil {
				continue
			}
			copy(e.Data, fmt.Sprintf("%04d........", n))
			crash(b)
			if n%7 == 3 {
				b.Discard(0, e)
			} else {
				b.Commit(0, e)
			}
			crash(b)
			if n%5 == 4 {
				b.Consume(0)
				crash(b)
			}
		}
	}
}

// Whenever the machine crashes, what was readable is readable after the reboot;
// events that were read from the reader page's start come again.
func TestCrashAnywhere(t *testing.T) {
	crashes, events := 0, 0
	crashRun(t, func(b *ringbuf.Buffer) {
		got, err := recovered(b.Image(0, imageBase))
		if err != nil {
			t.Fatalf("crash %d: %v", crashes, err)
		}
		crashes++
		if !ringbuf.HasHead(b, 0) {
			return
		}
		want := readable(b)
		if len(got) < len(want) || !slices.Equal(got[len(got)-len(want):], want) || len(got)-len(want) > 6 {
			t.Fatalf("crash %d: recovered %q, was %q", crashes, got, want)
		}
		events += len(want)
	})
	t.Logf("%d crashes, %d events recovered", crashes, events)
}

// Every bit of an image turned over: Recover refuses it, or all that it accepts can
// be read to the end. What would lead out of a page, or to no page, is refused.
func TestCrashedBits(t *testing.T) {
	images := map[string][]byte{}
	n := 0
	crashRun(t, func(b *ringbuf.Buffer) {
		if n++; n%97 == 0 {
			images[fmt.Sprint(n)] = b.Image(0, imageBase)
		}
	})
	refused, accepted := 0, 0
	for name, image := range images {
		for bit := range 8 * len(image) {
			image[bit/8] ^= 1 << (bit % 8)
			_, err := recovered(image)
			switch off := bit / 8; {
			case err == nil:
				accepted++
				if off < 8 || off >= 48 && off < 72 {
					t.Fatalf("image %s: bit %d of byte %d is of no matter", name, bit%8, off)
				}
			case !errors.Is(err, syscall.EINVAL):
				t.Fatalf("image %s: bit %d of byte %d: %v", name, bit%8, off, err)
			default:
				refused++
			}
			image[bit/8] ^= 1 << (bit % 8)
		}
	}
	t.Logf("%d images: %d bits refused, %d of no matter to the structure", len(images), refused, accepted)
	if refused == 0 || accepted == 0 {
		t.Error("not all was tried")
	}
}

func FuzzRecover(f *testing.F) {
	n := 0
	b, _ := ringbuf.New(imageConfig)
	for range 10 {
		e, _ := b.Reserve(0, ringbuf.Normal, 12)
		b.Commit(0, e)
		if n++; n%3 == 0 {
			f.Add(b.Image(0, imageBase))
		}
	}
	f.Fuzz(func(t *testing.T, image []byte) {
		if _, err := recovered(image); err != nil && !errors.Is(err, syscall.EINVAL) {
			t.Fatal(err)
		}
	})
}
