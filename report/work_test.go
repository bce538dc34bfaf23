package report

import (
	"testing"

	"ftracelab/tracer/record"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestWorkIsThatOfEachLookup compares the work with that of a model which makes each
// lookup of the trace, one after the other, and counts what it does.
func TestWorkIsThatOfEachLookup(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		unique, name := rapid.IntRange(1, 700).Draw(rt, "unique"), rapid.SampledFrom([]string{"stackmap-v2", "stackmap-v4"}).Draw(rt, "design")
		s := new(records)
		var order [][]uint64
		for i := range rapid.IntRange(1, 1500).Draw(rt, "events") {
			s.add(i%3, uint64(1000*(i+1)), 7, 32)
			ips := frames(i*i%unique, 1+i*i%unique%70)
			s.stack(record.KernelStack, ips...)
			order = append(order, ips)
		}
		ds, err := record.ParseDesigns("full-stacks,"+name, 10, 1)
		if err != nil {
			rt.Fatal(err)
		}
		r, err := Estimate(t.Context(), s, Options{Designs: ds, Bits: 10})
		if err != nil {
			rt.Fatal(err)
		}
		got := r.Designs[1].Work
		want := Work{Basis: Replayed, Counted: true, Copied: (r.Designs[1].Breakdown.Stack + 7) / 8}
		model(rt, &want, ds[1].KernelMap, order)
		if d := cmp.Diff(want, got); d != "" {
			rt.Errorf("%s, %d unique: %s", name, unique, d)
		}
		full := Work{Basis: Replayed, Counted: true, Copied: (r.Designs[0].Breakdown.Stack + 7) / 8}
		if d := cmp.Diff(full, r.Designs[0].Work); d != "" {
			rt.Errorf("full stacks: %s", d)
		}
	})
}

// model makes the lookups of stackmap_get_id on a table of its own, word by word. The
// homes of stacks are those of a real map that has seen them.
func model(t *rapid.T, k *Work, cfg record.MapConfig, order [][]uint64) {
	m, err := cfg.Open()
	if err != nil {
		t.Fatal(err)
	}
	real := m.(record.Stackmap)
	home := make(map[string]uint32)
	for _, ips := range order {
		if len(ips) > 64 && !cfg.TruncateDeep {
			continue
		}
		if _, err := real.Intern(0, ips); err != nil {
			t.Fatal(err)
		}
	}
	name := func(ips []uint64) string {
		var b []byte
		for _, ip := range ips[:min(len(ips), 64)] {
			for range 8 {
				b, ip = append(b, byte(ip)), ip>>8
			}
		}
		return string(b)
	}
	for s := range real.Slots() {
		home[name(s.IPs)] = s.Home
	}
	table := make(map[uint32]string)
	for _, ips := range order {
		if len(ips) > 64 && !cfg.TruncateDeep {
			continue
		}
		stack, words := name(ips), uint64(min(len(ips), 64))
		k.Lookups++
		k.Hashed += words
		k.Loads++ // resetting
		if !cfg.SaturateRefs {
			k.RMWs++ // atomic64_inc of successes
		}
		length := 0
		for id := home[stack]; ; id = (id + 1) % 2048 {
			k.Probes++
			length++
			k.Loads++ // key
			if at, taken := table[id]; !taken {
				table[id] = stack
				k.RMWs++          // cmpxchg of the key
				k.Loads++         // next_elt
				k.RMWs++          // next_elt
				k.Stores += words // ips
				k.Stores += 2     // nr with ref_count, val
				k.Copied += words
				break
			} else if at == stack {
				k.Loads += 2 + words // val, nr, ips
				k.RMWs++             // ref_count
				break
			}
		}
		k.ProbeLengths = append(k.ProbeLengths, make([]uint64, max(0, length-len(k.ProbeLengths)))...)
		k.ProbeLengths[length-1]++
	}
}
