package ringbuf_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ftracelab/ringbuf"
)

// put writes one numbered event: its number, and bytes that follow from it.
func put(b *ringbuf.Buffer, cpu int, ctx ringbuf.Context, n uint64) error {
	e, err := b.Reserve(cpu, ctx, 8+int(n%5)*4)
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(e.Data, n)
	for i := 8; i < len(e.Data); i++ {
		e.Data[i] = byte(n)
	}
	b.Commit(cpu, e)
	return nil
}

// number checks what put has written.
func number(data []byte) (uint64, error) {
	n := binary.LittleEndian.Uint64(data)
	for i := 8; i < 8+int(n%5)*4; i++ {
		if data[i] != byte(n) {
			return n, fmt.Errorf("event %d has byte %#x at %d", n, data[i], i)
		}
	}
	return n, nil
}

// writer is one CPU: events from 1 on, every third with an interrupt inside.
// It returns how many are in the ring or were overwritten.
func writer(b *ringbuf.Buffer, cpu int, stop *atomic.Bool) (n uint64, err error) {
	b.Online(cpu)
	defer b.Offline(cpu)
	for tries := 0; !stop.Load(); tries++ {
		if tries%100 == 0 {
			runtime.Gosched() // there may be more goroutines than CPUs
		}
		if n%3 != 0 {
			if err := put(b, cpu, ringbuf.Normal, n+1); err == nil {
				n++
			} else if !errors.Is(err, ringbuf.ErrFull) {
				return n, err
			}
			continue
		}
		e, err := b.Reserve(cpu, ringbuf.Normal, 8+int((n+1)%5)*4)
		if errors.Is(err, ringbuf.ErrFull) {
			continue
		} else if err != nil {
			return n, err
		}
		n++
		binary.LittleEndian.PutUint64(e.Data, n)
		for i := 8; i < len(e.Data); i++ {
			e.Data[i] = byte(n)
		}
		if n%2 == 0 {
			err = put(b, cpu, ringbuf.IRQ, n+1)
			if err == nil {
				n++
			}
		}
		b.Commit(cpu, e)
		if err != nil && !errors.Is(err, ringbuf.ErrFull) && !errors.Is(err, ringbuf.ErrCommitOverrun) {
			return n, err
		}
	}
	return n, nil
}

func ticks() func(int) uint64 {
	var now atomic.Uint64
	return func(int) uint64 { return now.Add(3) }
}

// soak is how long each of the tests here runs.
func soak() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("RINGBUF_SOAK")); err == nil {
		return d
	}
	if testing.Short() {
		return 50 * time.Millisecond
	}
	return 300 * time.Millisecond
}

// crew runs goroutines until the time is over, and collects their errors.
type crew struct {
	stop atomic.Bool
	wg   sync.WaitGroup
	errs chan error
}

func newCrew() *crew { return &crew{errs: make(chan error, 100)} }

func (c *crew) do(f func() error) {
	c.wg.Add(1)
	go func() {
		defer c.wg.Done()
		if err := f(); err != nil {
			select {
			case c.errs <- err:
			default:
			}
			c.stop.Store(true)
		}
	}()
}

func (c *crew) wait(t *testing.T, b *ringbuf.Buffer) {
	t.Helper()
	for end := time.Now().Add(soak()); time.Now().Before(end) && !c.stop.Load(); {
		time.Sleep(time.Millisecond)
	}
	c.stop.Store(true)
	c.wg.Wait()
	for len(c.errs) > 0 {
		t.Error(<-c.errs)
	}
	for cpu := range b.CPUs() {
		if err := ringbuf.Check(b, cpu); err != nil {
			t.Errorf("cpu %d: %v", cpu, err)
		}
	}
}

// stream checks what a consuming reader gets: nothing twice, nothing missing
// that was not told as lost.
type stream struct{ last, lost, read uint64 }

func (s *stream) got(data []byte, lost uint64) error {
	n, err := number(data)
	switch {
	case err != nil:
		return err
	case lost != ringbuf.LostUnknown && n != s.last+1+lost:
		return fmt.Errorf("event %d after %d, %d told as lost", n, s.last, lost)
	case n <= s.last:
		return fmt.Errorf("event %d after %d", n, s.last)
	}
	s.lost += n - s.last - 1
	s.last = n
	s.read++
	return nil
}

func (s *stream) gotPage(image []byte) error {
	r, err := ringbuf.ReadPageImage(image)
	if err != nil {
		return err
	}
	missed, lost, known := r.Missed()
	if missed && !known {
		lost = ringbuf.LostUnknown
	}
	for e, ok := r.Next(); ok; e, ok = r.Next() {
		if e.IsData() {
			if err := s.got(e.Data, lost); err != nil {
				return fmt.Errorf("%w\n%s", err, ringbuf.DumpPage(image))
			}
			lost = 0
		}
	}
	return r.Err()
}

