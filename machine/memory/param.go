package memory

import (
	"strings"

	"ftracelab/machine"
	"ftracelab/machine/btf"
)

// function is what is known about the parameters of a function.
type function struct {
	params []param
	result param
	opens  bool // it opens a file
}

// source says where the value of a parameter comes from.
type source uint8

const (
	fromNumber source = iota // nothing is known about it
	fromObject               // a pointer to an object of its kind
	fromStack                // a pointer to something on the stack
	fromText                 // a pointer to a name
	fromCall                 // the parameter of the system call with the same name
	fromAlloc                // what is allocated: its size, the flags
	fromFree                 // the object that is freed
	fromFault                // the page fault: its address, its error code
	fromExit                 // the status in the system call that ends the task
)

// param is a parameter of a function, or its result.
type param struct {
	name   string
	source source
	kind   kind   // for fromObject: the kind; numKinds: there is none
	of     string // for kindOpaque: the name of the structure
	index  int
	fn     uint64
	wakes  bool // it is the task that is woken
}

// function finds out which parameters the function at an address has.
func (mem *Memory) function(addr uint64) *function {
	if syms := mem.m.Kallsyms(); syms != mem.syms { // a module was loaded or unloaded
		mem.syms = syms
		clear(mem.funcs)
	}
	fn := mem.funcs[addr]
	if fn != nil {
		return fn
	}
	fn = &function{result: param{kind: numKinds}}
	mem.funcs[addr] = fn
	s, ok := mem.m.Kallsyms().At(addr)
	if !ok {
		return fn
	}
	proto, ok := mem.types.Func(s.Name)
	if !ok {
		return fn
	}
	fn.opens = s.Name == "vfs_open" || s.Name == "do_dentry_open"
	for i, p := range proto.Params {
		fn.params = append(fn.params, mem.param(s, i, p))
	}
	fn.result = mem.param(s, len(proto.Params), btf.Param{Type: proto.Result})
	return fn
}

// param finds out where a parameter's value comes from.
func (mem *Memory) param(s machine.Symbol, index int, p btf.Param) param {
	d := param{name: p.Name, index: index, fn: s.Addr, kind: numKinds}
	d.wakes = strings.Contains(s.Name, "wake") || strings.HasPrefix(s.Name, "ttwu")
	t := mem.types.Type(p.Type)
	name, isStruct := mem.types.Pointee(p.Type)
	slab := slabSource(s.Name, p.Name)
	switch {
	case isStruct:
		d.source, d.of = fromObject, strings.TrimPrefix(strings.TrimPrefix(name, "struct "), "union ")
		d.kind = kindOfStruct(d.of)
	case slab != fromNumber:
		d.source = slab
	case callNames[p.Name]:
		d.source = fromCall
	case t.Kind == btf.Int && (p.Name == "address" || p.Name == "error_code"):
		d.source = fromFault
	case s.Name == "do_exit" || s.Name == "do_group_exit":
		d.source = fromExit
	case t.Kind == btf.Ptr && mem.types.Type(t.Elem).Name == "char":
		d.source = fromText
	case t.Kind == btf.Ptr:
		d.source = fromStack
	}
	return d
}

// slabSource gives the source of a parameter of a function of the slab allocator.
//
// Kernel: mm/slub.c.
func slabSource(fn, param string) source {
	if !strings.HasPrefix(fn, "kfree") && !strings.HasPrefix(fn, "kmem_cache_") && !strings.HasPrefix(fn, "__kmalloc") && fn != "kvfree" {
		return fromNumber
	}
	switch param {
	case "object", "x", "addr":
		return fromFree
	case "size", "flags", "gfpflags", "gfp_flags":
		return fromAlloc
	}
	return fromNumber
}

// kindOfStruct gives the kind of objects for a structure.
func kindOfStruct(name string) kind {
	for i := range declarations {
		if declarations[i].structure == name {
			return kind(i)
		}
	}
	return kindOpaque
}

