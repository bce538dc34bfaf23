package bench

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"ftracelab/stackmap"
)

// stackmapRows compare hits of the stack map: its stacks are known, and it finds their
// ids and counts.
func stackmapRows(c *cMaps) []comparison {
	const fast, faithful = stackmap.Mul64, stackmap.JHash2
	inC := func(r comparison) comparison {
		r.peer, r.missing = "the kernel's design in C", c.missing()
		return r
	}
	two := func(r comparison) comparison {
		r.rounds, r.events = pairRounds, pairSlice
		return r
	}
	return []comparison{
		inC(comparison{id: "S1", what: "known stack, depth 16", goal: 0.42, ours: hits(fast, 16), theirs: c.hits(16)}),
		{id: "S1/mutex", what: "known stack, depth 16", peer: "map[string] and a mutex", ours: hits(fast, 16), theirs: mutexMap(16)},
		{id: "S1/xsync", what: "known stack, depth 16", peer: "xsync.Map, not counting", ours: hits(fast, 16), theirs: xsyncMap(16)},
		inC(comparison{id: "S2", what: "known stack, depth 32", goal: 0.36, ours: hits(fast, 32), theirs: c.hits(32)}),
		two(comparison{id: "S4", what: "known stack, two writers", peer: "map[string] and a mutex", goal: 0.28, ours: twoWriters(fast, 16), theirs: mutexMapTwo(16)}),
		two(comparison{id: "S4/xsync", what: "known stack, two writers", peer: "xsync.Map, not counting", ours: twoWriters(fast, 16), theirs: xsyncMapTwo(16)}),
		two(comparison{id: "S5", what: "known stack, two writers", peer: "one writer", goal: 1.1, ours: twoWriters(fast, 16), theirs: hits(fast, 16)}),
		inC(comparison{id: "S6", what: "known stack, depth 16, jhash2", goal: 1, ours: hits(faithful, 16), theirs: c.hits(16)}),
		inC(comparison{id: "S6/32", what: "known stack, depth 32, jhash2", ours: hits(faithful, 32), theirs: c.hits(32)}),
	}
}

// load is what the maps of stacks are asked for: some stacks often and most of them
// seldom, in an order that repeats after a while.
type load struct {
	depth  int
	stacks []uint64 // one after the other
	order  []uint32 // numbers of stacks
}

const (
	uniques = 3000
	samples = 1 << 18
	zipf    = 1.1
)

// newLoad makes stacks of that depth. Their outer half is the same for all.
func newLoad(depth int) *load {
	r := rand.New(rand.NewPCG(1, uint64(depth)))
	l := &load{depth: depth, order: make([]uint32, samples)}
	address := func() uint64 { return 0xffffffff81000000 + r.Uint64N(16<<20) }
	outer := make([]uint64, depth/2)
	for i := range outer {
		outer[i] = address()
	}
	for range uniques {
		for range depth - len(outer) {
			l.stacks = append(l.stacks, address())
		}
		l.stacks = append(l.stacks, outer...)
	}
	often := rand.NewZipf(r, zipf, 1, uniques-1)
	for i := range l.order {
		l.order[i] = uint32(often.Uint64())
	}
	return l
}

// stack is the stack with that number.
func (l *load) stack(i int) []uint64 { return l.stacks[i*l.depth:][:l.depth] }

// bytes are the stacks for maps whose keys are strings.
func (l *load) bytes() (b []byte) {
	for _, ip := range l.stacks {
		b = binary.NativeEndian.AppendUint64(b, ip)
	}
	return b
}

// writer looks up the stacks of the next n samples. It returns where it stopped.
type writer func(at, n int) int

// lookups makes a runner of one writer.
func lookups(w writer) runner {
	at := 0
	return timed(func(n int) { at = w(at, n) })
}

// bothCPUs makes a runner of two writers, which begin at different samples. The time is
// what a lookup takes each of them.
func bothCPUs(writers [2]writer) runner {
	at := [2]int{0, samples / 2}
	return func(n int) (time.Duration, int, error) {
		var wg sync.WaitGroup
		start := time.Now()
		for i, w := range writers {
			wg.Go(func() { at[i] = w(at[i], n/2) })
		}
		wg.Wait()
		return time.Since(start), n / 2, nil
	}
}