// A writer with interrupts at full speed, and beside it one reader that consumes
// events or pages, iterators, and readers of the counters.
func TestReadersBesideWriter(t *testing.T) {
	for _, cfg := range []ringbuf.Config{
		{CPUs: 2, Size: 2 * 112, SubbufSize: 128},
		{CPUs: 2, Size: 16 * 4080},
		{CPUs: 2, Size: 5 * 112, SubbufSize: 128, NoOverwrite: true},
		{CPUs: 2, Size: 3 * 496, SubbufSize: 512, AbsoluteTime: true},
	} {
		t.Run(fmt.Sprintf("%d of %d overwrite %v", cfg.Size, cfg.SubbufSize, !cfg.NoOverwrite), func(t *testing.T) {
			cfg.Clock = ticks()
			b := mustNew(t, cfg)
			c := newCrew()
			var streams [2]stream
			var written [2]uint64
			for cpu := range 2 {
				c.do(func() (err error) { written[cpu], err = writer(b, cpu, &c.stop); return err })
				c.do(func() error { return iterate(b, cpu, &c.stop) })
			}
			c.do(func() error { return consume(b, 0, &c.stop, &streams[0]) })
			c.do(func() error { return readPages(b, 1, &c.stop, &streams[1]) })
			c.do(func() error {
				for !c.stop.Load() {
					if s := b.Stats(0); s.Entries > 1<<40 || s.Bytes > 1<<40 {
						return fmt.Errorf("%+v", s)
					}
					b.WatermarkHit(0, 50)
					runtime.Gosched()
				}
				return nil
			})
			c.wait(t, b)
			for cpu := range 2 {
				s := &streams[cpu]
				for e, ok := b.Consume(cpu); ok; e, ok = b.Consume(cpu) {
					if err := s.got(e.Data, e.Lost); err != nil {
						t.Fatal(err)
					}
				}
				stats := b.Stats(cpu)
				if s.last != written[cpu] || s.read+s.lost != written[cpu] || stats.Overrun != s.lost || stats.Read != s.read {
					t.Errorf("cpu %d: %d written, %+v, %+v", cpu, written[cpu], *s, stats)
				}
				t.Logf("cpu %d: %d written, %d read, %d lost", cpu, written[cpu], s.read, s.lost)
			}
		})
	}
}

func consume(b *ringbuf.Buffer, cpu int, stop *atomic.Bool, s *stream) error {
	for !stop.Load() {
		e, ok := b.Consume(cpu)
		if !ok {
			runtime.Gosched()
		} else if err := s.got(e.Data, e.Lost); err != nil {
			return err
		}
	}
	return nil
}

func readPages(b *ringbuf.Buffer, cpu int, stop *atomic.Bool, s *stream) error {
	image := make([]byte, b.SubbufSize())
	for n := 0; !stop.Load(); n++ {
		if !b.ReadPage(cpu, image, n%3 == 0) {
			runtime.Gosched()
		} else if err := s.gotPage(image); err != nil {
			return err
		}
	}
	return nil
}

// iterate goes round with iterators. Where they are is not checked: whenever
// events are consumed they are sent back.
func iterate(b *ringbuf.Buffer, cpu int, stop *atomic.Bool) error {
	for !stop.Load() {
		it := b.Iter(cpu)
		for n := 0; n < 1000 && !stop.Load(); n++ {
			e, ok := it.Next()
			if !ok {
				break
			}
			if _, err := number(e.Data); err != nil {
				return fmt.Errorf("iterator: %w", err)
			}
		}
		runtime.Gosched()
	}
	return nil
}

// Without a consuming reader an iterator never goes back, and tells every gap.
func TestIteratorBesideWriter(t *testing.T) {
	b := mustNew(t, ringbuf.Config{CPUs: 1, Size: 4 * 240, SubbufSize: 256, Clock: ticks()})
	c := newCrew()
	c.do(func() error { _, err := writer(b, 0, &c.stop); return err })
	var events, gaps [2]int
	for i := range 2 {
		c.do(func() error {
			for !c.stop.Load() {
				it, last := b.Iter(0), uint64(0)
				for e, ok := it.Next(); ok && !c.stop.Load(); e, ok = it.Next() {
					n, err := number(e.Data)
					switch told := e.Lost != 0; {
					case err != nil:
						return err
					case last != 0 && n <= last, last != 0 && n != last+1 && !told:
						return fmt.Errorf("event %d after %d, loss told: %v", n, last, told)
					case told:
						gaps[i]++
					}
					last = n
					events[i]++
				}
			}
			return nil
		})
	}
	c.wait(t, b)
	t.Logf("%v events, %v gaps told", events, gaps)
}

