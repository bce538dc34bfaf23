package ehframe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/go-delve/delve/pkg/dwarf/frame"
	"github.com/go-delve/delve/pkg/dwarf/op"
)

// Why there is no caller. Any other error says what is wrong with the section.
var (
	ErrNoRow     = errors.New("no frame data")
	ErrOutermost = errors.New("outermost frame")
	ErrFault     = errors.New("the stack cannot be read there")
	ErrRegister  = errors.New("register not known")
)

// Regs are registers by DWARF's numbers; bit i of Known says that register i is known.
type Regs struct {
	Value [33]uint64
	Known uint64
}

// Set makes a register known.
func (r *Regs) Set(reg int, v uint64) {
	r.Value[reg] = v
	r.Known |= 1 << reg
}

func (r *Regs) get(reg uint64) (uint64, bool) {
	if reg >= uint64(len(r.Value)) || r.Known>>reg&1 == 0 {
		return 0, false
	}
	return r.Value[reg], true
}

// Memory is a user stack as words of 8 bytes; Load fails where it cannot be read.
type Memory interface {
	Load(addr uint64) (word uint64, ok bool)
}

// machine is what has to be known of an architecture.
type machine struct {
	sp   int
	kept uint64 // the registers that a function leaves as they were, besides the stack pointer
}

var machines = [...]machine{
	AMD64: {sp: 7, kept: 1<<3 | 1<<6 | 0xf<<12},
	ARM64: {sp: 31, kept: 0x7ff << 19},
}

// Frame is a caller: the stack pointer before the call, the place to which the function
// returns, and the registers there.
type Frame struct {
	CFA, RA uint64
	Regs    Regs
}

// Caller finds the caller of the function at pc, which is where the instruction is that
// is under way: for a caller that is the call, which lies before the return address. r
// are the registers at that place: at least the stack pointer, and on x86-64 the address
// of the instruction (16), which expressions use.
//
// The return address has to be readable. A register that is not is unknown from then on.
//
// Departure: the library takes a register that is restored for one that is undefined; both
// count as unchanged here. Only for the return address of x86-64, which no function restores,
// undefined is what it says: the outermost frame. A register that is a multiple of words
// away from the CFA (DW_CFA_val_offset) is not known. On arm64, RA is as it lies in memory,
// with its signature if it has one.
func (s *Section) Caller(r *Regs, pc uint64, mem Memory) (Frame, error) {
	entry, err := s.entries.FDEForPC(pc)
	if err != nil {
		return Frame{}, ErrNoRow
	}
	var f Frame
	err = guard(func() (err error) {
		f, err = s.caller(entry, r, pc, mem)
		return err
	})
	return f, err
}

func (s *Section) caller(entry *frame.FrameDescriptionEntry, r *Regs, pc uint64, mem Memory) (Frame, error) {
	m := &machines[s.Machine]
	if err := bounded(entry); err != nil {
		return Frame{}, err
	}
	row, err := entry.EstablishFrame(pc)
	if err != nil {
		return Frame{}, err
	}
	e := evaluation{mem: mem, regs: *r}
	switch row.CFA.Rule {
	case frame.RuleCFA:
		base, ok := e.regs.get(row.CFA.Reg)
		if !ok {
			return Frame{}, ErrRegister
		}
		e.cfa = base + uint64(row.CFA.Offset)
	case frame.RuleExpression:
		if e.cfa, err = e.expression(row.CFA.Expression); err != nil {
			return Frame{}, err
		}
	default:
		return Frame{}, errors.New("a row without a CFA")
	}
	f := Frame{CFA: e.cfa}
	if f.RA, err = e.value(row.RetAddrReg, row.Regs[row.RetAddrReg], s.Machine == AMD64); err != nil {
		return f, err
	}
	f.Regs.Known = r.Known & m.kept
	f.Regs.Value = r.Value
	for reg := range uint64(len(f.Regs.Value)) {
		rule, ok := row.Regs[reg]
		if !ok || reg == row.RetAddrReg || rule.Rule == frame.RuleUndefined || rule.Rule == frame.RuleSameVal {
			continue
		}
		v, err := e.value(reg, rule, false)
		if err == nil {
			f.Regs.Set(int(reg), v)
		} else {
			f.Regs.Known &^= 1 << reg
		}
	}
	f.Regs.Set(m.sp, f.CFA)
	return f, nil
}

