package user

import "ftracelab/unwind/sframe"

// Arch is an architecture, as far as its stacks are concerned.
type Arch uint8

const (
	AMD64 Arch = iota
	I386       // a 32-bit program on x86-64 (compat)
	ARM64
	S390X
)

// arch is what a walk has to know about an architecture. Registers have DWARF's numbers.
type arch struct {
	word      uint64 // bytes of a word
	sframe    uint8  // what SFrame calls it; 0: SFrame does not know it
	spReg     int
	fpReg     int
	raReg     int         // holds the return address until it is saved; -1: none does
	cfaAbove  uint64      // how far the CFA is above the sp of the caller
	signature uint64      // bits of a return address that do not belong to it
	backChain bool        // frames are linked at the stack pointer
	frame     sframe.Rule // a frame with a frame pointer
	entry     sframe.Rule // the first instruction of a function
}

// userSignature are the bits of a user address that arm64's pointer authentication uses
// if addresses have 48 bits.
//
// Kernel: ptrauth_user_pac_mask, arch/arm64/include/asm/pointer_auth.h.
const userSignature = 0x7f << 48

// archs has the frames of each architecture.
//
// The record of arm64 holds the same two words as the frame of x86-64, but the function's
// variables may lie above it. So what a walk by frame pointers takes for the caller's sp
// is not above the real one.
//
// Kernel: ARCH_INIT_USER_FP_FRAME, arch/x86/include/asm/unwind_user.h; for arm64,
// unwind_user_frame in arch/arm64/kernel/stacktrace.c.
//
// Departure: arm64 and s390x are not in kernel/unwind/user.c. arm64's own walk accepts a
// frame below the stack pointer as the first one; here it ends the walk.
var archs = [...]arch{
	AMD64: {
		word: 8, sframe: sframe.AMD64, spReg: 7, fpReg: 6, raReg: -1,
		frame: frameRule(6, 8), entry: entryRule(7, 8),
	},
	I386: {word: 4, spReg: 4, fpReg: 5, raReg: -1, frame: frameRule(5, 4), entry: entryRule(4, 4)},
	ARM64: {
		word: 8, sframe: sframe.ARM64, spReg: 31, fpReg: 29, raReg: 30, signature: userSignature,
		frame: frameRule(29, 8),
		entry: sframe.Rule{CFA: register(31, 0), RA: sframe.Place{Kept: true}, FP: sframe.Place{Kept: true}},
	},
	S390X: {word: 8, sframe: sframe.S390X, spReg: 15, fpReg: 11, raReg: 14, cfaAbove: s390xArea, backChain: true},
}

func register(reg int, off int64) sframe.Place { return sframe.Place{HasReg: true, Reg: reg, Off: off} }

// frameRule: the caller's frame pointer and the return address lie where fp points.
func frameRule(fp int, word int64) sframe.Rule {
	return sframe.Rule{
		CFA: register(fp, 2*word), RA: sframe.Place{Load: true, Off: -word}, FP: sframe.Place{Load: true, Off: -2 * word},
	}
}

// entryRule: the call has pushed the return address, and nothing else has happened.
func entryRule(sp int, word int64) sframe.Rule {
	return sframe.Rule{CFA: register(sp, word), RA: sframe.Place{Load: true, Off: -word}, FP: sframe.Place{Kept: true}}
}

const (
	// s390xArea is the part of a frame in which a function that it calls saves registers.
	s390xArea = 160
	// s390xRA is where in this area the return address is, register 14.
	s390xRA = 6*8 + 8*8
	// s390xLow is the lowest address that a program may have (mmap_min_addr).
	s390xLow = 1 << 16
)

// alongBackChain goes to the caller by the word at the stack pointer, which is the
// caller's stack pointer. A function saves the return address in its caller's frame. The
// innermost function may not have done so yet; then register 14 still has it.
//
// Kernel: arch_stack_walk_user_common, arch/s390/kernel/stacktrace.c.
//
// Departure: the kernel does not ask for frames in one direction, so that a loop ends
// only at the limit; it knows the vDSO's frames and where the address space ends.
func (s *walk) alongBackChain() Stop {
	sp, why := s.load(s.sp)
	if why != found {
		return why
	}
	if sp == 0 {
		return Outermost
	}
	if sp <= s.sp {
		return WrongDirection
	}
	ip, why := s.load(sp + s390xRA)
	if why != found {
		return why
	}
	if sp%8 != 0 {
		return Misaligned
	}
	if bad := func() bool { return ip&1 != 0 || ip < s390xLow }; bad() {
		if !s.top {
			return BadAddress
		}
		if s.regs.Others == nil {
			return NoRegister
		}
		if ip = s.regs.Others[s.raReg]; bad() {
			return BadAddress
		}
	}
	s.ip, s.sp = ip, sp // where the caller's frame pointer is, only SFrame knows
	return found
}