// stackmapConfig is the map of the S rows.
func stackmapConfig(h stackmap.Hash) stackmap.Config {
	cfg := stackmap.V4()
	cfg.Hash, cfg.Seed = h, 7
	return cfg
}

// ourWriters makes a map that holds the stacks, and a writer for each of two CPUs. As the
// unwinder of a kernel would, a writer first puts the stack into a buffer.
func ourWriters(h stackmap.Hash, l *load) (both [2]writer, err error) {
	m, err := stackmap.New(stackmapConfig(h))
	if err != nil {
		return both, err
	}
	for i := range uniques {
		if _, err := m.GetID(0, l.stack(i)); err != nil {
			return both, err
		}
	}
	for cpu := range both {
		buffer, stacks, order := make([]uint64, l.depth), l.stacks, l.order
		both[cpu] = func(at, n int) int {
			for range n {
				copy(buffer, stacks[int(order[at])*len(buffer):])
				if _, err := m.GetID(cpu, buffer); err != nil {
					panic("bench: invariant: " + err.Error())
				}
				at = (at + 1) % samples
			}
			return at
		}
	}
	return both, nil
}

// hits is our map with one writer.
func hits(h stackmap.Hash, depth int) func() (runner, error) {
	return func() (runner, error) {
		both, err := ourWriters(h, newLoad(depth))
		return lookups(both[0]), err
	}
}

// twoWriters is our map with two writers.
func twoWriters(h stackmap.Hash, depth int) func() (runner, error) {
	return func() (runner, error) {
		both, err := ourWriters(h, newLoad(depth))
		return bothCPUs(both), err
	}
}

// counted is an entry of the mutex map.
type counted struct{ id, events uint64 }

// mutexWriters is a Go map behind a mutex, whose entries count. Its buffer gets the bytes
// of the stack, so no writer has to convert them.
func mutexWriters(l *load) (both [2]writer) {
	var lock sync.Mutex
	m := map[string]*counted{}
	keys, size := l.bytes(), 8*l.depth
	for i := range uniques {
		m[string(keys[i*size:][:size])] = &counted{id: uint64(i)}
	}
	for cpu := range both {
		buffer := make([]byte, size)
		both[cpu] = func(at, n int) int {
			for range n {
				copy(buffer, keys[int(l.order[at])*size:])
				lock.Lock()
				m[string(buffer)].events++
				lock.Unlock()
				at = (at + 1) % samples
			}
			return at
		}
	}
	return both
}

func mutexMap(depth int) func() (runner, error) {
	return func() (runner, error) { return lookups(mutexWriters(newLoad(depth))[0]), nil }
}

func mutexMapTwo(depth int) func() (runner, error) {
	return func() (runner, error) { return bothCPUs(mutexWriters(newLoad(depth))), nil }
}

// xsyncWriters is xsync.Map. It has less to do than the others: the stack need not be
// copied to become a key, and nothing is counted.
func xsyncWriters(l *load) (both [2]writer) {
	m := xsync.NewMap[string, uint64]()
	keys, size := string(l.bytes()), 8*l.depth
	for i := range uniques {
		m.Store(strings.Clone(keys[i*size:][:size]), uint64(i))
	}
	for cpu := range both {
		both[cpu] = func(at, n int) int {
			for range n {
				if _, ok := m.Load(keys[int(l.order[at])*size:][:size]); !ok {
					panic("bench: invariant: a stack is missing")
				}
				at = (at + 1) % samples
			}
			return at
		}
	}
	return both
}

func xsyncMap(depth int) func() (runner, error) {
	return func() (runner, error) { return lookups(xsyncWriters(newLoad(depth))[0]), nil }
}

func xsyncMapTwo(depth int) func() (runner, error) {
	return func() (runner, error) { return bothCPUs(xsyncWriters(newLoad(depth))), nil }
}
