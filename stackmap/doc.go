// Package stackmap is the ftrace stack map: it turns a kernel stack into a
// small number, so that the ring buffer carries <stack_id N> instead of the
// whole stack again and again.
//
// A stack_id is the number of a slot. There are twice as many slots as stacks
// the map can hold (2^bits stacks, 2^(bits+1) slots). The top bits of the
// stack's hash choose its home slot; when that one is taken, the next 63 are
// tried:
//
//	GetID(ips)
//	   │ key = jhash2(ips, seed), never 0
//	   ▼
//	slots  ┌────┬────┬────┬────┬────┬────┬────┐
//	       │ 0  │ k1 │ k2 │ k3 │ k4 │ 0  │ …  │  2^(bits+1), 0: empty
//	       └────┴─┬──┴─┬──┴────┴─┬──┴────┴────┘
//	home = key >> (31-bits)──────┘    k3 has a key and no stack: a gravestone
//	              │    │         │
//	pool   ┌──────┴┬───┴───┬─────┴─┬─┄┄
//	       │ nr    │       │       │    2^bits elements, handed out in order,
//	       │ ref   │       │       │    never given back before a reset
//	       │ ips[] │       │       │
//	       └───────┴───────┴───────┴─┄┄
//
// So an id is sparse, may be 0, depends on the seed of this boot, on bits and
// on what came before, and survives only until the next reset. When the pool is
// empty or all 64 slots are taken, the map drops the stack, but the trace does
// not: the caller records it in full. A slot that was claimed while the pool
// was already empty stays claimed: a gravestone, which only a reset clears.
//
// The map may be used by any number of goroutines at once. Like the kernel's it
// never waits: two CPUs that bring the same new stack at the same moment may
// both store it, and then the stack has two ids. An id never names a stack
// other than the one for which it was given.
//
// Revisions differ; each is a [Config]: [V2] and [V4] behave as two real 6.12
// kernels with these patches do, [Documented] keeps what the documentation and
// the self test of v2 promise a user. See the example of [Map.GetID].
//
// Kernel: kernel/trace/trace_stackmap.c and tools/tracing/stackmap_dump.py of
// the RFC series "ftrace stackmap" by Pengfei Li; not merged.
//
// Left out: what the recorder does with an id or an error (package tracer), the
// tracefs nodes stack_map (0640), stack_map_stat and stack_map_bin (0440), and
// big-endian machines: words are hashed and exported little-endian. [ReadDump]
// reads both byte orders.
package stackmap
