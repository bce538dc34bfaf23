package report

import (
	"math"

	"ftracelab/stackmap"
	"ftracelab/tracer/record"
)

// report makes the report from the counts of a finished run.
func (r *run) report() (*Report, error) {
	opt, c := r.opt, r.census
	rep := &Report{
		Input: r.input(),
		Settings: Settings{
			BufferSizeKB: opt.BufferSizeKB, SubbufSize: opt.SubbufSize, NrPages: opt.nrPages(),
			Overwrite: !opt.NoOverwrite, Bits: opt.Bits, Seed: opt.Seed,
		},
		Verification: r.verification(),
		Growth:       c.kernelGrowth.curve(c, c.kernel),
		UserGrowth:   c.userGrowth.curve(c, c.user),
		TopStacks:    r.topStacks(),
	}
	for _, w := range r.writers {
		maps, err := r.mapStudies(&w.design)
		if err != nil {
			return nil, err
		}
		rep.Designs = append(rep.Designs, w.result(c, maps))
	}
	base := &rep.Designs[0]
	for i, w := range r.writers {
		d := &rep.Designs[i]
		d.against(base, r.writers[0].sum().recordBytes(), w.sum().recordBytes(), &rep.Settings)
		d.Why = r.why(d, base)
	}
	err := r.sweeps(rep)
	if err != nil {
		return nil, err
	}
	if r.opt.Summary != nil {
		if err := r.summarize(); err != nil {
			return nil, err
		}
	}
	rep.Depths = r.depths()
	if err := r.countWork(rep); err != nil {
		return nil, err
	}
	rep.UserStacks = r.users.report(r.opt.Joined)
	if rep.Capacity, err = r.capacity(rep); err != nil {
		return nil, err
	}
	rep.Caveats = r.caveats(rep)
	rep.Answer = answer(rep, r.condition)
	return rep, nil
}

// sweeps fills in the sweeps over the sizes of the maps. They are made for the map of
// the first design that has one. If no design has a map of kernel stacks, the
// documented one is used.
func (r *run) sweeps(rep *Report) error {
	cfg := record.Documented()
	cfg.Seed = r.opt.Seed
	if w := r.mapped(); w != nil {
		cfg = w.design.KernelMap
	}
	s, err := r.study(cfg, kernelKind)
	if err != nil {
		return err
	}
	rep.Sweep, rep.Recommendation, rep.UserSweep = s.points, s.recommended, []SweepPoint{}
	if rep.Sweep == nil {
		rep.Sweep = []SweepPoint{}
	}
	for _, s := range r.studies {
		if s.kind == userKind && len(s.points) > 0 {
			rep.UserSweep = s.points
			break
		}
	}
	return nil
}

func (r *run) input() Input {
	c := r.census
	in := Input{
		Basis: Measured, Path: r.opt.Path, Format: r.opt.Format,
		Events: c.events, Stacks: c.kernelStacks + c.userStacks, KernelStacks: c.kernelStacks, UserStacks: c.userStacks,
		KernelMeanDepth: ratio(c.kernelWords, c.kernelStacks), UserMeanDepth: ratio(c.userWords, c.userStacks),
		StackIDs: c.stackIDs, Lost: c.lost, Losses: c.losses, CPUs: c.cpus(), CPUless: r.cpuless, Seconds: c.seconds(),
	}
	in.UniqueKernelStacks, in.KernelAtLeast = c.kernel.len()
	in.UniqueUserStacks, in.UserAtLeast = c.user.len()
	if c.deferred.Cookies+c.deferred.Stacks > 0 {
		in.Deferred = &c.deferred
	}
	in.UniqueStacks = in.UniqueKernelStacks + in.UniqueUserStacks
	return in
}

func (r *run) verification() Verification {
	v := Verification{CPUs: []VerificationCPU{}}
	for i, w := range r.writers {
		for _, l := range w.lanes {
			if l == nil {
				continue
			}
			t := &l.tally
			v.LedgerPages += t.pages
			if i > 0 {
				continue
			}
			v.CPUs = append(v.CPUs, VerificationCPU{
				CPU: l.cpu, Entries: t.allRecords(), Bytes: t.recordBytes() + t.accounted, Pages: t.pages,
			})
		}
	}
	if r.witness == nil {
		return v
	}
	c := r.witness.result()
	v.PagesCompared, v.PagesIdentical, v.PagesUnmatched, v.PagesCut = c.compared, c.identical, c.unmatched, c.cut
	v.PagesOfOtherRecords = c.recordsDiffer
	v.RecordsCompared, v.RecordsIdentical = c.records, c.recordsIdentical
	v.CaptureBytes, v.RecreatedBytes = c.captureBytes, c.recreatedBytes
	v.FirstDifference = c.first
	if c.compared+c.unmatched > 0 {
		v.PagesSize = r.opt.PagesSize
	}
	return v
}

// sum adds up the CPUs of a design.
func (w *writer) sum() *tally {
	t := new(tally)
	for _, l := range w.lanes {
		if l != nil {
			t.add(&l.tally)
		}
	}
	return t
}

