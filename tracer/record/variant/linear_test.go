package variant

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"ftracelab/stackmap"
)

// call is an Intern of a stack, or a Stack of an id.
type call struct {
	intern bool
	stack  int    // of Intern
	id     uint32 // of Stack
}

// reply is what it returned. known is false for a refusal, and for an id that stands for
// nothing.
type reply struct {
	id    uint32 // of Intern
	stack int    // of Stack
	known bool
}

// asOneMap is what a map without duplicates is to its users: the first Intern of a stack
// decides, for good, which id it has or that it has none. No two stacks have one id.
var asOneMap = porcupine.Model{
	Init: func() any { return map[int]reply{} },
	Step: func(state, input, output any) (bool, any) {
		decided, in, out := state.(map[int]reply), input.(call), output.(reply)
		if !in.intern {
			for s, r := range decided {
				if r.known && r.id == in.id {
					return out.known && out.stack == s, state
				}
			}
			return !out.known, state
		}
		if r, ok := decided[in.stack]; ok {
			return r.known == out.known && r.id == out.id, state
		}
		for _, r := range decided {
			if r.known && out.known && r.id == out.id {
				return false, state
			}
		}
		next := maps.Clone(decided)
		next[in.stack] = out
		return true, next
	},
	Equal: func(a, b any) bool { return maps.Equal(a.(map[int]reply), b.(map[int]reply)) },
}

// forgetful is what Aging is to its users: a map that may forget a stack at any time. Then
// its id stands for nothing, for good, and the stack gets a new one when it comes back. An
// id is never that of two stacks, and a stack has one living id at most.
var forgetful = porcupine.Model{
	Init: func() any { return memory{} },
	Step: func(state, input, output any) (bool, any) {
		m, in, out := state.(memory), input.(call), output.(reply)
		if !in.intern {
			known, given := m[in.id]
			switch {
			case out.known:
				return given && known == out.stack, m
			case given && known != forgotten:
				m = maps.Clone(m)
				m[in.id] = forgotten
			}
			return true, m
		}
		known, given := m[out.id]
		if !out.known || given {
			return out.known && known == in.stack, m
		}
		m = maps.Clone(m)
		for id, s := range m {
			if s == in.stack {
				m[id] = forgotten
			}
		}
		m[out.id] = in.stack
		return true, m
	},
	Equal: func(a, b any) bool { return maps.Equal(a.(memory), b.(memory)) },
}

// memory has the stack of each id that was given out, or that it is forgotten.
type memory map[uint32]int

const forgotten = -1

// interner is what a history is recorded of.
type interner interface {
	Intern(cpu int, ips []uint64) (uint32, error)
	Stack(id uint32, dst []uint64) ([]uint64, bool)
}

// recorded lets goroutines intern and look up the stacks, and returns what they saw.
func recorded(t *testing.T, m interner, stacks [][]uint64) (history []porcupine.Operation) {
	const workers, rounds = 4, 3
	of := map[uint64]int{} // the first address tells the stack
	for s := range stacks {
		of[stacks[s][0]] = s
	}
	var clock atomic.Int64
	var wg sync.WaitGroup
	histories := make([][]porcupine.Operation, workers)
	start := make(chan struct{})
	for w := range workers {
		wg.Go(func() {
			<-start
			add := func(in call, do func() reply) reply {
				at := clock.Add(1)
				out := do()
				histories[w] = append(histories[w], porcupine.Operation{ClientId: w, Input: in, Call: at, Output: out, Return: clock.Add(1)})
				return out
			}
			for n := range rounds * len(stacks) {
				s := (n*(w+1) + w) % len(stacks)
				got := add(call{intern: true, stack: s}, func() reply {
					id, err := m.Intern(w, stacks[s])
					if err != nil && !errors.Is(err, stackmap.ErrNoSpace) {
						t.Error(err)
					}
					return reply{id: id, known: err == nil}
				})
				add(call{id: got.id}, func() reply {
					ips, ok := m.Stack(got.id, nil)
					if !ok {
						return reply{}
					}
					return reply{stack: of[ips[0]], known: true}
				})
			}
		})
	}
	close(start)
	wg.Wait()
	for _, h := range histories {
		history = append(history, h...)
	}
	return history
}

// histories is how many are checked of each map.
const histories = 200

