package probe

import (
	"bytes"
)

// memory copies memory at addr to dst and returns how many bytes could be read.
func (f *fetcher) memory(dst []byte, addr uint64, user bool) int {
	if at := addr - localMemory; at < 1<<16 {
		return f.local(dst, int(at))
	}
	if user || f.user {
		return f.src.User(dst, addr)
	}
	return f.src.Kernel(dst, addr)
}

// local copies from localMemory. A name has a NUL at its end there.
func (f *fetcher) local(dst []byte, at int) int {
	if f.bytes != nil {
		if at > len(f.bytes) {
			return 0
		}
		return copy(dst, f.bytes[at:])
	}
	if at > len(f.name) {
		return 0
	}
	n := copy(dst, f.name[at:])
	if n < len(dst) {
		dst[n] = 0
		n++
	}
	return n
}

// word reads a number of size bytes.
func (f *fetcher) word(addr uint64, size int, user bool) (uint64, bool) {
	b := f.scratch[:size]
	if f.memory(b, addr, user) != size {
		return 0, false
	}
	return getUint(b, size), true
}

// badProgram is what measure and storeValue return for an instruction that
// stores nothing: an array of strings without an address at which to go on.
const badProgram = -2

// measure gives the length of a string, its NUL included.
//
// Kernel: fetch_store_strlen, fetch_store_strlen_user, fetch_store_symstrlen,
// kernel/trace/trace_probe_kernel.h.
func (f *fetcher) measure(in *insn, val uint64) int {
	addr := val + uint64(in.offset)
	switch in.op {
	case opStoreString, opStoreUserString:
		length := 0
		for length < maxString {
			b := f.scratch[:min(scratchLen, maxString-length)]
			n := f.memory(b, addr+uint64(length), in.op == opStoreUserString)
			if i := bytes.IndexByte(b[:n], 0); i >= 0 {
				return length + i + 1
			}
			if n < len(b) {
				return fault
			}
			length += n
		}
		return length
	case opStoreSymString:
		return len(f.src.AppendSymbol(f.scratch[:0], addr)) + 1
	}
	return badProgram
}

// storeValue writes a value and returns the bytes of the dynamic part it takes.
func (f *fetcher) storeValue(in *insn, val uint64, dest int) int {
	switch in.op {
	case opStoreRaw:
		putUint(f.record[dest:], int(in.size), val)
		return 0
	case opStoreMem, opStoreUserMem:
		if v, ok := f.word(val+uint64(in.offset), int(in.size), in.op == opStoreUserMem); ok {
			putUint(f.record[dest:], int(in.size), v)
		}
		return 0
	case opStoreString, opStoreUserString:
		return f.storeString(in, val+uint64(in.offset), dest)
	case opStoreSymString:
		length, offset := f.location(dest)
		if length == 0 {
			return fault
		}
		name := f.src.AppendSymbol(f.scratch[:0], val+uint64(in.offset))
		return copy(f.record[offset:], name)
	}
	return badProgram
}

// storeString copies a string to where its location word says and corrects the
// word's length. An empty string in user memory counts as a fault, except for a
// uprobe.
//
// Kernel: fetch_store_string, fetch_store_string_user.
func (f *fetcher) storeString(in *insn, addr uint64, dest int) int {
	length, offset := f.location(dest)
	if length == 0 {
		return fault
	}
	room := f.record[offset:min(len(f.record), offset+length)]
	n := f.memory(room, addr, in.op == opStoreUserString)
	end := bytes.IndexByte(room[:n], 0)
	switch {
	case end < 0 && n < len(room), end == 0 && in.op == opStoreUserString && !f.user:
		clear(room)
		f.setLocation(dest, 0, offset)
		return fault
	case end < 0:
		end = len(room) - 1
	}
	clear(room[end:])
	f.setLocation(dest, end+1, offset)
	return end + 1
}

// bitfield shifts the stored number left and right. A bitfield that the BTF
// describes is stored as a number of 8 bytes, whatever its own size, so the
// bytes after it change too.
//
// Kernel: fetch_apply_bitfield.
func (f *fetcher) bitfield(in *insn, dest int) {
	b := f.record[dest:]
	size := min(int(in.size), len(b))
	v := getUint(b, size) << in.left
	if in.size < 8 {
		v &= 1<<(8*in.size) - 1
	}
	putUint(b, size, v>>in.right)
}

func appendZeros(dst []byte, n int) []byte {
	var zeros [scratchLen]byte
	for ; n > len(zeros); n -= len(zeros) {
		dst = append(dst, zeros[:]...)
	}
	return append(dst, zeros[:n]...)
}

// putUint writes the low bytes of v.
func putUint(b []byte, size int, v uint64) {
	for i := range min(size, len(b)) {
		b[i] = byte(v >> (8 * i))
	}
}

func getUint(b []byte, size int) uint64 {
	var v uint64
	for i := range min(size, len(b)) {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}