// result gives the result of a design by itself. maps are the studies for its two maps;
// nil for a map that it does not have.
func (w *writer) result(c *census, maps [2]*study) Result {
	t := w.sum()
	n := &w.stacks.Counts
	res := Result{
		Name: w.design.Name, Basis: Replayed,
		Events:        t.events(),
		Bytes:         t.pageHeader + t.recordBytes() + t.tail,
		BytesPerEvent: ratio(t.recordBytes(), t.events()),
		Drops:         n.Drops + n.UserDrops,
		Fallbacks:     n.Fallbacks + n.UserFallbacks,
		CutUserStacks: n.UserCut,
		TooBig:        w.counts.tooBig,
		Maps:          []MapUse{},
		Breakdown: Breakdown{
			PageHeaders: t.pageHeader, EventHeaders: t.eventHeader + t.lengthWord, CommonFields: t.common,
			Payload: t.payload, Stack: t.stack, TimeExtends: t.extends, Padding: t.discarded, PageTails: t.tail,
			StackRecords: t.allRecords() - t.events(), StackRecordBytes: t.stackBytes, Pages: t.pages,
		},
	}
	for _, l := range w.lanes {
		if l != nil {
			res.Breakdown.AlignmentBytes += l.ring.Ledger(0).Align
		}
	}
	res.Exists, res.Needs = standing(w.design)
	w.addMap(&res, w.stacks.KernelMap(), w.design.KernelMap, maps[kernelKind], n.IDs, n.Drops)
	w.addMap(&res, w.stacks.UserMap(), w.design.UserMap, maps[userKind], n.UserIDs, n.UserDrops)
	res.Fidelity = w.fidelity(c)
	var inserted uint64
	for _, m := range res.Maps {
		inserted += m.Entries + m.Replaced
	}
	ids := n.IDs + n.UserIDs
	res.HitRate = ratio(ids-min(ids, inserted), ids+res.Fallbacks)
	if w.design.User == record.DeferredStack && n.Unwinds > 0 {
		res.Deferred = w.deferredUse(c, t)
	}
	if w.stacks.UserMap() != nil || res.Deferred != nil || n.Coded > 0 {
		res.Basis = Assumed // no kernel has these records
	}
	w.retain(&res, c)
	return res
}

// deferredUse says what is known about the stays in the kernel, and between which bounds
// the bytes lie. If no user stack of the trace has more addresses than a user_stack
// holds, those that have as many may have been cut.
func (w *writer) deferredUse(c *census, t *tally) *DeferredUse {
	n, doubt := &w.stacks.Counts, w.stacks.Doubt()
	u := &DeferredUse{
		Basis: Assumed, Stays: n.Unwinds, Inferred: n.InferredStays, Tied: n.Tied,
		LeastBytesPerEvent: ratio(t.recordBytes()-doubt.Less, t.events()),
		MostBytesPerEvent:  ratio(t.recordBytes()+doubt.More, t.events()),
	}
	if c.deepUser == 0 && n.Brimful > 0 {
		u.Cut, u.CutDepth = n.Brimful, doubt.Deepest
		u.CutBytesPerEvent = ratio(doubt.Deeper, t.events())
	}
	return u
}

// SavingRange returns between which bounds SavingPct of a kernel with the design lies;
// they are equal if the trace tells it.
func (res *Result) SavingRange() (least, most float64) {
	if u := res.Deferred; u != nil && u.Tied > 0 {
		return u.LeastSavingPct, u.MostSavingPct
	}
	return res.SavingPct, res.SavingPct
}

// addMap adds the counters and the memory of a map. The memory is the size of the
// structures in a kernel, not something that was seen in the trace. If no size was
// asked for, the map that was written through stands for the recommended one, or for the
// smallest one if it got no stack.
func (w *writer) addMap(res *Result, m record.Interner, cfg record.MapConfig, s *study, ids, drops uint64) {
	if m == nil {
		return
	}
	cost, fault := m.Cost(), faults(m)
	if cfg.Bits == 0 && s.recommended.Bits > 0 {
		cfg.Bits = s.recommended.Bits
		// The sweep may not know all stacks: see uniqueSet. m had them all.
		entries := cost.Entries
		cost = s.costs[cfg.Bits-stackmap.MinBits]
		cost.Entries = min(entries, cost.Capacity)
	}
	if cfg.Bits == 0 && s.unused != nil {
		cfg.Bits, cost = stackmap.MinBits, *s.unused
	}
	res.Maps = append(res.Maps, MapUse{
		Basis: Assumed, Stacks: s.kind.String(), Preset: cfg.Preset, Bits: cfg.Bits, Recommended: s.recommended,
		Entries: cost.Entries, Capacity: cost.Capacity, TableSize: cost.Slots,
		Successes: ids, Drops: drops,
		TableBytes: cost.Table, PoolBytes: cost.Pool, ExportBytes: cost.Export,
		Duplicates: fault.Duplicates, Replaced: fault.Replaced,
	})
	res.MapBytes += cost.Table + cost.Pool
}

