// Package record is the waist of ftracelab: what a tracer of the simulated machine or a
// capture of a real one saw goes in, and bytes in a ring buffer come out.
//
//	tracers of the machine ─┐ events   ┌──────────┐ Reserve, Commit ┌─────────┐
//	                        ├─────────►│ Recorder ├────────────────►│ ringbuf │
//	captures ───────────────┘ stacks   └────┬─────┘                 └─────────┘
//	                                        │ Intern: addresses → id
//	                                   ┌────▼─────┐
//	                                   │ Interner │ a stackmap, or an idea of yours
//	                                   └──────────┘
//
// A [Recorder] writes an event as it is given. Its [Stacks] decide what is
// written for the stacks that follow an event: the whole stack, the id that an
// [Interner] has for it, a cookie for a user stack that comes later, or
// nothing. A [Design] is one such choice as a value. So the same code can write
// a trace as several designs would write it, and the bytes can be compared.
//
// # Records
//
// A [Source] delivers a trace as [Record] values: events, each followed by the
// stacks that belong to it as records of their own, in the order in which one
// CPU wrote them. That is what the kernel does (an interrupt may record between
// an event and its stack), and it is why a decoded capture can be written again
// byte for byte.
//
// # A map of your own
//
// Stacks are de-duplicated behind the interface [Interner]. Its ids need not be
// slots of a table: a design whose [MapConfig].New makes another Interner is
// written, counted and compared in the same way as the stackmap.
//
//	d := record.Design{Name: "mine", Kernel: record.StackID, User: record.FullStack}
//	d.KernelMap.New = func(c record.MapConfig) (record.Interner, error) { return newMine(c.Bits), nil }
//	r, err := report.Estimate(ctx, source, report.Options{Designs: []record.Design{full, d}})
//
// Package variant has several; docs/variants.md compares them.
//
// testdata/stranger is a whole program that does so from a module of its own;
// its ids are given out in the order in which stacks come, without slots. It
// prints
//
//	full-stacks  149.00 bytes per event, map       0 bytes, exists: true
//	stackmap      60.00 bytes per event, map  573440 bytes, exists: true
//	ordered       60.00 bytes per event, map   43072 bytes, exists: false
//	aligned      156.34 bytes per event, map       0 bytes, exists: false
//
// # A ring of your own
//
// What a Recorder writes into is an interface, too. A design whose Ring function
// makes another [Ring] is counted from the pages that this one writes; testdata/stranger
// tries one that begins each event at a multiple of eight bytes.
//
// # Slots
//
// Code that must know that there is room before the record is complete, such as
// a trigger, a marker or a histogram, opens a [Slot] and commits or discards
// it. No other package reserves room in a ring.
//
// Kernel: trace_event_buffer_reserve, trace_buffer_unlock_commit_regs and
// __ftrace_trace_stack, kernel/trace/trace.c; the stackmap patches (RFC, not merged).
package record
