package bench

import (
	"context"
	"sync"
	"time"

	"ftracelab/ringbuf"
)

const ringSize = 1408 << 10 // the kernel's default for one CPU

// clock makes a ringbuf.Config.Clock for that many CPUs.
type clock func(cpus int) func(cpu int) uint64

// virtual makes a clock that costs an addition. No two CPUs share a cache line of it.
func virtual(cpus int) func(cpu int) uint64 {
	clocks := make([]struct {
		_   [64]byte
		now uint64
		_   [64]byte
	}, cpus)
	return func(cpu int) uint64 {
		c := &clocks[cpu]
		c.now += 100
		return c.now
	}
}

// monotonic makes the real clock.
func monotonic(int) func(cpu int) uint64 {
	start := time.Now()
	return func(int) uint64 { return uint64(time.Since(start)) }
}

func newRing(cpus int, c clock) (*ringbuf.Buffer, error) {
	return ringbuf.New(ringbuf.Config{CPUs: cpus, Size: ringSize, Clock: c(cpus)})
}

// write is the loop of a writer.
func write(b *ringbuf.Buffer, cpu int, data []byte, n int) {
	for range n {
		e, err := b.Reserve(cpu, ringbuf.Normal, len(data))
		if err != nil {
			panic("bench: invariant: " + err.Error())
		}
		copy(e.Data, data)
		b.Commit(cpu, e)
	}
}

func ring(size int, c clock) func() (runner, error) {
	return func() (runner, error) {
		b, err := newRing(1, c)
		if err != nil {
			return nil, err
		}
		data := make([]byte, size)
		return timed(func(n int) { write(b, 0, data, n) }), nil
	}
}

// drain reads pages until the context ends, and then those that are left. It returns
// how many events there were.
func drain(ctx context.Context, b *ringbuf.Buffer) (events int) {
	page := make([]byte, b.SubbufSize())
	var r ringbuf.PageReader
	read := func(full bool) {
		for b.ReadPage(0, page, full) {
			if err := r.Reset(page); err != nil {
				panic("bench: invariant: " + err.Error())
			}
			for _, _, ok := r.NextData(); ok; _, _, ok = r.NextData() {
				events++
			}
		}
	}
	for b.Wait(ctx, 0, 50) == nil {
		read(true)
	}
	read(false)
	return events
}

// besideReader runs a writer and a reader. It returns the time of the writer and that
// of both.
func besideReader(b *ringbuf.Buffer, data []byte, n int) (writer, both time.Duration, delivered int) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	start := time.Now()
	wg.Go(func() { delivered = drain(ctx, b) })
	write(b, 0, data, n)
	writer = time.Since(start)
	cancel()
	wg.Wait()
	return writer, time.Since(start), delivered
}

func ringDelivered() (runner, error) {
	b, err := newRing(1, virtual)
	data := make([]byte, 32)
	return func(n int) (time.Duration, int, error) {
		_, both, delivered := besideReader(b, data, n)
		return both, delivered, nil
	}, err
}

func writerRead() (runner, error) {
	b, err := newRing(1, virtual)
	data := make([]byte, 32)
	return func(n int) (time.Duration, int, error) {
		writer, _, _ := besideReader(b, data, n)
		return writer, n, nil
	}, err
}

func twoCPUs() (runner, error) {
	b, err := newRing(2, virtual)
	return timed(func(n int) {
		var wg sync.WaitGroup
		for cpu := range 2 {
			wg.Go(func() { write(b, cpu, make([]byte, 32), n/2) })
		}
		wg.Wait()
	}), err
}
