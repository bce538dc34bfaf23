package user

import (
	"slices"
	"testing"

	"ftracelab/machine"

	"pgregory.net/rapid"
)

// words is a user stack.
type words map[uint64]uint64

func (w words) Load(addr uint64) (uint64, bool) {
	v, ok := w[addr]
	return v, ok
}

// chain makes a stack of frames at the addresses, each returning to 0x400000+i.
func chain(frames ...uint64) (machine.UserRegs, words) {
	mem := words{}
	for i, fp := range frames {
		next := uint64(0)
		if i+1 < len(frames) {
			next = frames[i+1]
		}
		mem[fp], mem[fp+8] = next, 0x400000+uint64(i)
	}
	return machine.UserRegs{IP: 0x3fffff, SP: frames[0] - 16, FP: frames[0]}, mem
}

func TestWalk(t *testing.T) {
	regs, mem := chain(0x7000, 0x7040, 0x7080)
	for _, c := range []struct {
		name   string
		limit  int
		damage func(machine.UserRegs, words) (machine.UserRegs, machine.UserMemory)
		want   int
		stop   Stop
	}{
		{"to the end", 10, nil, 4, Outermost},
		{"limit", 2, nil, 2, Full},
		{"limit one", 1, nil, 1, Full},
		{"nothing asked", 0, nil, 0, Full},
		{"kernel thread", 10, func(r machine.UserRegs, _ words) (machine.UserRegs, machine.UserMemory) {
			return r, nil
		}, 0, NoUser},
		{"first fp below sp", 10, func(r machine.UserRegs, w words) (machine.UserRegs, machine.UserMemory) {
			r.SP = r.FP + 8
			return r, w
		}, 1, BelowStack},
		{"misaligned", 10, func(r machine.UserRegs, w words) (machine.UserRegs, machine.UserMemory) {
			w[0x7000] = 0x7041
			return r, w
		}, 2, Misaligned},
		{"loop", 10, func(r machine.UserRegs, w words) (machine.UserRegs, machine.UserMemory) {
			w[0x7040] = 0x7000
			return r, w
		}, 3, BelowStack},
		{"return address not there", 10, func(r machine.UserRegs, w words) (machine.UserRegs, machine.UserMemory) {
			delete(w, 0x7048)
			return r, w
		}, 2, Fault},
		{"frame pointer not there", 10, func(r machine.UserRegs, w words) (machine.UserRegs, machine.UserMemory) {
			delete(w, 0x7040)
			return r, w
		}, 2, Fault},
		{"wraps around", 10, func(r machine.UserRegs, w words) (machine.UserRegs, machine.UserMemory) {
			r.FP = ^uint64(0) - 7
			return r, w
		}, 1, WrongDirection},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, w := regs, words{}
			for k, v := range mem {
				w[k] = v
			}
			var m machine.UserMemory = w
			if c.damage != nil {
				r, m = c.damage(r, w)
			}
			got, stop := new(Walker).Walk(nil, Regs{UserRegs: r}, m, c.limit)
			if len(got) != c.want || stop != c.stop {
				t.Errorf("%d entries %x, %v; want %d, %v", len(got), got, stop, c.want, c.stop)
			}
			if c.want > 0 && got[0] != regs.IP {
				t.Errorf("begins with %#x", got[0])
			}
		})
	}
}

// TestWalkFindsChain walks random chains of frames.
func TestWalkFindsChain(t *testing.T) {
	const most = 510
	rapid.Check(t, func(t *rapid.T) {
		gaps := rapid.SliceOfN(rapid.Uint64Range(2, 100), 1, 600).Draw(t, "gaps")
		at, frames := uint64(0x7fff0000), []uint64(nil)
		for _, g := range gaps {
			frames = append(frames, at)
			at += 8 * g
		}
		regs, mem := chain(frames...)
		got, _ := new(Walker).Walk(nil, Regs{UserRegs: regs}, mem, most)
		want := []uint64{regs.IP}
		for i := range frames {
			want = append(want, 0x400000+uint64(i))
		}
		want = want[:min(len(want), most)]
		if !slices.Equal(got, want) {
			t.Fatalf("got %d entries, want %d", len(got), len(want))
		}
	})
}

// What walks came to is counted by why they ended.
func TestWalks(t *testing.T) {
	var w Walks
	if got := string(w.Append(nil)); got != "0 walks" || w.Total() != 0 {
		t.Errorf("none: %q", got)
	}
	for _, c := range []struct {
		depth int
		why   Stop
		want  string
	}{
		{8, Full, "1 walk: 1 full; the last one: 8 addresses, full"},
		{3, Fault, "2 walks: 1 full, 1 fault; the last one: 3 addresses, fault"},
		{7, Full, "3 walks: 2 full, 1 fault; the last one: 7 addresses, full"},
	} {
		w.Add(c.depth, c.why)
		if got := string(w.Append(nil)); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