// retain fills in what the buffers of the design still hold at the end of the trace.
// They reach back to the time from which every CPU is complete.
func (w *writer) retain(res *Result, c *census) {
	res.RetainedBasis = Replayed
	res.RetainedCPUs = []Retention{}
	least := math.Inf(1)
	if !c.inSeconds() {
		least = float64(Unknown)
	}
	var events float64
	for _, l := range w.lanes {
		if l == nil || l.tally.events() == 0 {
			continue
		}
		k := l.keep.held(c.firstTime, c.lastTime)
		events += k.events
		least = min(least, k.seconds)
		if k.Basis == Extrapolated {
			res.RetainedBasis = Extrapolated
		}
		on := Retention{CPU: l.cpu, Events: uint64(math.Round(k.events)), Seconds: Seconds(round6(k.seconds)), Basis: k.Basis}
		if !c.inSeconds() {
			on.Seconds = Unknown
		}
		res.RetainedCPUs = append(res.RetainedCPUs, on)
	}
	res.RetainedEvents = uint64(math.Round(events))
	if !math.IsInf(least, 1) {
		res.RetainedSeconds = Seconds(round6(least))
	}
}

// against compares a result with the base. The records' bytes are those without
// page headers and tails.
func (res *Result) against(base *Result, baseRecords, records uint64, s *Settings) {
	res.SavingPct = savingPct(baseRecords, records)
	if d := res.Deferred; d != nil {
		perEvent := float64(baseRecords) / float64(max(1, base.Events))
		d.LeastSavingPct = round4(100 * (1 - d.MostBytesPerEvent/perEvent))
		d.MostSavingPct = round4(100 * (1 - d.LeastBytesPerEvent/perEvent))
	}
	res.RetainedTimes = round4(float64(res.RetainedEvents) / float64(max(1, base.RetainedEvents)))
	saved := int64(base.Bytes) - int64(res.Bytes)
	buffer := float64(s.NrPages) * float64(s.SubbufSize) * float64(len(res.RetainedCPUs))
	gain := buffer * (res.RetainedTimes - 1)
	res.Net = Net{
		Basis:          Replayed,
		SavedBytes:     saved,
		NetBytes:       saved - int64(res.MapBytes),
		BufferNetBytes: int64(math.Round(gain)) - int64(res.MapBytes),
	}
	if res.MapBytes == 0 {
		return
	}
	res.Net.Basis = Assumed // as is the memory of the map
	if saved > 0 {
		perEvent := float64(saved) / float64(max(1, res.Events))
		res.Net.BreakEvenEvents = uint64(math.Ceil(float64(res.MapBytes) / perEvent))
	}
	if cpus := float64(len(res.RetainedCPUs)); res.RetainedTimes > 1 && cpus > 0 {
		res.Net.BreakEvenBufferKB = uint64(math.Ceil(float64(res.MapBytes) / (res.RetainedTimes - 1) / cpus / 1024))
	}
}

// mapped returns the first design with a map for kernel stacks, or nil.
func (r *run) mapped() *writer {
	for _, w := range r.writers {
		if w.stacks.KernelMap() != nil {
			return w
		}
	}
	return nil
}

// depths tells how deep the stacks were and what is saved at each depth. The sizes of
// full records come from the decoded pages of the first design.
func (r *run) depths() []DepthRow {
	rows := []DepthRow{}
	full := r.writers[0].sum()
	mapped := r.mapped()
	if mapped == nil {
		return rows
	}
	var total float64
	for d, n := range full.kernelFullDepth {
		if n == 0 {
			continue
		}
		size := float64(full.kernelFullDepthSize[d]) / float64(n)
		ids := float64(min(mapped.counts.depthIDs[d], n))
		m := (ids*float64(stackIDBytes) + (float64(n)-ids)*size) / float64(n)
		rows = append(rows, DepthRow{
			Basis: Replayed, Depth: d, AndDeeper: d == maxDepth, Stacks: n,
			FullBytes: round4(size), MappedBytes: round4(m), SavingPct: round4(100 * (size - m) / size),
			ShareOfAll: float64(n) * (size - m),
		})
		total += float64(n) * (size - m)
	}
	for i := range rows {
		if total > 0 {
			rows[i].ShareOfAll = round4(100 * rows[i].ShareOfAll / total)
		}
	}
	return rows
}

// cpus is the number of CPUs with events.
func (c *census) cpus() int {
	n := 0
	for _, k := range c.eventsOnCPU {
		if k > 0 {
			n++
		}
	}
	return n
}

// Figures are rounded where they are made, so that text, JSON and HTML show the same.

func ratio(a, b uint64) float64 {
	if b == 0 {
		return 0
	}
	return round4(float64(a) / float64(b))
}

func pct(a, b uint64) float64 {
	if b == 0 {
		return 0
	}
	return round4(100 * float64(a) / float64(b))
}

func savingPct(base, now uint64) float64 {
	if base == 0 {
		return 0
	}
	return round4(100 * (float64(base) - float64(now)) / float64(base))
}

func round4(x float64) float64 { return math.Round(x*1e4) / 1e4 }
func round6(x float64) float64 { return math.Round(x*1e6) / 1e6 }
