package machine

import (
	"maps"
	"slices"
)

// Value is what a function returns: what is in the processor's register for
// results when it has returned.
type Value struct {
	Kind ValueKind
	Word uint64
}

// ValueKind says where a Value comes from.
type ValueKind uint8

const (
	ValueConst   ValueKind = iota // Value.Word, always
	ValueResult                   // the result of the system call that the function serves (Stay.Ret)
	ValueFailure                  // the same if that is an error, otherwise Value.Word
	ValueNumber                   // the number of the system call (Stay.NR)
	ValueTime                     // the time
)

// Values knows what functions return. It is read-only once made; nil knows
// nothing.
//
// Departure: functions compute nothing. Through some a system call's result is
// handed up, some return its number or the time, and any other returns the same each time; one of
// which nothing is known, what the last function that it called has left in the
// register, and 0 if it called none.
type Values struct {
	list []Value // of these an OpReturn names one; the first is 0
	of   map[uint64]int32
}

// NewValues makes Values of what is known, by the functions' entry addresses.
func NewValues(known map[uint64]Value) *Values {
	v := &Values{list: []Value{{}}, of: make(map[uint64]int32, len(known))}
	index := map[Value]int32{{}: 0}
	for _, fn := range slices.Sorted(maps.Keys(known)) {
		i, ok := index[known[fn]]
		if !ok {
			i = int32(len(v.list))
			v.list = append(v.list, known[fn])
			index[known[fn]] = i
		}
		v.of[fn] = i
	}
	return v
}

// returning is a function of code that has been entered and not been left.
type returning struct {
	value  int32 // what it returns, if that is known
	known  bool
	serves bool  // its callers hand the result through: it is the system call's
	left   int32 // what its last callee has left in the register
}

// Assign says at each return of code what the function returns. The result of a
// system call is handed through by a function if its caller hands it through, up
// to those that ftrace cannot see.
func (v *Values) Assign(code Code, sites []Site) {
	if v == nil {
		return
	}
	var stack []returning
	for pc := range code {
		switch op := &code[pc]; op.Kind {
		case OpCall:
			s := &sites[op.Arg]
			value, known := v.of[s.Func]
			outer := len(stack) == 0 || stack[len(stack)-1].serves
			handed := s.Hidden || known && v.list[value].ofSyscall()
			stack = append(stack, returning{value: value, known: known, serves: outer && handed})
		case OpReturn:
			op.Arg = 0
			if len(stack) == 0 {
				continue
			}
			f := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			op.Arg = f.left
			if f.known && (f.serves || !v.list[f.value].ofSyscall()) {
				op.Arg = f.value
			}
			if len(stack) > 0 {
				stack[len(stack)-1].left = op.Arg
			}
		}
	}
}

// ofSyscall says that a value depends on the result of a system call.
func (val Value) ofSyscall() bool { return val.Kind == ValueResult || val.Kind == ValueFailure }

// value is what the function of an OpReturn with arg returns on c.
func (v *Values) value(c *CPU, arg int32) uint64 {
	if v == nil {
		return 0
	}
	stay := &c.Current.stay
	switch val := v.list[arg]; {
	case val.Kind == ValueResult, val.Kind == ValueFailure && stay.failed():
		return uint64(stay.Ret)
	case val.Kind == ValueNumber:
		return uint64(stay.NR)
	case val.Kind == ValueTime:
		return c.Time
	default:
		return val.Word
	}
}

// failed says that the system call of a stay ends with an error.
func (s *Stay) failed() bool { return s.Ret < 0 && s.Ret >= -maxErrno }

// maxErrno is the largest number of an error.
//
// Kernel: MAX_ERRNO, include/linux/err.h.
const maxErrno = 4095
