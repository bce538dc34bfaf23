package probe

import (
	"bytes"
	"strings"

	"ftracelab/tracer/event"
)

// Limits of what a hit writes.
const (
	maxString  = 4096      // bytes of a string, NUL included: PATH_MAX
	maxRecord  = 1<<16 - 1 // as far as a location word reaches
	maxUser    = 4096      // bytes of a uprobe's arguments: a page
	scratchLen = 64
)

// localMemory is the address that memory of the kernel's own has in a program: the
// current task's name, a string of the definition, the record of the attached event.
//
// Departure: the kernel has them at different addresses, and shows them where such an
// argument has no string type.
const localMemory = 0xffffe8ffffc00000

// kernelMemory is where a uprobe looks for a string of its definition, in vain: it
// reads user memory only.
const kernelMemory = 0xffff888000000000

// fetcher runs the programs of one hit.
type fetcher struct {
	src   Source
	entry []uint64
	user  bool // all memory is the user's: a uprobe

	name  string // at localMemory: the task's name, a string of the definition
	bytes []byte // at localMemory: the attached event's record

	rec     []byte // being made
	scratch []byte // behind it
}

// AppendEntry appends what a return probe saves when the function is entered; it is
// the Entry of the [Hit] when the function returns.
//
// Kernel: store_trace_entry_data, kernel/trace/trace_probe.c.
func (d *Definition) AppendEntry(dst []uint64, src Source) []uint64 {
	for _, n := range d.entry {
		dst = append(dst, src.Arg(n))
	}
	return dst
}

// EntryArgs is how many words AppendEntry appends; 0: entering is of no interest.
func (d *Definition) EntryArgs() int { return len(d.entry) }

// Append encodes the record of a hit and appends it to dst: the common header, where
// the probe fired, the arguments, the strings. Nothing is allocated if dst has room
// for it and 64 bytes more.
//
// What cannot be read is zero, or a string of length 0, which prints as (fault).
// Strings that end beyond 65535 are cut off.
//
// Kernel: __kprobe_trace_func and its like; store_trace_args, __get_data_size,
// kernel/trace/trace_probe_tmpl.h.
func (d *Definition) Append(dst []byte, c event.Common, h Hit, src Source) []byte {
	start, fixed := len(dst), d.headSize()+d.size
	f := fetcher{src: src, entry: h.Entry, user: d.Kind == Uprobe}
	dst = appendZeros(dst, fixed+scratchLen)
	f.place(dst[start:], fixed)
	length := d.dataLength(&f, maxRecord-fixed)
	if length > 0 {
		dst = appendZeros(dst, length)
		f.place(dst[start:], fixed+length)
	}
	c.Put(f.rec)
	switch head := d.head(); len(head) {
	case 1:
		putUint(f.rec[event.CommonSize:], 8, h.IP)
	case 2:
		putUint(f.rec[event.CommonSize:], 8, h.IP)
		putUint(f.rec[event.CommonSize+8:], 8, h.RetIP)
	}
	d.store(&f, length)
	return dst[:start+len(f.rec)]
}

// place says where the record is made: buf is longer by the scratch space.
func (f *fetcher) place(buf []byte, length int) {
	f.rec, f.scratch = buf[:length:length], buf[length:]
}

// dataLength is how many bytes the dynamic arguments need.
func (d *Definition) dataLength(f *fetcher, room int) int {
	total := 0
	for i := range d.Args {
		if d.Args[i].typ.text {
			total += max(0, f.run(d.Args[i].code, -1))
		}
	}
	if f.user {
		room = maxUser - d.size
	}
	return min(total, room)
}

// store writes the arguments. What a string uses up is what the next one's place is
// behind, although a symbol's name leaves its NUL out: the next string begins on it.
func (d *Definition) store(f *fetcher, room int) {
	head := d.headSize()
	at := head + d.size
	for i := range d.Args {
		a := &d.Args[i]
		dest := head + a.offset
		if !a.typ.text {
			f.run(a.code, dest)
			continue
		}
		f.setLocation(dest, room, at)
		if n := f.run(a.code, dest); n > 0 {
			at, room = at+n, room-n
		}
	}
}

func (f *fetcher) setLocation(dest, length, offset int) {
	putUint(f.rec[dest:], 4, uint64(length)<<16|uint64(offset&0xffff))
}

func (f *fetcher) location(dest int) (length, offset int) {
	w := getUint(f.rec[dest:], 4)
	return int(w >> 16), int(w & 0xffff)
}

// fault is what run returns if the value could not be had.
const fault = -1

// run runs a program. The value goes to f.rec at dest; if dest is -1, it only counts
// what the dynamic part needs. It returns the bytes of the dynamic part, or fault.
//
// Kernel: process_fetch_insn, process_fetch_insn_bottom.
func (f *fetcher) run(code []insn, dest int) int {
	if code[0].op == opSymbol {
		code = code[1:]
	}
	val := f.load(&code[0])
	pc := 1
	last := val // the address that the last step began with
	data, total, done := 0, 0, 0
	for {
		for code[pc].op == opDeref || code[pc].op == opUserDeref {
			last = val
			var ok bool
			if val, ok = f.word(val+uint64(code[pc].offset), 8, code[pc].op == opUserDeref); !ok {
				return fault
			}
			pc++
		}
		stored := pc
		in := &code[stored]
		length, offset := 0, 0
		if dest >= 0 && in.isText() {
			length, offset = f.location(dest)
		}
		for {
			if dest < 0 {
				data = f.measure(in, val)
			} else {
				data = f.storeValue(in, val, dest)
			}
			if data == badProgram {
				return fault
			}
			pc = stored + 1
			if code[pc].op == opBitfield {
				f.bitfield(&code[pc], dest)
				pc++
			}
			if code[pc].op != opArray {
				return data
			}
			data = max(0, data)
			total += data
			if done++; done == code[pc].n {
				return total
			}
			if in.isText() && in.op != opStoreSymString {
				break
			}
			dest += int(in.size)
			val += uint64(in.size)
		}
		// The next string's address stands behind this one's.
		pc = stored - 1
		val = last + 8
		if dest >= 0 {
			dest += 4
			f.setLocation(dest, length-data, offset+data)
		}
	}
}

