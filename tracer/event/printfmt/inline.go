package printfmt

// words are the helpers that name a truth value.
//
// Kernel: include/linux/string_choices.h.
var words = map[string][2]string{
	"str_enable_disable":   {"enable", "disable"},
	"str_enabled_disabled": {"enabled", "disabled"},
	"str_hi_lo":            {"hi", "lo"},
	"str_high_low":         {"high", "low"},
	"str_read_write":       {"read", "write"},
	"str_on_off":           {"on", "off"},
	"str_yes_no":           {"yes", "no"},
	"str_true_false":       {"true", "false"},
	"str_up_down":          {"up", "down"},
}

// swaps are the functions that turn the order of bytes of a number around.
var swaps = map[string]int{"__builtin_bswap16": 2, "__builtin_bswap32": 4, "__builtin_bswap64": 8}

// pointed are the functions that read a number at an address in the record.
//
// Kernel: include/uapi/linux/byteorder/little_endian.h, include/linux/byteorder/generic.h.
var pointed = map[string]struct {
	size int
	big  bool
}{
	"__le16_to_cpup": {2, false}, "__le32_to_cpup": {4, false}, "__le64_to_cpup": {8, false},
	"__be16_to_cpup": {2, true}, "__be32_to_cpup": {4, true}, "__be64_to_cpup": {8, true},
}

// times are the functions that give a ktime_t, which is in nanoseconds, in units of so many
// nanoseconds.
//
// Kernel: include/linux/ktime.h.
var times = map[string]uint64{"ktime_to_ns": 1, "ktime_to_us": 1000, "ktime_to_ms": 1000 * 1000}

// inline makes the node of a small function that the compiler puts into its caller; nil if
// it is none of these.
func inline(name string, args []*node) *node {
	if len(args) != 1 {
		return nil
	}
	a := args[0]
	if w, ok := words[name]; ok {
		return &node{op: opCond, a: a, b: &node{op: opString, str: []byte(w[0]), weight: 1}, c: &node{op: opString, str: []byte(w[1]), weight: 1}}
	}
	if size, ok := swaps[name]; ok {
		return &node{op: opSwap, typ: ctype{size: size}, a: a}
	}
	if p, ok := pointed[name]; ok {
		at := &node{op: opCast, typ: ctype{size: 8, elem: p.size}, a: a, weight: a.weight + 1}
		n := &node{op: opDeref, a: at, weight: at.weight + 1}
		if p.big {
			n = &node{op: opSwap, typ: ctype{size: p.size}, a: n}
		}
		return n
	}
	if unit, ok := times[name]; ok {
		ns := &node{op: opCast, typ: ctype{size: 8, signed: true}, a: a, weight: a.weight + 1}
		return &node{op: opBinary, bin: binDiv, a: ns, b: &node{op: opConst, typ: ctype{size: 8, signed: true}, val: unit, weight: 1}}
	}
	return nil
}
