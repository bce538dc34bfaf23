package printfmt

import (
	"bytes"
	"strconv"
)

// appendText appends what a helper that makes text makes of the record.
func appendText(dst []byte, n *node, data []byte, env *Env) []byte {
	switch n.op {
	case opFlags, opSymbolic:
		var num uint64
		if n.a.isNumber {
			num = evalNumber(n.a, data)
		} else if v := eval(n.a, data, env); v.kind == vUnknown {
			return appendUnknown(dst, v)
		} else {
			num = v.num()
		}
		if n.op == opFlags {
			return appendFlags(dst, n, num)
		}
		return appendSymbolic(dst, n, num)
	case opHex:
		sep := byte(' ')
		if n.val != 0 {
			sep = 0
		}
		v, size := eval(n.a, data, env), eval(n.b, data, env)
		return appendHex(dst, slice(v.s, 0, clampInt(size.num())), sep)
	case opArray:
		return appendArray(dst, eval(n.a, data, env), eval(n.b, data, env), eval(n.c, data, env), env.library())
	case opDecode:
		return appendDecoded(dst, n, data, env)
	case opBitmask:
		return appendBitmask(dst, n.field.Bytes(data))
	}
	return dst
}

func clampInt(n uint64) int { return int(min(n, 1<<31-1)) }

// appendUnknown is the text of what only the kernel could compute.
func appendUnknown(dst []byte, v value) []byte {
	name := "kernel memory"
	if v.node != nil && v.node.name != "" {
		name = v.node.name
	}
	dst = append(dst, "[unknown "...)
	dst = append(dst, name...)
	return append(dst, ']')
}

// appendFlags names the bits, delimited; bits without a name follow in hex.
//
// Kernel: trace_print_flags_seq, kernel/trace/trace_output.c.
func appendFlags(dst []byte, n *node, flags uint64) []byte {
	first := true
	for i := range n.table {
		if flags == 0 {
			break
		}
		e := &n.table[i]
		if !e.known || flags&e.val != e.val {
			continue
		}
		flags &^= e.val
		if !first {
			dst = append(dst, n.str...)
		}
		first = false
		dst = append(dst, e.text...)
	}
	if flags != 0 {
		if !first {
			dst = append(dst, n.str...)
		}
		dst = append(dst, "0x"...)
		dst = strconv.AppendUint(dst, flags, 16)
	}
	return dst
}

// appendSymbolic names v, or gives it in hex.
//
// Kernel: trace_print_symbols_seq, kernel/trace/trace_output.c.
func appendSymbolic(dst []byte, n *node, v uint64) []byte {
	for i := range n.table {
		if e := &n.table[i]; e.known && e.val == v {
			return append(dst, e.text...)
		}
	}
	dst = append(dst, "0x"...)
	return strconv.AppendUint(dst, v, 16)
}

const hexDigits = "0123456789abcdef"

// appendHex writes bytes as pairs of digits; sep 0 is none.
func appendHex(dst, b []byte, sep byte) []byte {
	for i, c := range b {
		if i > 0 && sep != 0 {
			dst = append(dst, sep)
		}
		dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
	}
	return dst
}

// appendArray writes {0x1,0x2}: count elements of size bytes, as far as the
// record holds them; libtraceevent writes 1 2.
//
// Kernel: trace_print_array_seq, kernel/trace/trace_output.c.
func appendArray(dst []byte, v, count, elem value, library bool) []byte {
	open, comma, prefix, base, end := "{", ",", "0x", 16, "}"
	if library {
		open, comma, prefix, base, end = "", " ", "", 10, ""
	}
	dst = append(dst, open...)
	size := clampInt(elem.num())
	if size != 1 && size != 2 && size != 4 && size != 8 {
		size = 1
	}
	n := min(clampInt(count.num()), len(v.s)/size)
	for i := range n {
		if i > 0 {
			dst = append(dst, comma...)
		}
		dst = append(dst, prefix...)
		dst = strconv.AppendUint(dst, load(v.s, i*size, size), base)
	}
	return append(dst, end...)
}

// appendBitmask writes a bitmap as the kernel's %*pb does: groups of 32 bits,
// the highest first, each padded with zeros.
//
// Kernel: bitmap_string, lib/vsprintf.c.
func appendBitmask(dst, mask []byte) []byte {
	for end := len(mask); end > 0; {
		start := (end - 1) &^ 3
		for i := end - 1; i >= start; i-- {
			dst = append(dst, hexDigits[mask[i]>>4], hexDigits[mask[i]&15])
		}
		if end = start; end > 0 {
			dst = append(dst, ',')
		}
	}
	return dst
}

// appendBitList writes the bits that are set of the first n as ranges, 0-1,4, as
// the kernel's %*pbl does.
//
// Kernel: bitmap_list_string, lib/vsprintf.c.
func appendBitList(dst, mask []byte, n int) []byte {
	n = min(n, 8*len(mask))
	set := func(i int) bool { return i < n && mask[i/8]>>(i%8)&1 != 0 }
	first := true
	for i := 0; i < n; i++ {
		if !set(i) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = strconv.AppendInt(dst, int64(i), 10)
		from := i
		for set(i + 1) {
			i++
		}
		if i > from {
			dst = strconv.AppendInt(append(dst, '-'), int64(i), 10)
		}
	}
	return dst
}

// cString is b up to its first NUL.
func cString(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}
