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
// handed up, some return its number or the time, and any other returns the same
// each time; one of which nothing is known, what the last function that it called
// has left in the register, and 0 if it called none.
type Values struct {
	list []Value // of these an OpReturn names one; the first is 0
	of   map[uint64]returns
}

// returns is what a function returns where it hands a system call's result up, and
// elsewhere; unknown if nothing is known of it there.
type returns struct{ serving, otherwise int32 }

const unknown = -1

// NewValues makes Values of what is known, by the functions' entry addresses.
func NewValues(known map[uint64]Value) *Values {
	v := &Values{list: []Value{{}}, of: make(map[uint64]returns, len(known))}
	index := map[Value]int32{{}: 0}
	number := func(val Value) int32 {
		i, ok := index[val]
		if !ok {
			i = int32(len(v.list))
			v.list = append(v.list, val)
			index[val] = i
		}
		return i
	}
	for _, fn := range slices.Sorted(maps.Keys(known)) {
		val := known[fn]
		r := returns{number(val), unknown}
		switch val.Kind {
		case ValueResult:
		case ValueFailure:
			r.otherwise = number(Value{Word: val.Word})
		default:
			r.otherwise = r.serving
		}
		v.of[fn] = r
	}
	return v
}

// open is a function of code that has been entered and not been left.
type open struct {
	returns
	serves bool  // its callers hand the result up: it is the system call's
	left   int32 // what its last callee has left in the register
}

// Assign says at each return of code what the function returns. The result of a
// system call is handed up by a function if its caller hands it up, and so on to
// those that ftrace cannot see.
func (v *Values) Assign(code Code, sites []Site) {
	if v == nil {
		return
	}
	var stack []open
	for pc := range code {
		switch op := &code[pc]; op.Kind {
		case OpCall:
			s := &sites[op.Arg]
			f := open{returns: returns{unknown, unknown}}
			if r, ok := v.of[s.Func]; ok {
				f.returns = r
			}
			outer := len(stack) == 0 || stack[len(stack)-1].serves
			f.serves = outer && (s.Hidden || f.serving != f.otherwise)
			stack = append(stack, f)
		case OpReturn:
			op.Arg = 0
			if len(stack) == 0 {
				continue
			}
			f := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			switch op.Arg = f.left; {
			case f.serves && f.serving != unknown:
				op.Arg = f.serving
			case f.otherwise != unknown:
				op.Arg = f.otherwise
			}
			if len(stack) > 0 {
				stack[len(stack)-1].left = op.Arg
			}
		}
	}
}

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
