package ehframe

import (
	"bytes"

	"github.com/go-delve/delve/pkg/dwarf/frame"
)

// negateRAState says that a return address is signed from here on, or no longer
// (DW_CFA_AARCH64_negate_ra_state). On other architectures the number means something else.
const negateRAState = 0x2d

// withoutSigns returns a program of arm64 without negateRAState, which the library does not
// know. What a walk finds does not depend on it: it takes the signature off each address. A
// program with an instruction that is not known is left as it is from there on.
func withoutSigns(program []byte) []byte {
	if bytes.IndexByte(program, negateRAState) < 0 {
		return program
	}
	program = bytes.Clone(program)
	for at := 0; at < len(program); {
		op := program[at]
		if op == negateRAState {
			program[at] = frame.DW_CFA_nop
		}
		n, ok := operands(program[at+1:], op)
		if !ok {
			break
		}
		at += 1 + n
	}
	return program
}

// What may follow an instruction: a number in LEB128, and a block of bytes with its length
// before it.
const (
	leb   = 'n'
	block = 'b'
)

// shapes are the operands of instructions.
var shapes = map[byte]string{
	frame.DW_CFA_nop: "", negateRAState: "", frame.DW_CFA_remember_state: "", frame.DW_CFA_restore_state: "",
	frame.DW_CFA_advance_loc1: "1", frame.DW_CFA_advance_loc2: "2", frame.DW_CFA_advance_loc4: "4",
	frame.DW_CFA_offset_extended: "nn", frame.DW_CFA_restore_extended: "n", frame.DW_CFA_undefined: "n", frame.DW_CFA_same_value: "n",
	frame.DW_CFA_register: "nn", frame.DW_CFA_def_cfa: "nn", frame.DW_CFA_def_cfa_register: "n", frame.DW_CFA_def_cfa_offset: "n",
	frame.DW_CFA_def_cfa_expression: "b", frame.DW_CFA_expression: "nb", frame.DW_CFA_offset_extended_sf: "nn", frame.DW_CFA_def_cfa_sf: "nn",
	frame.DW_CFA_def_cfa_offset_sf: "n", frame.DW_CFA_val_offset: "nn", frame.DW_CFA_val_offset_sf: "nn", frame.DW_CFA_val_expression: "nb",
	frame.DW_CFA_GNU_args_size: "n",
}

// operands is how many bytes the operands of an instruction take.
func operands(b []byte, op byte) (n int, ok bool) {
	shape := ""
	switch op & 0xc0 {
	case frame.DW_CFA_advance_loc, frame.DW_CFA_restore:
	case frame.DW_CFA_offset:
		shape = "n"
	default:
		if shape, ok = shapes[op]; !ok {
			return 0, false
		}
	}
	for _, s := range []byte(shape) {
		if s != leb && s != block {
			n += int(s - '0')
			continue
		}
		v, shift := 0, 0
		for {
			if n >= len(b) || shift > 28 {
				return 0, false
			}
			c := b[n]
			n++
			v |= int(c&0x7f) << shift
			if shift += 7; c&0x80 == 0 {
				break
			}
		}
		if s == block {
			n += v
		}
	}
	return n, n <= len(b)
}
