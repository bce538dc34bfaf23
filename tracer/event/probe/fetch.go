package probe

import (
	"ftracelab/tracer/event"
)

// Limits of what a hit writes.
const (
	maxString  = 4096      // bytes of a string, NUL included: PATH_MAX
	maxRecord  = 1<<16 - 1 // as far as a location word reaches
	maxUser    = 4096      // bytes of a uprobe's arguments: a page
	scratchLen = 64
)

// localMemory is the address at which a fetch program finds the kernel's own
// memory: the current task's name, a string of the definition, or the record of
// the attached event.
//
// Departure: in the kernel these lie at different addresses, and an argument
// without a string type shows that address.
const localMemory = 0xffffe8ffffc00000

// kernelMemory is the address at which a uprobe looks for a string of its
// definition. It finds nothing there, because it reads only user memory.
const kernelMemory = 0xffff888000000000

// fetcher runs the programs of one hit.
type fetcher struct {
	src   Source
	entry []uint64
	user  bool // all memory is user memory, because the probe is a uprobe

	name  string // at localMemory: the task's name, a string of the definition
	bytes []byte // at localMemory: the record of the attached event

	record  []byte // the record that is being made
	scratch []byte // working memory after the record
}

// AppendEntry appends the words that a return probe saves when the function is
// entered; they become the Entry of the [Hit] when the function returns.
//
// Kernel: store_trace_entry_data, kernel/trace/trace_probe.c.
func (d *Definition) AppendEntry(dst []uint64, src Source) []uint64 {
	for _, n := range d.entry {
		dst = append(dst, src.Arg(n))
	}
	return dst
}

// EntryArgs is how many words AppendEntry appends; if it is 0, the probe does
// not need to see the entry.
func (d *Definition) EntryArgs() int { return len(d.entry) }

// Append encodes the record of a hit and appends it to dst: the common header, where
// the probe fired, the arguments, the strings. Nothing is allocated if dst has room
// for it and 64 bytes more.
//
// A value that cannot be read is zero; such a string has length 0 and prints as
// (fault). Strings that end beyond 65535 are cut off.
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
	c.Put(f.record)
	switch head := d.head(); len(head) {
	case 1:
		putUint(f.record[event.CommonSize:], 8, h.IP)
	case 2:
		putUint(f.record[event.CommonSize:], 8, h.IP)
		putUint(f.record[event.CommonSize+8:], 8, h.RetIP)
	}
	d.store(&f, length)
	return dst[:start+len(f.record)]
}

// place sets the memory in which the record is made. After the record, buf has the
// scratch space.
func (f *fetcher) place(buf []byte, length int) {
	f.record, f.scratch = buf[:length:length], buf[length:]
}

// dataLength computes how many bytes the dynamic arguments need.
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

// store writes the arguments. Each string starts where the previous one's
// returned length ends. The length returned for a symbol's name does not count
// its NUL, so the next string overwrites that NUL.
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
	putUint(f.record[dest:], 4, uint64(length)<<16|uint64(offset&0xffff))
}

func (f *fetcher) location(dest int) (length, offset int) {
	w := getUint(f.record[dest:], 4)
	return int(w >> 16), int(w & 0xffff)
}

// fault is what run returns if the value could not be read.
const fault = -1

// run runs a program. The value goes to f.record at dest; if dest is -1, it only counts
// what the dynamic part needs. It returns the bytes of the dynamic part, or fault.
//
// Kernel: process_fetch_insn, process_fetch_insn_bottom.
func (f *fetcher) run(code []insn, dest int) int {
	if code[0].op == opSymbol {
		code = code[1:]
	}
	val := f.load(&code[0])
	pc := 1
	last := val // the address with which the last step began
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
		// The next string's address follows this one's.
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

// load runs the first step of a program.
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
		return in.kind.value(in.field, f.bytes)
	}
	return 0
}
