package ringbuf_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"ftracelab/internal/testutil"
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

func recovered(image []byte, cfg ringbuf.Config) ([]string, error) {
	b, err := ringbuf.Recover(image, cfg)
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
// discards, and a reader between the events; overwriting, not overwriting, and with
// absolute stamps.
func crashRun(t *testing.T, crash func(b *ringbuf.Buffer)) {
	runs := 3 * ringbuf.Points
	if testutil.UnderRace {
		runs = 3
	}
	for run := range runs {
		var now uint64
		point := run / 3
		cfg := imageConfig
		cfg.NoOverwrite, cfg.AbsoluteTime = run%3 == 1, run%3 == 2
		cfg.Clock = func(int) uint64 { now += 10; return now }
		b := mustNew(t, cfg)
		interrupted := false // once in each event
		b.Interrupt(0, func(at ringbuf.Point) {
			crash(b)
			if !interrupted && at == ringbuf.Point(point) {
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
		got, err := recovered(b.Image(0, imageBase), imageConfig)
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
	var images [][]byte
	n, every := 0, 499
	if testing.Short() {
		every = 1999
	}
	crashRun(t, func(b *ringbuf.Buffer) {
		if n++; n%every == 0 {
			images = append(images, b.Image(0, imageBase))
		}
	})
	refused, accepted := 0, 0
	for name, image := range images {
		for bit := range 8 * len(image) {
			image[bit/8] ^= 1 << (bit % 8)
			_, err := recovered(image, imageConfig)
			switch off := bit / 8; {
			case err == nil:
				accepted++
				if astray := leadsAstray(image, 64); astray != "" || off < 8 || off >= 48 && off < 72 {
					t.Fatalf("image %d: bit %d of byte %d is accepted, %s", name, bit%8, off, astray)
				}
			case !errors.Is(err, syscall.EINVAL):
				t.Fatalf("image %d: bit %d of byte %d: %v", name, bit%8, off, err)
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

// leadsAstray tells what in an image would lead a parser that trusts it out of a
// page or to no page. It shares nothing with the code that is tested.
func leadsAstray(image []byte, size int) string {
	le := binary.LittleEndian
	n := uint64(le.Uint32(image[52:]))
	start := (56 + 4*n + 7) / 8 * 8
	if start+n*uint64(size) > uint64(len(image)) {
		return "sub-buffers past its end"
	}
	first := le.Uint64(image[24:])
	head, commit := (le.Uint64(image[32:])-first)/uint64(size), (le.Uint64(image[40:])-first)/uint64(size)
	if head >= n || commit >= n {
		return "a head or commit that is no sub-buffer"
	}
	seen := map[uint64]bool{}
	var order []uint64
	for i := range n {
		id := uint64(le.Uint32(image[56+4*i:]))
		if id >= n || seen[id] {
			return "a number that is no sub-buffer, or twice the same"
		}
		seen[id] = true
		order = append(order, id)
		if le.Uint64(image[start+id*uint64(size)+8:]) > uint64(size-16) {
			return "a commit past the end of its sub-buffer"
		}
	}
	at := slices.Index(order, head)
	for k, id := 0, order[0]; k <= int(n); k++ {
		if k > 0 {
			id = order[at]
			if at++; at == len(order) {
				at = 1
			}
		}
		page := image[start+id*uint64(size):][:size]
		if fault := runsOut(page[16 : 16+le.Uint64(page[8:])]); fault != "" {
			return fault
		}
		if id == commit {
			break
		}
	}
	return ""
}

func runsOut(data []byte) string {
	le := binary.LittleEndian
	for len(data) > 0 {
		if len(data) < 4 {
			return "half an event header"
		}
		head, length := le.Uint32(data), uint64(8)
		switch kind := head & 31; {
		case kind == 29 && head>>5 == 0:
			return ""
		case kind == 0 || kind == 29:
			if len(data) < 8 {
				return "half an event"
			}
			length = 4 + uint64(le.Uint32(data[4:]))
		case kind < 29:
			length = 4 + 4*uint64(kind)
		}
		if length > uint64(len(data)) {
			return "an event that runs past the commit"
		}
		data = data[length:]
	}
	return ""
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
		if _, err := recovered(image, imageConfig); err != nil && !errors.Is(err, syscall.EINVAL) {
			t.Fatal(err)
		}
	})
}