// Everything at once: two CPUs write and are interrupted, several readers of each
// kind, one that maps the ring, and the ring is resized, emptied, switched, and
// exchanged for a snapshot's meanwhile. Nothing is checked of what is read but that
// it is whole, since resets and several readers make it unpredictable.
func TestControlBesideWriter(t *testing.T) {
	cfg := ringbuf.Config{CPUs: 2, Size: 4 * 112, SubbufSize: 128, Clock: ticks()}
	b, snap := mustNew(t, cfg), mustNew(t, cfg)
	c := newCrew()
	for cpu := range 2 {
		c.do(func() error { return writerThatRests(b, cpu, &c.stop) })
		c.do(func() error { return iterate(b, cpu, &c.stop) })
		c.do(func() error { return mapAgain(b, cpu, &c.stop) })
		for range 2 {
			c.do(func() error {
				image := make([]byte, 4096)
				for !c.stop.Load() {
					if !b.ReadPage(cpu, image, false) {
						runtime.Gosched()
						continue
					}
					r, err := ringbuf.ReadPageImage(image[:128])
					if err != nil {
						continue // a page of another size
					}
					for e, ok := r.Next(); ok; e, ok = r.Next() {
						if e.IsData() {
							if _, err := number(e.Data); err != nil {
								return err
							}
						}
					}
				}
				return nil
			})
		}
		c.do(func() error {
			for !c.stop.Load() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
				if err := b.Wait(ctx, cpu, 50*cpu); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					cancel()
					return err
				}
				cancel()
			}
			return nil
		})
	}
	c.do(func() error { return iterate(snap, 0, &c.stop) })
	var changes, refused, snapshots int
	c.do(func() error {
		for n := 0; !c.stop.Load(); n++ {
			err := change(b, n)
			if n%3 == 0 {
				if err = ringbuf.SwapCPU(b, snap, n/3%2); err == nil {
					snapshots++
				}
			}
			switch {
			case err == nil:
				changes++
			case errors.Is(err, syscall.EBUSY) || n%3 == 0 && errors.Is(err, syscall.EINVAL):
				refused++ // mapped, or the rings are not alike
			default:
				return err
			}
			if n%50 == 0 { // alike again
				errs := errors.Join(snap.SetSubbufSize(b.SubbufSize()), b.ResizeAll(4*112), snap.ResizeAll(4*112))
				if errs != nil && !errors.Is(errs, syscall.EBUSY) {
					return errs
				}
			}
			time.Sleep(20 * time.Microsecond)
		}
		return nil
	})
	c.wait(t, b)
	for cpu := range 2 {
		if err := ringbuf.Check(snap, cpu); err != nil {
			t.Errorf("the snapshot, cpu %d: %v", cpu, err)
		}
	}
	t.Logf("%d changes, %d refused, %d snapshots", changes, refused, snapshots)
}

// mapAgain maps the ring, reads a few sub-buffers, and lets it go again.
func mapAgain(b *ringbuf.Buffer, cpu int, stop *atomic.Bool) error {
	for !stop.Load() {
		m, err := b.Map(cpu)
		if err != nil {
			return err
		}
		for range 3 {
			m.GetReader()
			r, err := ringbuf.ReadPageImage(m.Reader())
			if err != nil {
				m.Close()
				return err
			}
			for e, ok := r.Next(); ok; e, ok = r.Next() {
				if e.IsData() {
					if _, err := number(e.Data); err != nil {
						m.Close()
						return fmt.Errorf("mapped: %w", err)
					}
				}
			}
		}
		m.Close()
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

func change(b *ringbuf.Buffer, n int) error {
	cpu := n & 1
	switch n / 2 % 7 {
	case 0:
		return b.Resize(cpu, 7*112)
	case 1:
		b.Reset(cpu)
	case 2:
		return b.ResizeAll(2 * 112)
	case 3:
		b.SetOverwrite(n%3 != 0)
	case 4:
		b.SetCPURecording(cpu, false)
		b.SetCPURecording(cpu, true)
	case 5:
		if n%5 == 0 {
			return b.SetSubbufSize(128 << (n % 2))
		}
	case 6:
		b.SetRecording(n%2 == 0)
		b.SetRecording(true)
	}
	return nil
}

// putNested writes an event, and every third time another inside of it, every
// fifth of which is discarded.
func putNested(b *ringbuf.Buffer, cpu int, n uint64) error {
	if n%3 != 0 {
		return put(b, cpu, ringbuf.Normal, n)
	}
	e, err := b.Reserve(cpu, ringbuf.Normal, 8+int(n%5)*4)
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(e.Data, n)
	for i := 8; i < len(e.Data); i++ {
		e.Data[i] = byte(n)
	}
	if n%5 == 0 {
		inner, err := b.Reserve(cpu, ringbuf.IRQ, 40)
		if err == nil {
			clear(inner.Data)
			b.Discard(cpu, inner)
		}
	} else if err = put(b, cpu, ringbuf.SoftIRQ, n+1); errors.Is(err, ringbuf.ErrCommitOverrun) {
		err = nil
	}
	b.Commit(cpu, e)
	return err
}

// writerThatRests goes offline and idles now and then.
func writerThatRests(b *ringbuf.Buffer, cpu int, stop *atomic.Bool) error {
	b.Online(cpu)
	defer func() { b.Offline(cpu) }()
	for n := uint64(1); !stop.Load(); n++ {
		err := putNested(b, cpu, n)
		if err != nil && !errors.Is(err, ringbuf.ErrFull) && !errors.Is(err, ringbuf.ErrDisabled) {
			return err
		}
		switch {
		case n%1000 == 0:
			b.Offline(cpu)
			runtime.Gosched()
			b.Online(cpu)
		case n%100 == 0:
			b.Idle(cpu)
			runtime.Gosched()
		}
	}
	return nil
}