// TestLinearizable: to the goroutines that use it, a Table is one map that does one thing
// after the other, also while stacks move and while there is no room for some of them.
func TestLinearizable(t *testing.T) {
	for name, l := range map[string]struct {
		Layout
		probes int
	}{
		"strict":          {Layout{}, 2},
		"insertion-order": {Layout{Numbered: true}, 2},
		"robin-hood":      {Layout{RobinHood: true}, 3},
		"two-way":         {Layout{Sets: true}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			refused := 0
			for seed := range uint32(histories) {
				hashes := stackmap.Hashes()
				c := stackmap.Config{Bits: 10, Probes: l.probes, Seed: seed, Hash: hashes[int(seed)%len(hashes)]}
				m, err := NewTable(c, l.Layout)
				if err != nil {
					t.Fatal(err)
				}
				// Homes that are next to each other: stacks collide, move and are refused.
				near := colliding(c, 7, func(key uint32) uint32 { return key >> (32 - 9) })
				history := recorded(t, m, near)
				for _, op := range history {
					if op.Input.(call).intern && !op.Output.(reply).known {
						refused++
					}
				}
				if !porcupine.CheckOperations(asOneMap, history) {
					t.Fatalf("seed %d: no order explains %s", seed, told(history))
				}
			}
			t.Logf("%d histories, %d refusals", histories, refused)
		})
	}
}

// TestPerCPULinearizable: to the goroutines that use it, each as a CPU, PerCPU is as many
// maps as there are CPUs, and no two have an id in common.
func TestPerCPULinearizable(t *testing.T) {
	for seed := range uint32(histories) {
		c := stackmap.Config{Bits: 10, Probes: 2, Seed: seed}
		m, err := NewPerCPU(c)
		if err != nil {
			t.Fatal(err)
		}
		near := colliding(c, 7, func(key uint32) uint32 { return key >> (32 - 9) })
		history := recorded(t, m, near)
		for n := range history {
			op := &history[n]
			in, out := op.Input.(call), op.Output.(reply)
			in.stack, out.stack = in.stack+len(near)*op.ClientId, out.stack+len(near)*op.ClientId
			op.Input, op.Output = in, out
		}
		if !porcupine.CheckOperations(asOneMap, history) {
			t.Fatalf("seed %d: no order explains %s", seed, told(history))
		}
	}
	t.Logf("%d histories", histories)
}

// TestAgingLinearizable: to the goroutines that use it, Aging is one map that forgets.
func TestAgingLinearizable(t *testing.T) {
	replaced := uint64(0)
	for seed := range uint32(histories) {
		c := stackmap.Config{Bits: 10, Probes: 2, Seed: seed}
		m, err := NewAging(c)
		if err != nil {
			t.Fatal(err)
		}
		history := recorded(t, m, colliding(c, 5, func(key uint32) uint32 { return key >> (32 - 11) }))
		if !porcupine.CheckOperations(forgetful, history) {
			t.Fatalf("seed %d: no order explains %s", seed, told(history))
		}
		replaced += m.Faults().Replaced
	}
	if replaced == 0 {
		t.Error("nothing was forgotten")
	}
	t.Logf("%d histories, %d stacks forgotten", histories, replaced)
}

// TestNotLinearizable: the check sees what it is for. A stack with two ids, as the
// posted map may give, is no history of one map; nor is a stack that BPF replaced.
func TestNotLinearizable(t *testing.T) {
	op := func(at int64, in call, out reply) porcupine.Operation {
		return porcupine.Operation{Input: in, Call: 2 * at, Output: out, Return: 2*at + 1}
	}
	twice := []porcupine.Operation{
		op(1, call{intern: true, stack: 1}, reply{id: 5, known: true}),
		op(2, call{intern: true, stack: 1}, reply{id: 6, known: true}),
	}
	if porcupine.CheckOperations(asOneMap, twice) {
		t.Error("two ids for a stack pass")
	}
	c := stackmap.Config{Bits: 10}
	m, err := NewBPF(c, true)
	if err != nil {
		t.Fatal(err)
	}
	replaced := recorded(t, m, colliding(c, 2, func(key uint32) uint32 { return key & 1023 }))
	if porcupine.CheckOperations(asOneMap, replaced) {
		t.Error("a map that replaces stacks passes")
	}
	if porcupine.CheckOperations(forgetful, replaced) {
		t.Error("a map whose ids stand for other stacks passes as one that forgets")
	}
}

// told is a history in words.
func told(history []porcupine.Operation) (text string) {
	for _, op := range history {
		text += fmt.Sprintf("\n%d…%d: %+v %+v", op.Call, op.Return, op.Input, op.Output)
	}
	return text
}
