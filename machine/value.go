package machine

import (
	"maps"
	"slices"
)

// Value is what a function returns, that is, what the register for results holds when
// it has returned.
type Value struct {
	Kind ValueKind
	Word uint64
}

// ValueKind says how a Value is found.
type ValueKind uint8

const (
	ValueConst   ValueKind = iota // always Value.Word
	ValueResult                   // the result of the system call (Stay.Ret)
	ValueFailure                  // the result of the system call if it is an error, otherwise Value.Word
	ValueNumber                   // the number of the system call (Stay.NR)
	ValueTime                     // the time
)

// Values knows what functions return. It does not change once it is made. A nil Values
// knows nothing.
//
// Departure: functions compute nothing. Some hand on the result of the system call,
// some return its number or the time, and all others return the same value each time. A
// function about which nothing is known returns what the last function that it called
// has left in the register, or 0 if it called none.
type Values struct {
	list []Value // an OpReturn has an index of this list; the first value is 0
	of   map[uint64]returns
}

// returns says what a function returns if it hands on the result of a system call, and
// what it returns otherwise; unknown stands for nothing known.
type returns struct{ serving, otherwise int32 }

const unknown = -1

// NewValues makes Values from what is known, by the entry addresses of functions.
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

// open is a function, in a piece of code, that was entered and not yet left.
type open struct {
	returns
	serves bool  // its callers hand on its result, so it is that of the system call
	left   int32 // what its last callee has left in the register
}

// Assign sets, at each return in code, what the function returns. A function hands on
// the result of a system call only if its caller does, and so on up to the functions
// that ftrace cannot see.
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
		case OpUnwind:
			stack = stack[:max(0, len(stack)-int(op.Arg))]
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

// value gives what the function returns at an OpReturn with arg on c.
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

// failed reports whether the system call of a stay ends with an error.
func (s *Stay) failed() bool { return s.Ret < 0 && s.Ret >= -maxErrno }

// maxErrno is the largest number of an error.
//
// Kernel: MAX_ERRNO, include/linux/err.h.
const maxErrno = 4095
