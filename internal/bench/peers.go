package bench

import (
	"context"
	"io"
	"log/slog"
	"runtime/trace"
	"sync"
	"time"

	"github.com/smallnest/ringbuffer"
)

// pageRing does the least that a ring of pages can do: it copies with a bound check. It
// has no times, no headers, no readers.
type pageRing struct {
	pages [][]byte
	page  int
	off   int
}

//go:noinline
func (f *pageRing) write(data []byte) {
	if f.off+len(data) > len(f.pages[f.page]) {
		f.off = 0
		if f.page++; f.page == len(f.pages) {
			f.page = 0
		}
	}
	f.off += copy(f.pages[f.page][f.off:], data)
}

func newPageRing() *pageRing {
	f := &pageRing{pages: make([][]byte, ringSize/4096)}
	for i := range f.pages {
		f.pages[i] = make([]byte, 4096)
	}
	return f
}

// floor writes to a pageRing; with a clock the time goes into the first 8 bytes.
func floor(size int, c clock) func() (runner, error) {
	return func() (runner, error) {
		f := newPageRing()
		data := make([]byte, size)
		if c == nil {
			return timed(func(n int) {
				for range n {
					f.write(data)
				}
			}), nil
		}
		now := c(1)
		return timed(func(n int) {
			for range n {
				t := now(0)
				for i := range 8 {
					data[i] = byte(t >> (8 * i))
				}
				f.write(data)
			}
		}), nil
	}
}

// flightRecorder logs to the flight recorder of runtime/trace. The recorder is on only
// while it is measured.
func flightRecorder() (runner, error) {
	text := string(make([]byte, 32))
	ctx := context.Background()
	return func(n int) (time.Duration, int, error) {
		rec := trace.NewFlightRecorder(trace.FlightRecorderConfig{MaxBytes: ringSize})
		if err := rec.Start(); err != nil {
			return 0, 0, err
		}
		defer rec.Stop()
		return timed(func(n int) {
			for range n {
				trace.Log(ctx, "", text)
			}
		})(n)
	}, nil
}

func slogText() (runner, error) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	text := string(make([]byte, 16))
	return timed(func(n int) {
		for i := range n {
			log.Info(text, "n", i)
		}
	}), nil
}

func mutexRing() (runner, error) {
	var lock sync.Mutex
	ring := make([][32]byte, ringSize/32)
	var at int
	data := make([]byte, 32)
	return timed(func(n int) {
		for range n {
			lock.Lock()
			copy(ring[at][:], data)
			if at++; at == len(ring) {
				at = 0
			}
			lock.Unlock()
		}
	}), nil
}

func smallnest() (runner, error) {
	r := ringbuffer.New(ringSize)
	data := make([]byte, 32)
	return timed(func(n int) {
		for range n {
			if r.Free() < len(data) {
				r.Reset()
			}
			if _, err := r.Write(data); err != nil {
				panic("bench: invariant: " + err.Error())
			}
		}
	}), nil
}

func dropOldest() (runner, error) {
	c := make(chan [32]byte, ringSize/32)
	var data [32]byte
	return timed(func(n int) {
		for range n {
			for sent := false; !sent; {
				select {
				case c <- data:
					sent = true
				default:
					<-c
				}
			}
		}
	}), nil
}

func channelDelivered() (runner, error) {
	return func(n int) (time.Duration, int, error) {
		c := make(chan [32]byte, 32<<10)
		var data [32]byte
		delivered := 0
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			for range c {
				delivered++
			}
		})
		for range n {
			c <- data
		}
		close(c)
		wg.Wait()
		return time.Since(start), delivered, nil
	}, nil
}
