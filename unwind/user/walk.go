package user

import (
	"ftracelab/machine"
	"ftracelab/unwind/ehframe"
	"ftracelab/unwind/sframe"
)

// Method is a way to find a caller.
type Method uint8

const (
	FramePointer Method = iota // the program keeps frame pointers (s390x: back chains)
	SFrame                     // the program's file has a table
	EhFrame                    // the program's file has the table of debuggers; no kernel reads it
)

// Walker walks the stacks of one program. The zero value walks by the frame pointers of
// x86-64. A Walker may be used by several goroutines as long as it is not changed.
type Walker struct {
	Arch Arch

	// Methods are tried in this order at every frame. The next one is tried only where
	// SFrame or EhFrame has no row for an address. No methods means FramePointer.
	Methods []Method

	// Objects are what SFrame and EhFrame look addresses up in; they do not overlap. A
	// stack that is an [AddressSpace] has objects of its own, which are taken instead.
	Objects []Object
}

// Object is the code of a mapped file that has frame data. A walk does not change it.
type Object struct {
	Start, End uint64           // its addresses in memory
	Bias       uint64           // what its addresses in memory are above those in the file
	Frames     *sframe.Section  // nil: it has none
	EhFrames   *ehframe.Section // nil: it has none
}

// AddressSpace is the memory of a task that knows what is mapped: programs differ in their
// frame data, and two of them may lie at the same addresses.
type AddressSpace interface {
	machine.UserMemory
	// Objects are the task's files with frame data. The caller does not change them.
	Objects() []Object
}

// Regs are the registers of the innermost frame.
type Regs struct {
	machine.UserRegs

	// Entry says that IP is the first instruction of a function, as at a uprobe: there
	// is no frame yet, so the return address is on top of the stack.
	Entry bool

	// Others are the registers besides those of UserRegs, by DWARF's numbers; nil means
	// that they are not known. On arm64 and s390x a function that calls no other has
	// its return address there, in 30 and in 14.
	Others *[32]uint64
}

// walk is one walk under way.
type walk struct {
	*Walker
	*arch
	mem        machine.UserMemory
	objects    []Object
	ip, sp, fp uint64
	regs       Regs          // of the innermost frame
	top        bool          // at the innermost frame
	known      *ehframe.Regs // what the frames before have left of the registers; nil: only sp and fp
}

// Walk appends the user stack at regs to dst, innermost first, at most limit entries:
// regs.IP itself, then return addresses. The Stop says why there are no more.
//
// Kernel: unwind_user and unwind_user_next, kernel/unwind/user.c.
func (w *Walker) Walk(dst []uint64, regs Regs, mem machine.UserMemory, limit int) ([]uint64, Stop) {
	if mem == nil {
		return dst, NoUser
	}
	s := walk{Walker: w, arch: &archs[w.Arch], mem: mem, objects: w.Objects, ip: regs.IP, sp: regs.SP, fp: regs.FP, regs: regs, top: true}
	if space, ok := mem.(AddressSpace); ok {
		s.objects = space.Objects()
	}
	for range limit {
		dst = append(dst, s.ip)
		limit--
		if limit == 0 {
			break
		}
		if why := s.next(); why != found {
			return dst, why
		}
		s.top = false
	}
	return dst, Full
}

var framePointers = []Method{FramePointer}

// next goes to the caller.
func (s *walk) next() Stop {
	methods := s.Methods
	if len(methods) == 0 {
		methods = framePointers
	}
	for _, m := range methods {
		switch {
		case m == SFrame:
			rule, why := s.row()
			switch why {
			case NoFrameData:
				continue
			case found:
				return s.apply(&rule)
			}
			return why
		case m == EhFrame:
			if why := s.byEhFrame(); why != NoFrameData {
				return why
			}
			continue
		case s.backChain:
			return s.alongBackChain()
		case s.top && s.regs.Entry:
			return s.apply(&s.entry)
		}
		return s.apply(&s.frame)
	}
	return NoFrameData
}

// row finds the rule that SFrame has for the current address. The return address is
// looked up as it is, not the call before it.
func (s *walk) row() (sframe.Rule, Stop) {
	for i := range s.objects {
		o := &s.objects[i]
		if s.ip < o.Start || s.ip >= o.End || o.Frames == nil || o.Frames.Arch != s.sframe {
			continue
		}
		f, row, err := o.Frames.Find(s.ip - o.Bias)
		if err != nil {
			break
		}
		rule, err := o.Frames.Rule(f, row)
		if err != nil {
			return rule, BadFrameData
		}
		return rule, found
	}
	return sframe.Rule{}, NoFrameData
}

// apply goes to the caller by a rule.
//
// Kernel: unwind_user_next_common, kernel/unwind/user.c.
func (s *walk) apply(r *sframe.Rule) Stop {
	if r.Outermost {
		return Outermost
	}
	if r.CFA.HasReg && r.CFA.Reg == s.fpReg && !r.CFA.Load && s.fp < s.sp {
		if s.fp == 0 {
			return Outermost // the kernel makes no difference
		}
		return BelowStack
	}
	cfa, why := s.value(r.CFA, 0)
	if why != found {
		return why
	}
	sp := cfa - s.cfaAbove
	if why := s.upwards(cfa, sp); why != found {
		return why
	}
	ra := r.RA
	if ra.Kept {
		ra = sframe.Place{HasReg: true, Reg: s.raReg}
	}
	ip, why := s.value(ra, cfa)
	if why != found {
		return why
	}
	fp := s.fp
	if !r.FP.Kept {
		if fp, why = s.value(r.FP, cfa); why != found {
			return why
		}
	}
	s.ip, s.sp, s.fp, s.known = ip&^s.signature, sp, fp, nil
	return found
}

// upwards sees to it that a walk ends: only a function that has not used the stack at all
// may have its caller's sp.
func (s *walk) upwards(cfa, sp uint64) Stop {
	if sp < s.sp || sp == s.sp && !s.top {
		return WrongDirection
	}
	if cfa%s.word != 0 {
		return Misaligned
	}
	return found
}

// value is what a place stands for.
func (s *walk) value(p sframe.Place, cfa uint64) (uint64, Stop) {
	v := cfa
	if p.HasReg {
		switch {
		case p.Reg == s.spReg:
			v = s.sp
		case p.Reg == s.fpReg:
			v = s.fp
		case !s.top || s.regs.Others == nil || p.Reg < 0 || p.Reg >= len(s.regs.Others):
			return 0, NoRegister
		default:
			v = s.regs.Others[p.Reg]
		}
	}
	v += uint64(p.Off)
	if !p.Load {
		return v, found
	}
	return s.load(v)
}

// load reads a word of the architecture's size. Memory has words of 8 bytes.
func (s *walk) load(addr uint64) (uint64, Stop) {
	if s.word == 8 {
		if v, ok := s.mem.Load(addr); ok {
			return v, found
		}
		return 0, Fault
	}
	v, ok := s.mem.Load(addr &^ 7)
	if !ok || addr&3 != 0 {
		return 0, Fault
	}
	if addr&4 != 0 {
		v >>= 32
	}
	return v & 0xffffffff, found
}