// param gives the value of a parameter at this moment.
func (at *At) param(p *param) uint64 {
	if text, ok := at.c.Passed(at.f); ok && p.index == 0 {
		return at.mem.text(text)
	}
	switch p.source {
	case fromObject:
		return at.pointer(p)
	case fromStack:
		return at.mem.sp(at.c) + 16 + 8*uint64(p.index)
	case fromText:
		return at.mem.text(base(at.mem.usedPath(at.c.Current)))
	case fromCall:
		if v, ok := callArg(at.c.Current.Stay(), p.name); ok {
			return v
		}
	case fromFault:
		if stay := at.c.Current.Stay(); stay.Kind == machine.PageFault {
			if p.name == "address" {
				return stay.Address
			}
			return stay.ErrorCode
		}
	case fromExit:
		return at.c.Current.Stay().Args[0] & 0xff << 8
	case fromAlloc:
		if s, ok := at.c.Allocates(); ok {
			if p.name == "size" {
				return uint64(s.Req)
			}
			return uint64(s.GFP)
		}
	case fromFree:
		if _, addr, ok := at.c.Frees(); ok {
			return addr
		}
		return 0
	}
	return mix(p.fn+uint64(p.index)) & 7
}

// pointer gives the address of the object to which a parameter points.
func (at *At) pointer(p *param) uint64 {
	mem, t := at.mem, at.c.Current
	switch p.kind {
	case kindTask:
		if p.wakes {
			if who := at.c.Wakee(); who != nil {
				t = who
			}
		}
		return mem.Task(t)
	case kindMM:
		return mem.mm(t)
	case kindFiles:
		return mem.partOf(p.kind, t)
	case kindCred:
		return mem.object(kindCred, key{n: uint64(t.UID)}).addr
	case kindFile:
		return mem.file(t, usedFD(t.Stay()), mem.usedPath(t))
	case kindDentry, kindInode, kindPath:
		return mem.object(p.kind, key{text: mem.usedPath(t)}).addr
	case kindFilename:
		uptr, _ := callArg(t.Stay(), "filename")
		return mem.object(kindFilename, key{uptr, mem.usedPath(t)}).addr
	case kindSuper, kindFSType, kindMount:
		return mem.object(p.kind, key{text: fileSystem(mem.usedPath(t))}).addr
	case kindHow:
		return mem.how(t.Stay())
	case kindClone:
		return mem.object(kindClone, key{n: cloneFlags(t.Stay())}).addr
	case kindCache:
		return mem.usedCache(at.c)
	}
	switch p.of {
	case "pt_regs":
		return stackOf(t) + threadSize - regsSize
	case "rq", "cfs_rq":
		return mem.structure(p.of, uint64(at.c.ID))
	case "":
		return at.f.Value
	}
	return mem.structure(p.of, uint64(t.TGID))
}

// how gives the struct open_how of an open. Large files are always allowed on this
// machine.
//
// Kernel: build_open_how, fs/open.c.
func (mem *Memory) how(stay *machine.Stay) uint64 {
	const largeFile, create, modes = 0x8000, 0x40, 0o7777
	flags, _ := callArg(stay, "flags")
	mode, _ := callArg(stay, "mode")
	if flags&create == 0 {
		mode = 0
	}
	return mem.object(kindHow, key{n: (flags|largeFile)&0xffffffff<<16 | mode&modes}).addr
}

// cloneFlags gives the flags of a stay's system call, which is a clone, with the signal
// for the parent.
func cloneFlags(stay *machine.Stay) uint64 {
	const clone, clone3, threads = 56, 435, 0x3d0f00
	switch stay.NR {
	case clone:
		return stay.Args[0]
	case clone3: // the flags are in user memory; these are the ones for a thread
		return threads
	}
	return childEnds
}

// childEnds is SIGCHLD.
const childEnds = 17
