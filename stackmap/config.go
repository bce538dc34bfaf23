package stackmap

import (
	"cmp"
	"fmt"
)

// The limits of the capacity, as powers of two.
//
// Kernel: FTRACE_STACKMAP_BITS_MIN, _MAX and _DEFAULT, trace_stackmap.c.
const (
	MinBits     = 10
	MaxBits     = 18
	DefaultBits = 14
)

// MaxDepth bounds Config.MaxDepth, the addresses of an element. No kernel has more than
// 64; it is for experiments.
const MaxDepth = 1024

const (
	defaultProbes = 64 // FTRACE_STACKMAP_MAX_PROBE
	defaultDepth  = 64 // FTRACE_STACKMAP_MAX_DEPTH
)

// The two published binary formats. They hold the same records; v4 corrected
// the magic, which was meant to read FSMB, and started again at version 1.
var (
	ABIv2 = ABI{Magic: 0x464D5342, Version: 2}
	ABIv4 = ABI{Magic: 0x46534D42, Version: 1}
)

// ABI is the binary export's magic and version.
type ABI struct{ Magic, Version uint32 }

// Hash names the function that makes a stack's 32-bit key.
type Hash uint8

const (
	// JHash2 is the kernel's.
	JHash2 Hash = iota
	// XXHash64 is the upper half of a 64-bit xxHash. Experiment only.
	XXHash64
	// XXH3 is the upper half of a 64-bit XXH3. Experiment only.
	XXH3
	// Mul64 multiplies four words at a time. Experiment only.
	Mul64
)

// Hashes lists the functions that a map can have.
func Hashes() []Hash { return []Hash{JHash2, XXHash64, XXH3, Mul64} }

// String is the name as a flag spells it.
func (h Hash) String() string {
	switch h {
	case JHash2:
		return "jhash2"
	case XXHash64:
		return "xxhash64"
	case XXH3:
		return "xxh3"
	case Mul64:
		return "mul64"
	}
	return fmt.Sprintf("hash(%d)", uint8(h))
}

// Config is a design variant of the map itself; record.Policy says what the
// recorder and the tracefs do around it. The zero value is a map of 2^14 stacks
// with seed 0 that refuses deeper stacks instead of cutting them, counts as v2
// does and exports ABIv2. Start from one of the presets V2, V4 and Documented.
type Config struct {
	Preset string // "documented", "v2", "v4": for display

	Bits     int    // capacity is 2^Bits stacks; 0 is 14, others are clamped to 10…18 as the boot parameter is
	Seed     uint32 // the hash seed of this boot; resets keep it
	Hash     Hash   // default JHash2
	Probes   int    // slots tried for one stack; 0 is 64
	MaxDepth int    // addresses stored of one stack; 0 is 64, at most 1024
	Pool     Pool   // how the memory for the stacks is had; default EagerPool

	TruncateDeep bool // cut a deeper stack to MaxDepth (v2); otherwise it is ErrTooDeep
	SaturateRefs bool // ref_count stops at 2^31-1 and counters at 2^63-1 instead of wrapping

	TrampolineText string // text of address 0x7fffffff, a frame in an ftrace trampoline; "" prints the number
	ABI            ABI    // zero is ABIv2
}

// V2 is RFC v2 as a real patched 6.12 runs it: deep stacks are cut to 64 frames
// and merge, counters wrap.
func V2() Config {
	return Config{Preset: "v2", TruncateDeep: true, ABI: ABIv2}.withDefaults()
}

// V4 is RFC v4 as a real patched 6.12 runs it: deep stacks are refused, counters
// saturate.
func V4() Config {
	return Config{Preset: "v4", SaturateRefs: true, TrampolineText: "[FTRACE TRAMPOLINE]", ABI: ABIv4}.withDefaults()
}

// Documented is what the documentation and the dump tool of v2 promise a user,
// with v4's corrections: its binary format is v2's, and stacks deeper than 64
// are recorded in full.
func Documented() Config {
	return Config{Preset: "documented", SaturateRefs: true, ABI: ABIv2}.withDefaults()
}

// withDefaults fills in the fields that were left zero, and clamps Bits.
func (c Config) withDefaults() Config {
	c.Bits = clampBits(cmp.Or(c.Bits, DefaultBits))
	c.Probes = cmp.Or(c.Probes, defaultProbes)
	c.MaxDepth = cmp.Or(c.MaxDepth, defaultDepth)
	c.ABI = cmp.Or(c.ABI, ABIv2)
	return c
}

// validate returns an error that names a field with which no map can be built.
// The defaults of c have been filled in.
func (c Config) validate() error {
	switch {
	case c.Probes < 1 || c.Probes > c.slots():
		return fmt.Errorf("stackmap: Config.Probes %d is not 1…%d: %w", c.Probes, c.slots(), ErrInvalid)
	case c.MaxDepth < 1 || c.MaxDepth > MaxDepth:
		return fmt.Errorf("stackmap: Config.MaxDepth %d is not 1…%d: %w", c.MaxDepth, MaxDepth, ErrInvalid)
	case c.Hash > Mul64:
		return fmt.Errorf("stackmap: Config.Hash: unknown %v: %w", c.Hash, ErrInvalid)
	case c.Pool > PackedPool:
		return fmt.Errorf("stackmap: Config.Pool: unknown %v: %w", c.Pool, ErrInvalid)
	}
	return nil
}

// clampBits forces a capacity into the range a kernel accepts.
func clampBits(bits int) int { return min(max(bits, MinBits), MaxBits) }

// capacity is the number of stacks, slots the number of ids.
func (c Config) capacity() int { return 1 << c.Bits }
func (c Config) slots() int    { return 2 << c.Bits }
