package printfmt

import (
	"net/netip"
	"strconv"
)

// appendPointer writes %p and its extensions. An extension unknown here is a
// plain %p, as in the kernel.
//
// Kernel: pointer, lib/vsprintf.c.
func (c *conversion) appendPointer(dst []byte, v value, env *Env) []byte {
	ext := c.ext
	if ext == "" {
		ext = "p"
	}
	start := len(dst)
	if env.library() {
		switch ext[0] {
		case 'S', 's', 'F', 'f':
			return appendLibrarySymbol(dst, ext[0], v.num(), env)
		case 'I', 'i', 'M', 'm', 'U', 'h':
		default:
			return append(appendLibraryPointer(dst, v.n), c.ext...)
		}
	}
	switch ext[0] {
	case 'S', 's', 'F', 'f', 'B':
		if env != nil && env.AppendSymbol != nil {
			dst = env.AppendSymbol(dst, ext[0], v.num())
		} else {
			dst = appendSymbol(dst, ext[0], v.num(), env)
		}
	case 'x':
		return c.appendAddress(dst, v.n)
	case 'h':
		// The width is the length of the buffer: one byte if none is given.
		n := c.width
		if c.width == 0 && c.widthArg == nil {
			n = 1
		}
		return appendHex(dst, slice(v.s, 0, min(n, 64)), hexSeparator(ext))
	case 'b':
		mask := slice(v.s, 0, (c.width+7)/8)
		if hasFlag(ext, 1, 'l') {
			return appendBitList(dst, mask, c.width)
		}
		return appendBitmask(dst, mask)
	case 'I', 'i':
		dst = appendIP(dst, ext, v.s)
	case 'M', 'm':
		dst = appendMAC(dst, ext, v.s)
	case 'U':
		dst = appendUUID(dst, ext, v.s)
	default:
		// NULL and error pointers are not addresses and are not hashed.
		if env == nil || v.kind == vInt && (v.n == 0 || v.n >= ^uint64(0)-4094) {
			return c.appendAddress(dst, v.n)
		}
		if !env.NoPtrKey {
			return c.appendAddress(dst, env.hash(v.n))
		}
		dst = append(dst, noPtrKey...)
	}
	return c.pad(dst, start)
}

// noPtrKey is what %p prints before the kernel has the key of its hash.
//
// Kernel: __ptr_to_hashval, lib/vsprintf.c.
const noPtrKey = "(____ptrval____)"

func (e *Env) hash(ptr uint64) uint64 {
	if e.HashPtr == nil {
		return ptr
	}
	return e.HashPtr(ptr)
}

// AppendPointer writes %p of an address, with 16 digits.
func (e *Env) AppendPointer(dst []byte, ptr uint64) []byte {
	return (&conversion{}).appendPointer(dst, integer(ptr, 8, false), e)
}

// appendAddress writes a pointer: 16 digits unless a width is given.
func (c *conversion) appendAddress(dst []byte, addr uint64) []byte {
	if c.width == 0 && !c.left && !c.alt {
		for shift := 60; shift >= 0; shift -= 4 {
			dst = append(dst, hexDigits[addr>>shift&15])
		}
		return dst
	}
	f := conversion{verb: 'x', size: 8, prec: -1, left: c.left, alt: c.alt, zero: c.zero, width: c.width}
	if f.width == 0 {
		f.width, f.zero = 16, true
		if f.alt {
			f.width = 18
		}
	}
	return f.appendNumber(dst, addr)
}

// AppendSymbolText appends, from Symbols, the text that AppendSymbol must append.
func (e *Env) AppendSymbolText(dst []byte, how byte, addr uint64) []byte {
	return appendSymbol(dst, how, addr, e)
}

// appendSymbol writes an address as its symbol: S and F with offset and size,
// B likewise for a return address, s and f the name alone.
//
// Kernel: __sprint_symbol, kernel/kallsyms.c.
func appendSymbol(dst []byte, how byte, addr uint64, env *Env) []byte {
	var back uint64
	if how == 'B' {
		back = 1 // a call that never returns may end its function
	}
	if env != nil && env.Symbols != nil {
		if name, module, off, size, ok := env.Symbols.Lookup(addr - back); ok {
			dst = append(dst, name...)
			if how != 's' && how != 'f' {
				dst = append(dst, "+0x"...)
				dst = strconv.AppendUint(dst, off+back, 16)
				dst = append(dst, "/0x"...)
				dst = strconv.AppendUint(dst, size, 16)
			}
			if module != "" {
				dst = append(dst, " ["...)
				dst = append(dst, module...)
				dst = append(dst, ']')
			}
			return dst
		}
	}
	dst = append(dst, "0x"...)
	return strconv.AppendUint(dst, addr, 16)
}

func hexSeparator(ext string) byte {
	switch {
	case hasFlag(ext, 1, 'C'):
		return ':'
	case hasFlag(ext, 1, 'D'):
		return '-'
	case hasFlag(ext, 1, 'N'):
		return 0
	}
	return ' '
}

// fault is the kernel's text for a pointer it cannot follow.
const fault = "(efault)"

