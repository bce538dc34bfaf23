package hist

import (
	"fmt"
	"strings"
	"syscall"
)

// The faults of a command, as error_log names them.
//
// Kernel: ERRORS, kernel/trace/trace_events_hist.c.
const (
	msgDuplicateVar       = "Variable already defined"
	msgVarNotUnique       = "Variable name not unique, need to use fully qualified name (subsys.event.var) for variable"
	msgTooManyVars        = "Too many variables defined"
	msgMalformed          = "Malformed assignment"
	msgNamedMismatch      = "Named hist trigger doesn't match existing named trigger (includes variables)"
	msgTriggerExists      = "Hist trigger already exists"
	msgNothingToClear     = "Can't clear or continue a nonexistent hist trigger"
	msgSetClock           = "Couldn't set trace_clock"
	msgFieldModifier      = "Invalid field modifier"
	msgTooManySubexprs    = "Too many subexpressions (3 max)"
	msgTimestampMismatch  = "Timestamp units in expression don't match"
	msgTooManyFieldVars   = "Too many field variables defined"
	msgEventNotFound      = "Event file not found"
	msgHistNotFound       = "Matching event histogram not found"
	msgHistCreate         = "Couldn't create histogram for field"
	msgSynthVarNotFound   = "Couldn't find synthetic variable"
	msgSynthEventNotFound = "Couldn't find synthetic event"
	msgSynthType          = "Param type doesn't match synthetic event field type"
	msgSynthCount         = "Param count doesn't match synthetic event field count"
	msgFieldVarParse      = "Couldn't parse field variable"
	msgVarCreateFind      = "Couldn't create or find variable"
	msgOnxNotVar          = "For onmax(x) or onchange(x), x must be a variable"
	msgOnxVarNotFound     = "Couldn't find onmax or onchange variable"
	msgOnxVarCreate       = "Couldn't create onmax or onchange variable"
	msgFieldVarCreate     = "Couldn't create field variable"
	msgTooManyParams      = "Too many action params"
	msgParamNotFound      = "Couldn't find param"
	msgInvalidParam       = "Invalid action param"
	msgActionNotFound     = "No action found"
	msgTooManySaves       = "Can't have more than one save() action per hist"
	msgActionMismatch     = "Handler doesn't support action"
	msgNoClosingParen     = "No closing paren found"
	msgSubsysNotFound     = "Missing subsystem"
	msgInvalidEvent       = "Invalid subsystem or event name"
	msgInvalidRefKey      = "Using variable references in keys not supported"
	msgVarNotFound        = "Couldn't find variable"
	msgFieldNotFound      = "Couldn't find field"
	msgEmptyAssignment    = "Empty assignment"
	msgSortModifier       = "Invalid sort modifier"
	msgEmptySort          = "Empty sort field"
	msgTooManySorts       = "Too many sort fields (Max = 2)"
	msgSortField          = "Sort field must be a key or a val"
	msgStringOperand      = "String type can not be an operand in expression"
	msgExpectNumber       = "Expecting numeric literal"
	msgUnaryMinus         = "Unary minus not supported in sub-expressions"
	msgDivisionByZero     = "Division by zero"
	msgNeedValue          = "Non-hitcount value is required for 'nohitcount'"
)

// fault writes a fault to error_log and is the error for the writer. The caret
// stands where the text at first occurs in the command, which need not be where
// the fault is; if it does not occur, the caret stands at the beginning. A
// command may have several faults, since one often causes the next.
//
// Kernel: hist_err and errpos, kernel/trace/trace_events_hist.c; err_pos,
// kernel/trace/trace.c.
func (in *Instance) fault(msg, at string, errno syscall.Errno) error {
	pos := max(strings.Index(in.command, at), 0)
	in.env.LogError(in.location, msg, in.command, pos)
	return fmt.Errorf("%s: column %d: %s: %w", in.command, pos, msg, errno)
}

// invalid is the error for a fault that error_log does not name.
func invalid(what, text string) error {
	return fmt.Errorf("hist: %s %q: %w", what, text, syscall.EINVAL)
}