func (in *insn) isText() bool {
	return in.op == opStoreString || in.op == opStoreUserString || in.op == opStoreSymString
}

// load is the first step.
func (f *fetcher) load(in *insn) uint64 {
	switch in.op {
	case opReg:
		return f.src.Reg(in.n)
	case opStack:
		return f.src.Stack(in.n)
	case opStackPointer:
		return f.src.StackPointer()
	case opRetVal:
		return f.src.RetVal()
	case opImm:
		return in.imm
	case opArg:
		return f.src.Arg(in.n)
	case opFileOffset:
		return f.src.FileAddr(in.imm)
	case opEntry:
		if in.n < len(f.entry) {
			return f.entry[in.n]
		}
		return 0
	case opComm:
		f.name, f.bytes = f.src.Comm(), nil
		return localMemory
	case opData:
		if f.user {
			return kernelMemory
		}
		f.name, f.bytes = in.data, nil
		return localMemory
	case opField:
		f.name, f.bytes = "", f.src.Record()
		return in.fieldPointer.value(in.field, f.bytes)
	}
	return 0
}

// memory copies memory at addr to dst and says how much could be read.
func (f *fetcher) memory(dst []byte, addr uint64, user bool) int {
	if at := addr - localMemory; at < 1<<16 {
		return f.local(dst, int(at))
	}
	if user || f.user {
		return f.src.User(dst, addr)
	}
	return f.src.Kernel(dst, addr)
}

// local copies what is at localMemory; a name has a NUL at its end.
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

// badProgram is what measure and storeValue return for an instruction that stores
// nothing: an array of strings without an address to go on from.
const badProgram = -2

// measure is how long a string is, its NUL included.
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
		putUint(f.rec[dest:], int(in.size), val)
		return 0
	case opStoreMem, opStoreUserMem:
		if v, ok := f.word(val+uint64(in.offset), int(in.size), in.op == opStoreUserMem); ok {
			putUint(f.rec[dest:], int(in.size), v)
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
		return copy(f.rec[offset:], name)
	}
	return badProgram
}

// storeString copies a string to where its location word says and corrects the word's
// length. A string of user memory that is empty counts as a fault, but for a uprobe.
//
// Kernel: fetch_store_string, fetch_store_string_user.
func (f *fetcher) storeString(in *insn, addr uint64, dest int) int {
	length, offset := f.location(dest)
	if length == 0 {
		return fault
	}
	room := f.rec[offset:min(len(f.rec), offset+length)]
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

// bitfield shifts the stored number left and right. What the BTF says of a bitfield
// makes a number of 8 bytes of it, whatever its own size: the bytes behind change too.
//
// Kernel: fetch_apply_bitfield.
func (f *fetcher) bitfield(in *insn, dest int) {
	b := f.rec[dest:]
	size := min(int(in.size), len(b))
	v := getUint(b, size) << in.left
	if in.size < 8 {
		v &= 1<<(8*in.size) - 1
	}
	putUint(b, size, v>>in.right)
}

// fieldKind is how a field of the attached event is loaded: as a number, or as the
// address of a string.
//
// Kernel: filter_assign_type, kernel/trace/trace_events_filter.c.
type fieldKind uint8

const (
	fieldNumber  fieldKind = iota
	fieldDataLoc           // string where the location word says, from the record's start
	fieldRelLoc            // the same from the word
	fieldInPlace           // the field's bytes
	fieldPointer           // the address is the field's value
)

func kindOfField(f *event.Field) fieldKind {
	i := strings.LastIndex(f.Decl, f.Name)
	if i < 0 {
		return fieldNumber
	}
	typ := strings.TrimSpace(f.Decl[:i] + f.Decl[i+len(f.Name):])
	char := strings.Contains(typ, "char")
	switch {
	case char && strings.Contains(typ, "__data_loc"):
		return fieldDataLoc
	case char && strings.Contains(typ, "__rel_loc"):
		return fieldRelLoc
	case char && strings.Contains(typ, "["):
		return fieldInPlace
	case typ == "char *" || typ == "const char *":
		return fieldPointer
	}
	return fieldNumber
}

// value loads a field of a record.
//
// Kernel: get_event_field, kernel/trace/trace_eprobe.c.
func (k fieldKind) value(f *event.Field, rec []byte) uint64 {
	switch k {
	case fieldDataLoc:
		return localMemory + f.Uint(rec)&0xffff
	case fieldRelLoc:
		return localMemory + uint64(f.Offset) + f.Uint(rec)&0xffff
	case fieldInPlace:
		return localMemory + uint64(f.Offset)
	}
	return uint64(f.Int(rec))
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