// appendIP writes %pI4, %pI6, %pI6c, %pIS and their i forms with leading zeros.
func appendIP(dst []byte, ext string, b []byte) []byte {
	if len(ext) < 2 {
		return append(dst, fault...)
	}
	padded := ext[0] == 'i'
	switch {
	case ext[1] == '4' && len(b) >= 4:
		if hasFlag(ext, 2, 'h') || hasFlag(ext, 2, 'l') {
			return appendIP4(dst, [4]byte{b[3], b[2], b[1], b[0]}, padded)
		}
		return appendIP4(dst, [4]byte(b), padded)
	case ext[1] == '6' && len(b) >= 16:
		return appendIP6(dst, [16]byte(b), hasFlag(ext, 2, 'c'), padded)
	case ext[1] == 'S' && len(b) >= 2:
		return appendSockaddr(dst, ext, b, padded)
	}
	return append(dst, fault...)
}

func appendIP4(dst []byte, a [4]byte, padded bool) []byte {
	for i, n := range a {
		if i > 0 {
			dst = append(dst, '.')
		}
		if padded && n < 100 {
			dst = append(dst, '0')
		}
		if padded && n < 10 {
			dst = append(dst, '0')
		}
		dst = strconv.AppendUint(dst, uint64(n), 10)
	}
	return dst
}

// appendIP6 writes an IPv6 address. The i forms have no colons.
//
// Departure: in the compressed form, only IPv4-mapped addresses end in dotted notation
// here. The kernel prints ISATAP addresses in that way, too.
func appendIP6(dst []byte, a [16]byte, compressed, padded bool) []byte {
	if compressed && !padded {
		return netip.AddrFrom16(a).AppendTo(dst)
	}
	for i := 0; i < 16; i += 2 {
		if i > 0 && !padded {
			dst = append(dst, ':')
		}
		dst = appendHex(dst, a[i:i+2], 0)
	}
	return dst
}

// appendSockaddr writes a struct sockaddr; the flags p, f and s add port, flow
// and scope.
//
// Kernel: ip4_addr_string_sa, ip6_addr_string_sa, lib/vsprintf.c.
func appendSockaddr(dst []byte, ext string, b []byte, padded bool) []byte {
	const inet, inet6 = 2, 10
	port, flow, scope := hasFlag(ext, 2, 'p'), hasFlag(ext, 2, 'f'), hasFlag(ext, 2, 's')
	family := load(b, 0, 2)
	switch {
	case family == inet && len(b) >= 8:
		dst = appendIP4(dst, [4]byte(b[4:]), padded)
	case family == inet6 && len(b) >= 28:
		bracket := port || flow || scope
		if bracket {
			dst = append(dst, '[')
		}
		dst = appendIP6(dst, [16]byte(b[8:]), hasFlag(ext, 2, 'c'), padded)
		if bracket {
			dst = append(dst, ']')
		}
	default:
		return append(dst, "(einval)"...)
	}
	if port {
		dst = append(dst, ':')
		dst = strconv.AppendUint(dst, uint64(b[2])<<8|uint64(b[3]), 10)
	}
	if family == inet6 && flow {
		dst = append(dst, '/')
		dst = strconv.AppendUint(dst, uint64(b[5]&0x0f)<<16|uint64(b[6])<<8|uint64(b[7]), 10)
	}
	if family == inet6 && scope {
		dst = append(dst, '%')
		dst = strconv.AppendUint(dst, load(b, 24, 4), 10)
	}
	return dst
}

// appendMAC writes %pM: colons, F dashes, m none, R reversed.
func appendMAC(dst []byte, ext string, b []byte) []byte {
	if len(b) < 6 {
		return append(dst, fault...)
	}
	a := [6]byte(b)
	if hasFlag(ext, 1, 'R') {
		a = [6]byte{b[5], b[4], b[3], b[2], b[1], b[0]}
	}
	sep := byte(':')
	if hasFlag(ext, 1, 'F') {
		sep = '-'
	}
	if ext[0] == 'm' {
		sep = 0
	}
	return appendHex(dst, a[:], sep)
}

// uuidOrder and guidOrder are the positions of a UUID's bytes in print.
const (
	uuidOrder = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
	guidOrder = "\x03\x02\x01\x00\x05\x04\x07\x06\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
)

// appendUUID writes %pU: b and B big-endian, l and L little-endian (a GUID),
// the capitals in upper case.
func appendUUID(dst []byte, ext string, b []byte) []byte {
	if len(b) < 16 {
		return append(dst, fault...)
	}
	order, upper := uuidOrder, false
	if len(ext) > 1 {
		if ext[1]|0x20 == 'l' {
			order = guidOrder
		}
		upper = ext[1] == 'L' || ext[1] == 'B'
	}
	digits := hexDigits
	if upper {
		digits = "0123456789ABCDEF"
	}
	for i := range 16 {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		c := b[order[i]]
		dst = append(dst, digits[c>>4], digits[c&15])
	}
	return dst
}

// appendLibrarySymbol writes an address as its symbol, with an offset for S and F.
func appendLibrarySymbol(dst []byte, how byte, addr uint64, env *Env) []byte {
	if env.Symbols != nil {
		if name, _, off, _, ok := env.Symbols.Lookup(addr); ok {
			dst = append(dst, name...)
			if how == 'S' || how == 'F' {
				dst = append(dst, "+0x"...)
				dst = strconv.AppendUint(dst, off, 16)
			}
			return dst
		}
	}
	dst = append(dst, "0x"...)
	return strconv.AppendUint(dst, addr, 16)
}

// appendLibraryPointer writes %p as the C library does.
func appendLibraryPointer(dst []byte, addr uint64) []byte {
	if addr == 0 {
		return append(dst, "(nil)"...)
	}
	dst = append(dst, "0x"...)
	return strconv.AppendUint(dst, addr, 16)
}
