package user

import (
	"errors"

	"ftracelab/unwind/ehframe"
)

// ehMachines says what package ehframe calls an architecture; those that it does not know
// are missing.
var ehMachines = map[Arch]ehframe.Machine{AMD64: ehframe.AMD64, ARM64: ehframe.ARM64}

// byEhFrame goes to the caller by .eh_frame. Its rules are those of debuggers: an address
// on the stack is looked up as the call before it. The call may be the last instruction of
// its function, if what it calls does not return; then the return address belongs to
// another function.
//
// What has to be true of a frame is what the kernel asks for with other methods.
func (s *walk) byEhFrame() Stop {
	pc := s.ip
	if !s.top {
		pc--
	}
	m, ok := ehMachines[s.Arch]
	if !ok {
		return NoFrameData
	}
	for i := range s.objects {
		o := &s.objects[i]
		if pc < o.Start || pc >= o.End || o.EhFrames == nil || o.EhFrames.Machine != m {
			continue
		}
		regs := s.registers()
		f, err := o.EhFrames.Caller(regs, pc-o.Bias, s.mem)
		if err != nil {
			return whyNot(err)
		}
		if why := s.upwards(f.CFA, f.CFA); why != found {
			return why
		}
		*regs = f.Regs
		s.known = regs
		s.ip, s.sp, s.fp = f.RA&^s.signature, f.CFA, 0
		if f.Regs.Known>>s.fpReg&1 != 0 {
			s.fp = f.Regs.Value[s.fpReg]
		}
		return found
	}
	return NoFrameData
}

// registers are what is known of the registers of the current frame.
func (s *walk) registers() *ehframe.Regs {
	r := s.known
	if r == nil {
		r = &ehframe.Regs{}
		if s.top && s.regs.Others != nil {
			for i, v := range s.regs.Others {
				r.Set(i, v)
			}
		}
		r.Set(s.spReg, s.sp)
		r.Set(s.fpReg, s.fp)
	}
	if s.Arch == AMD64 {
		r.Set(amd64IP, s.ip)
	}
	return r
}

// amd64IP is DWARF's number of rip.
const amd64IP = 16

func whyNot(err error) Stop {
	switch {
	case errors.Is(err, ehframe.ErrNoRow):
		return NoFrameData
	case errors.Is(err, ehframe.ErrOutermost):
		return Outermost
	case errors.Is(err, ehframe.ErrFault):
		return Fault
	case errors.Is(err, ehframe.ErrRegister):
		return NoRegister
	}
	return BadFrameData
}
