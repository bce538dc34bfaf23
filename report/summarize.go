package report

import (
	"cmp"
	"path"
	"path/filepath"
	"strings"

	"ftracelab/report/summary"
	"ftracelab/ringbuf"
	"ftracelab/tracer/record"
)

// bareBytes is the length of the record that is written for an event that came without
// one: the common fields.
const bareBytes = 8

// sizes counts events by the words that their records take in the ring. The last count
// is for all longer ones.
type sizes [1024]uint64

func (s *sizes) add(length int) {
	words := ringbuf.EventSize(max(length, bareBytes)) / 4
	s[min(words, len(s)-1)]++
}

// summarize fills in Options.Summary from a run that has ended. The stack maps are
// always the documented ones, so that the rows of all machines can be compared.
func (r *run) summarize() error {
	c, base := r.census, r.writers[0].sum()
	cfg := record.Documented()
	cfg.Seed = r.opt.Seed
	study, err := r.study(cfg, kernelKind)
	if err != nil {
		return err
	}
	unique, _ := c.kernel.len()
	m := summary.Machine{
		Name: cmp.Or(r.opt.Machine, machineName(r.opt.Path)), Events: c.events, CPUs: uint64(c.cpus()),
		Lost: c.lost, Losses: c.losses, Bare: c.bare,
		KernelStacks: c.kernelStacks, UniqueStacks: unique, Untold: c.kernel.forgotten,
		UserStacks: c.userStacks, StackIDs: c.stackIDs,
		EventBytes: base.recordBytes() - base.stackBytes, KernelBytes: c.kernelBytes, UserBytes: c.userStacks * userStackBytes,
		Bits: uint64(study.recommended.Bits),
	}
	if r.cpuless {
		m.CPUless = 1
	}
	if r.condition != "" {
		m.Conditional = 1
	}
	if c.inSeconds() {
		m.Micros = min((c.lastTime-c.firstTime)/1000, summary.MaxCount)
	}
	for n, f := range study.fates {
		m.Maps[n] = summary.Map{Bytes: f.bytes, Drops: f.drops}
	}
	s := r.opt.Summary
	*s = summary.Summary{}
	for _, events := range c.eventsOnCPU {
		m.BusiestEvents = max(m.BusiestEvents, events)
		on := summary.CPU{Events: events}
		if events > 0 {
			on.Machines, on.Micros = 1, m.Micros
		}
		s.CPUs = append(s.CPUs, on)
	}
	s.Machines = []summary.Machine{m}
	for words, events := range c.sizes {
		if events > 0 {
			s.Sizes = append(s.Sizes, summary.Size{Bytes: uint64(4 * words), Events: events})
		}
	}
	for _, st := range c.kernel.stacks {
		s.Stacks = append(s.Stacks, summary.Stack{Hash: st.hash, Depth: uint64(st.depth), Count: st.count})
	}
	s.Sort()
	return nil
}

// A census keeps no more stacks than a summary.
const _ = uint(summary.MaxStacks - maxUnique)

// machineName makes the name of a capture's machine from its path: the last element. If
// that is too long, its end is taken.
func machineName(name string) string {
	name = strings.ToValidUTF8(path.Base(filepath.ToSlash(name)), "?")
	if more := len(name) - summary.MaxName; more > 0 {
		name = strings.ToValidUTF8(name[more:], "")
	}
	return name
}
