package record

import (
	"fmt"
	"strconv"
	"strings"

	"ftracelab/stackmap"
)

// mapField is one field of a MapConfig that a command line can set.
type mapField struct {
	key, what string
	allowed   string // in words, for the error
	set       func(c *MapConfig, value string) bool
}

// mapFields lists all of them.
var mapFields = []mapField{
	{
		"bits", "the map holds 2^bits stacks", span(stackmap.MinBits, stackmap.MaxBits),
		number(stackmap.MinBits, stackmap.MaxBits, func(c *MapConfig, n uint64) { c.Bits = int(n) }),
	},
	{
		"probes", "slots that are looked at for one stack", span(1, 2<<stackmap.MinBits),
		number(1, 2<<stackmap.MinBits, func(c *MapConfig, n uint64) { c.Probes = int(n) }),
	},
	{
		"hash", "the function that makes a stack's key", "jhash2, xxhash64 or mul64",
		func(c *MapConfig, value string) bool {
			for _, h := range stackmap.Hashes {
				if h.String() == value {
					c.Hash = h
					return true
				}
			}
			return false
		},
	},
	{
		"depth", "addresses stored of one stack", span(1, stackmap.MaxDepth),
		number(1, stackmap.MaxDepth, func(c *MapConfig, n uint64) { c.MaxDepth = int(n) }),
	},
	{
		"pool", "when the memory for stacks is taken, and whether all take the same", "eager, lazy or packed",
		func(c *MapConfig, value string) bool {
			for _, p := range []stackmap.Pool{stackmap.EagerPool, stackmap.LazyPool, stackmap.PackedPool} {
				if p.String() == value {
					c.Pool = p
					return true
				}
			}
			return false
		},
	},
	{"truncate", "a deeper stack is cut, not recorded in full", "yes or no", yesOrNo(func(c *MapConfig) *bool { return &c.TruncateDeep })},
	{"saturate", "counters stop at their end instead of wrapping", "yes or no", yesOrNo(func(c *MapConfig) *bool { return &c.SaturateRefs })},
	{"reserve-first", "the ring slot is reserved before the map is asked", "yes or no", yesOrNo(func(c *MapConfig) *bool { return &c.ReserveFirst })},
	{
		"seed", "of the hash", span(0, 1<<32-1),
		number(0, 1<<32-1, func(c *MapConfig, n uint64) { c.Seed = uint32(n) }),
	},
}

// MapFields describes the fields of a map that a command line can set, one line
// for each.
func MapFields() string {
	var b strings.Builder
	for _, f := range mapFields {
		fmt.Fprintf(&b, "%-14s %s (%s)\n", f.key, f.what, f.allowed)
	}
	return b.String()
}

// MapKeys lists the keys of these fields.
func MapKeys() (keys []string) {
	for _, f := range mapFields {
		keys = append(keys, f.key)
	}
	return keys
}

// Set sets the field with that key. For an unknown key the error names the keys
// that exist; for a bad value it names the values that the field allows.
func (c *MapConfig) Set(key, value string) error {
	for _, f := range mapFields {
		if f.key != key {
			continue
		}
		if !f.set(c, value) {
			return fmt.Errorf("%s=%s: want %s", key, value, f.allowed)
		}
		return nil
	}
	return fmt.Errorf("no field %q; there are %s", key, strings.Join(MapKeys(), ", "))
}

func span(from, to uint64) string { return fmt.Sprintf("%d to %d", from, to) }

func number(from, to uint64, set func(*MapConfig, uint64)) func(*MapConfig, string) bool {
	return func(c *MapConfig, value string) bool {
		n, err := strconv.ParseUint(value, 0, 64)
		if err != nil || n < from || n > to {
			return false
		}
		set(c, n)
		return true
	}
}

func yesOrNo(field func(*MapConfig) *bool) func(*MapConfig, string) bool {
	return func(c *MapConfig, value string) bool {
		*field(c) = value == "yes"
		return value == "yes" || value == "no"
	}
}
