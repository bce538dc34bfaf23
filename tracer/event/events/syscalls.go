package events

import (
	"fmt"
	"strings"
	"sync"

	"ftracelab/tracer/event"
)

// syscall is one row of syscallTable. Two events are made from it.
type syscall struct {
	name    string
	enterID int
	args    []string
}

// syscallTypes are the events of the system syscalls.
var syscallTypes = sync.OnceValue(func() []*event.Type {
	types := make([]*event.Type, 0, 2*len(syscallTable))
	for i := range syscallTable {
		types = append(types, syscallTable[i].exit(), syscallTable[i].enter())
	}
	return types
})

const (
	syscallNrOffset   = event.CommonSize
	syscallArgsOffset = 16 // behind the number and its padding
	syscallWord       = 8  // every argument is recorded as a long
)

var syscallNr = event.Field{Name: "__syscall_nr", Decl: "int __syscall_nr", Offset: syscallNrOffset, Size: 4, Signed: true}

// exitFields are those of every sys_exit event.
var exitFields = [...]event.Field{
	syscallNr,
	{Name: "ret", Decl: "long ret", Offset: syscallArgsOffset, Size: syscallWord, Signed: true},
}

// enter makes the sys_enter event.
//
// Kernel: syscall_enter_define_fields, __set_enter_print_fmt,
// kernel/trace/trace_syscalls.c.
func (s *syscall) enter() *event.Type {
	fields := make([]event.Field, 1+len(s.args))
	fields[0] = syscallNr
	var format strings.Builder
	format.Grow(48 * (1 + len(s.args)))
	format.WriteByte('"')
	for i, decl := range s.args {
		name := decl[strings.LastIndexAny(decl, " *")+1:]
		fields[1+i] = event.Field{Name: name, Decl: decl, Offset: syscallArgsOffset + syscallWord*i, Size: syscallWord}
		if i > 0 {
			format.WriteString(", ")
		}
		format.WriteString(name)
		format.WriteString(": 0x%08lx")
	}
	format.WriteByte('"')
	for _, f := range fields[1:] {
		format.WriteString(", ((unsigned long)(REC->")
		format.WriteString(f.Name)
		format.WriteString("))")
	}
	return s.define(s.enterID, "sys_enter_", format.String(), fields)
}

// exit makes the sys_exit event.
//
// Kernel: syscall_exit_fields_array, kernel/trace/trace_syscalls.c.
func (s *syscall) exit() *event.Type {
	return s.define(s.enterID-1, "sys_exit_", `"0x%lx", REC->ret`, exitFields[:])
}

func (s *syscall) define(id int, prefix, printFmt string, fields []event.Field) *event.Type {
	t, err := event.NewType(id, "syscalls", prefix+s.name, printFmt, fields)
	if err != nil {
		panic(fmt.Sprintf("events: invariant: syscall table: %v", err))
	}
	t.Size = max(t.Size, syscallArgsOffset)
	return t
}

// AppendSyscall appends a record of t, an event of the syscalls system, to dst:
// the common header, in which it sets Type, the number of the system call and
// as many words (arguments, or the return value) as the event has fields;
// missing words are zero. Nothing is allocated if dst has room.
//
// Kernel: ftrace_syscall_enter, ftrace_syscall_exit, kernel/trace/trace_syscalls.c.
func AppendSyscall(dst []byte, c event.Common, t *event.Type, nr int32, words []uint64) []byte {
	var head [syscallArgsOffset]byte
	c.Type = uint16(t.ID)
	c.Put(head[:])
	for i := range 4 {
		head[syscallNrOffset+i] = byte(uint32(nr) >> (8 * i))
	}
	dst = append(dst, head[:]...)
	for i := range len(t.Fields) - 1 {
		var w uint64
		if i < len(words) {
			w = words[i]
		}
		for range syscallWord {
			dst = append(dst, byte(w))
			w >>= 8
		}
	}
	return dst
}