// bounded refuses programs that would take much memory: each "remember" copies what is
// known so far.
func bounded(entry *frame.FrameDescriptionEntry) error {
	const most, rows = 1 << 16, 1 << 20
	n := len(entry.Instructions) + len(entry.CIE.InitialInstructions)
	remember := []byte{frame.DW_CFA_remember_state}
	copies := bytes.Count(entry.Instructions, remember) + bytes.Count(entry.CIE.InitialInstructions, remember)
	if n > most || n*copies > rows {
		return fmt.Errorf("the function at %#x has too long a program", entry.Begin())
	}
	return nil
}

// evaluation is the evaluation of one row.
type evaluation struct {
	mem   Memory
	regs  Regs
	cfa   uint64
	fault bool
}

// value is what a register was in the caller.
func (e *evaluation) value(reg uint64, rule frame.DWRule, outermost bool) (uint64, error) {
	switch rule.Rule {
	case frame.RuleOffset:
		return e.load(e.cfa + uint64(rule.Offset))
	case frame.RuleUndefined, frame.RuleSameVal:
		if outermost {
			return 0, ErrOutermost
		}
	case frame.RuleRegister:
		reg = rule.Reg
	case frame.RuleExpression, frame.RuleValExpression:
		// The CFA is on the stack when the expression begins.
		v, err := e.expression(append([]byte{byte(op.DW_OP_call_frame_cfa)}, rule.Expression...))
		if err != nil || rule.Rule == frame.RuleValExpression {
			return v, err
		}
		return e.load(v)
	default:
		return 0, ErrRegister
	}
	v, ok := e.regs.get(reg)
	if !ok {
		return 0, ErrRegister
	}
	return v, nil
}

func (e *evaluation) load(addr uint64) (uint64, error) {
	v, ok := e.mem.Load(addr)
	if !ok {
		e.fault = true
		return 0, ErrFault
	}
	return v, nil
}

// expression evaluates an expression.
func (e *evaluation) expression(code []byte) (uint64, error) {
	if len(code) > maxCode {
		return 0, fmt.Errorf("an expression of %d bytes", len(code))
	}
	regs := make([]*op.DwarfRegister, len(e.regs.Value))
	for i := range regs {
		if v, ok := e.regs.get(uint64(i)); ok {
			regs[i] = op.DwarfRegisterFromUint64(v)
		}
	}
	d := op.NewDwarfRegisters(0, regs, binary.LittleEndian, 0, 0, 0, 0)
	d.CFA = int64(e.cfa)
	reads := 0
	v, pieces, err := op.ExecuteStackProgram(*d, code, 8, func(b []byte, addr uint64) (int, error) {
		// A read of less than a word may begin inside of one, but does not leave it.
		if reads++; reads > maxReads || len(b) > 8 || addr&7+uint64(len(b)) > 8 {
			return 0, ErrFault
		}
		word, err := e.load(addr &^ 7)
		if err != nil {
			return 0, err
		}
		var w [8]byte
		binary.LittleEndian.PutUint64(w[:], word)
		return copy(b, w[addr&7:]), nil
	})
	switch {
	case err != nil && e.fault:
		return 0, ErrFault
	case err != nil:
		return 0, err
	case pieces != nil:
		return 0, errors.New("an expression that is no address")
	}
	return uint64(v), nil
}

const (
	maxReads = 8   // words that an expression may read
	maxCode  = 256 // its bytes
)
