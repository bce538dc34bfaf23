package probe

import (
	"errors"
	"strings"
	"syscall"
)

// A message is a text of the kernel's table.
type message string

// The faults of definitions. Four of the kernel's table are left out, because
// nothing in the kernel reports them: BAD_VAR_ARGS, BAD_ATTACH_ARG,
// ARGIDX_2BIG, and NO_TRACEPOINT, which a kernel with modules does not.
//
// Kernel: ERRORS, kernel/trace/trace_probe.h.
const (
	errFileNotFound       message = "Failed to find the given file"
	errNoRegularFile      message = "Not a regular file"
	errBadRefCtr          message = "Invalid reference counter offset"
	errRefCtrOpenBrace    message = "Reference counter brace is not closed"
	errBadRefCtrSuffix    message = "Reference counter has wrong suffix"
	errBadUprobeOffset    message = "Invalid uprobe offset"
	errBadMaxActiveType   message = "Maxactive is only for function exit"
	errBadMaxActive       message = "Invalid maxactive number"
	errMaxActiveTooBig    message = "Maxactive is too big"
	errBadProbeAddress    message = "Invalid probed address or symbol"
	errNotUnique          message = "The symbol is not unique"
	errBadRetprobe        message = "Retprobe address must be an function entry"
	errBadTracepointName  message = "Invalid character in tracepoint name"
	errBadAddressSuffix   message = "Invalid probed address suffix"
	errNoGroupName        message = "Group name is not specified"
	errGroupTooLong       message = "Group name is too long"
	errBadGroupName       message = "Group name must follow the same rules as C identifiers"
	errNoEventName        message = "Event name is not specified"
	errEventTooLong       message = "Event name is too long"
	errBadEventName       message = "Event name must follow the same rules as C identifiers"
	errEventExist         message = "Given group/event name is already used by another event"
	errRetvalOnProbe      message = "$retval is not available on probe"
	errNoRetval           message = "This function returns 'void' type"
	errBadStackNumber     message = "Invalid stack number"
	errBadArgNumber       message = "Invalid argument number"
	errBadVar             message = "Invalid $-variable specified"
	errBadRegister        message = "Invalid register name"
	errBadMemAddress      message = "Invalid memory address"
	errBadImmediate       message = "Invalid immediate value"
	errImmStringNoClose   message = "String is not closed with '\"'"
	errFileOnKprobe       message = "File offset is not available with kprobe"
	errBadFileOffset      message = "Invalid file offset value"
	errSymOnUprobe        message = "Symbol is not available with uprobe"
	errTooManyOps         message = "Dereference is too much nested"
	errDerefNeedBrace     message = "Dereference needs a brace"
	errBadDerefOffset     message = "Invalid dereference offset"
	errDerefOpenBrace     message = "Dereference brace is not closed"
	errCommCantDeref      message = "$comm can not be dereferenced"
	errBadFetchArg        message = "Invalid fetch argument"
	errArrayNoClose       message = "Array is not closed"
	errBadArraySuffix     message = "Array has wrong suffix"
	errBadArraySize       message = "Invalid array size"
	errArrayTooBig        message = "Array number is too big"
	errBadType            message = "Unknown type is specified"
	errBadString          message = "String accepts only memory argument"
	errBadSymString       message = "Symbol String doesn't accept data/userdata"
	errBadBitfield        message = "Invalid bitfield"
	errArgNameTooLong     message = "Argument name is too long"
	errNoArgName          message = "Argument name is not specified"
	errBadArgName         message = "Argument name must follow the same rules as C identifiers"
	errUsedArgName        message = "This argument name is already used"
	errArgTooLong         message = "Argument expression is too long"
	errNoArgBody          message = "No argument expression"
	errBadInsnBoundary    message = "Probe point is not an instruction boundary"
	errRegister           message = "Failed to register probe event"
	errDiffProbeType      message = "Probe type is different from existing probe"
	errDiffArgType        message = "Argument type or name is different from existing probe"
	errSameProbe          message = "There is already the exact same probe event"
	errNoEventInfo        message = "This requires both group and event name to attach"
	errBadAttachEvent     message = "Attached event does not exist"
	errNoEventProbeFilter message = "No filter rule after 'if'"
	errNoBTF              message = "BTF is not available or not supported"
	errNoBTFArg           message = "This variable is not found at this probe point"
	errNoBTFEntry         message = "No BTF entry for this probe point"
	errNotEntryArgs       message = "$arg* can be used only on function entry or exit"
	errDoubleArgs         message = "$arg* can be used only once in the parameters"
	errArgsTooLong        message = "$arg* failed because the argument list is too long"
	errNoStructPointer    message = "This is not a pointer to union/structure."
	errDotOnArg           message = "Non pointer structure/union argument is not supported."
	errBadHyphen          message = "Failed to parse single hyphen. Forgot '>'?"
	errNoBTFField         message = "This field is not found."
	errBadBTFType         message = "Failed to get BTF type info."
	errBadStringType      message = "This type does not fit for string."
	errNeedStringType     message = "$comm and immediate-string only accepts string type"
	errEventTooBig        message = "Event too big (too many fields?)"
)

// faultLog collects what error_log gets while a definition is parsed. Faults are
// reported with an offset in the word that index points to.
//
// Kernel: trace_probe_log, kernel/trace/trace_probe.c.
type faultLog struct {
	location string
	argv     []string
	index    int // the word that is being parsed
	faults   []Fault
}

// report notes a fault at an offset in the current word. If the index is past
// the last word, the fault is placed after the end of the command.
//
// Kernel: __trace_probe_log_err.
func (l *faultLog) report(offset int, m message) {
	pos, length := 0, 0
	for i, word := range l.argv {
		if i == l.index {
			pos = length
		}
		length += len(word) + 1
	}
	if l.index >= len(l.argv) {
		pos, offset = length, 0
	}
	l.faults = append(l.faults, Fault{Location: l.location, Msg: string(m), Command: strings.Join(l.argv, " "), Pos: pos + offset})
}

// fail reports a fault and returns EINVAL.
func (l *faultLog) fail(offset int, m message) error {
	l.report(offset, m)
	return syscall.EINVAL
}

// failWith reports a fault and returns errno.
func (l *faultLog) failWith(offset int, m message, errno error) error {
	l.report(offset, m)
	return errno
}

// err returns the error of a definition whose parsing ended with err, an errno.
func (l *faultLog) err(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Errno: errnoOf(err), Log: l.faults}
}

func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return syscall.EINVAL
	}
	return errno
}

// notMine is the error for a text that is not a definition of the kind that was
// asked.
func notMine() error { return &Error{Errno: syscall.ECANCELED} }
