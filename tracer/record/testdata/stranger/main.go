// Command stranger is a program outside of ftracelab that tries two ideas of its own: a
// map of stacks that gives out ids in the order in which stacks come, instead of slots,
// and a ring in which every event begins at a multiple of eight bytes.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"ftracelab/report"
	"ftracelab/ringbuf"
	"ftracelab/stackmap"
	"ftracelab/tracer/record"
)

// ordered is the idea. It has no slots and so no probes; it takes only the
// memory of its stacks.
type ordered struct {
	mu     sync.Mutex
	ids    map[string]uint32
	stacks [][]uint64
	words  uint64
}

func (m *ordered) Intern(_ int, ips []uint64) (uint32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := fmt.Sprint(ips)
	id, known := m.ids[key]
	if !known {
		id = uint32(len(m.stacks))
		m.ids[key], m.stacks, m.words = id, append(m.stacks, slices.Clone(ips)), m.words+uint64(len(ips))
	}
	return id, nil
}

func (m *ordered) Stack(id uint32, dst []uint64) ([]uint64, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if int(id) >= len(m.stacks) {
		return dst, false
	}
	return append(dst, m.stacks[id]...), true
}

func (m *ordered) Cost() record.Cost {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := uint64(len(m.stacks))
	return record.Cost{Entries: n, Capacity: 1 << 32, Slots: n, Table: 16 * n, Pool: 8*n + 8*m.words}
}

// aligned is the other idea: a ring buffer that makes each event a multiple of eight bytes
// long. An event has a header of four bytes, and one of eight if its record is longer than
// 112 bytes.
type aligned struct{ *ringbuf.Buffer }

func (r aligned) Reserve(cpu int, ctx ringbuf.Context, size int) (ringbuf.Event, error) {
	long := (size+4+7)/8*8 - 4
	if long > 112 {
		long = max((size+7)/8*8, 120)
	}
	e, err := r.Buffer.Reserve(cpu, ctx, long)
	if err == nil {
		clear(e.Data[size:])
	}
	return e, err
}

// trace is 50,000 events with one of 400 stacks each.
type trace struct{ at int }

func (s *trace) Next(r *record.Record) error {
	if s.at == 100_000 {
		return io.EOF
	}
	n := s.at / 2
	*r = record.Record{Time: uint64(n) * 1000, Data: make([]byte, 40)}
	if s.at%2 == 1 {
		r.Kind = record.KernelStack
		r.Data = nil
		for depth := range 5 + n%400%12 {
			r.Stack = append(r.Stack, uint64(n%400)<<8+uint64(depth))
		}
	}
	s.at++
	return nil
}

func run() error {
	designs, err := record.ParseDesigns("full-stacks,stackmap", 0, 1)
	if err != nil {
		return err
	}
	mine := record.Design{Name: "ordered", Kernel: record.StackID, User: record.FullStack}
	mine.KernelMap.New = func(record.MapConfig) (record.Interner, error) {
		return &ordered{ids: map[string]uint32{}}, nil
	}
	wide := designs[0] // full-stacks
	wide.Name = "aligned"
	wide.Ring = func(c ringbuf.Config) (record.Ring, error) {
		b, err := ringbuf.New(c)
		return aligned{b}, err
	}
	r, err := report.Estimate(context.Background(), &trace{}, report.Options{Designs: append(designs, mine, wide)})
	if err != nil {
		return err
	}
	for _, d := range r.Designs {
		fmt.Printf("%-12s %6.2f bytes per event, map %7d bytes, exists: %v\n", d.Name, d.BytesPerEvent, d.MapBytes, d.Exists)
	}
	// The parts below the waist can be used on their own.
	buf, err := ringbuf.New(ringbuf.Config{CPUs: 1, Size: 64 << 10, Clock: func(int) uint64 { return 0 }})
	if err != nil {
		return err
	}
	table, pool, _ := stackmap.V4().Memory()
	fmt.Printf("a sub-buffer has %d bytes, the map of RFC v4 %d\n", buf.SubbufSize(), table+pool)
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
