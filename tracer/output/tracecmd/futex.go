package tracecmd

import "fmt"

// futexArg says how an argument of a futex operation is printed; with none it is not
// printed.
type futexArg uint8

const (
	none futexArg = iota
	number
	address
)

// futexOps are the operations, indexed by their number, with the arguments val, utime
// (or val2), uaddr2 and val3.
var futexOps = []struct {
	name                     string
	val, utime, uaddr2, val3 futexArg
}{
	{"FUTEX_WAIT", address, address, none, none},
	{"FUTEX_WAKE", number, none, none, none},
	{"FUTEX_FD", number, none, none, none},
	{"FUTEX_REQUEUE", number, number, address, none},
	{"FUTEX_CMP_REQUEUE", number, number, address, address},
	{"FUTEX_WAKE_OP", number, number, address, address},
	{"FUTEX_LOCK_PI", none, address, none, none},
	{"FUTEX_UNLOCK_PI", none, none, none, none},
	{"FUTEX_TRYLOCK_PI", none, none, none, none},
	{"FUTEX_WAIT_BITSET", address, address, none, address},
	{"FUTEX_WAKE_BITSET", number, none, none, address},
	{"FUTEX_WAIT_REQUEUE_PI", address, address, address, address},
	{"FUTEX_CMP_REQUEUE_PI", number, number, address, address},
}

// Flags of a futex operation.
//
// Kernel: include/uapi/linux/futex.h.
const (
	futexPrivate  = 128
	futexRealtime = 256
)

// appendFutex prints sys_enter_futex with the name of its operation.
func (p *Printer) appendFutex(dst []byte, e *Entry) []byte {
	op := value(e, "op")
	cmd := op &^ (futexPrivate | futexRealtime)
	if cmd >= uint64(len(futexOps)) {
		return p.appendText(dst, e)
	}
	f := &futexOps[cmd]
	dst = append(append(dst, "op="...), f.name...)
	if op&futexPrivate != 0 {
		dst = append(dst, "|FUTEX_PRIVATE_FLAG"...)
	}
	if op&futexRealtime != 0 {
		dst = append(dst, "|FUTEX_CLOCK_REALTIME"...)
	}
	dst = fmt.Appendf(dst, " uaddr=0x%08x", value(e, "uaddr"))
	utime := "utime"
	if f.utime == number {
		utime = "val2"
	}
	for _, a := range []struct {
		name, field string
		how         futexArg
	}{{"val", "val", f.val}, {utime, "utime", f.utime}, {"uaddr2", "uaddr2", f.uaddr2}, {"val3", "val3", f.val3}} {
		switch a.how {
		case number:
			dst = fmt.Appendf(dst, " %s=%d", a.name, value(e, a.field))
		case address:
			dst = fmt.Appendf(dst, " %s=0x%08x", a.name, value(e, a.field))
		}
	}
	return dst
}
