package hist

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event/events"
)

// Faults that no capture has: a message in error_log, where its caret stands (at
// the ^, which is not written; without one error_log stays empty), the errno.
func TestFaults(t *testing.T) {
	many := func(n int, text string) string {
		return strings.TrimSuffix(strings.Repeat(text+",", n), ",")
	}
	for _, c := range []struct {
		text  string
		msg   string
		errno syscall.Errno
	}{
		// test.d/trigger/trigger-hist-syntax-errors.tc and trigger-hist-expressions.tc
		{"hist:keys=common_pid:vals=prev_prio:sort=common_pid,^junk", msgSortField, syscall.EINVAL},
		{"hist:keys=common_pid:vals=prev_prio:^sort=", msgEmptyAssignment, syscall.EINVAL},
		{"hist:keys=common_pid:vals=prev_prio:^sort=common_pid,", msgEmptySort, syscall.EINVAL},
		{"hist:keys=common_pid:vals=prev_prio:sort=common_pid.^junk", msgSortModifier, syscall.EINVAL},
		{"hist:keys=common_pid:vals=prev_prio,next_prio:^sort=common_pid,prev_prio,next_prio", msgTooManySorts, syscall.EINVAL},
		{"hist:keys=common_pid:x=32+^10*3/20-4", msgTooManySubexprs, syscall.EINVAL},
		{"hist:keys=common_pid:x=^1+2+3+4+5", msgTooManySubexprs, syscall.EINVAL},
		{"hist:keys=common_pid:x=-(^1)+2", msgUnaryMinus, syscall.EINVAL},
		{"hist:keys=common_pid:x=3/^0", msgDivisionByZero, syscall.EDOM},

		{"hist:keys=next_pid:synth", "", syscall.EINVAL},
		{"hist:vals=next_prio", "", syscall.EINVAL},
		{"hist:keys=next_pid if", "", syscall.EINVAL},
		{"hist:keys=next_pid if ", "", syscall.EINVAL},
		{"hist:if next_pid == 1", "", syscall.EINVAL},
		{"hist:keys=next_pid:size=0", "", syscall.EINVAL},
		{"hist:keys=next_pid:size=99999999999999999999", "", syscall.ERANGE},
		{"hist:keys=next_pid:vals=next_prio,prev_prio,prev_pid", "", syscall.EINVAL},
		{"hist:keys=next_pid:a=1,^b", msgMalformed, syscall.EINVAL},
		{"hist:keys=next_pid:a=1,a1=1,a2=1,a3=1,a4=1,a5=1,a6=1,a7=1,a8=1,a9=1,b=1,b1=1,b2=1,b3=1,b4=1,b5=1:^c=1", msgTooManyVars, syscall.EINVAL},
		{"hist:keys=next_pid:a=1:b=1:c=1:d=1:e=1:f=1:g=1:h=1:i=1:j=1:k=1:l=1:m=1:n=1:o=1:p=1:^q=1", msgTooManyVars, syscall.EINVAL},
		{"^hist:keys=next_pid:nohitcount", msgNeedValue, syscall.ENOENT},
		{"^hist:keys=next_pid:x=common_timestamp.usecs-$ts1", msgTimestampMismatch, syscall.EINVAL},
		{"hist:keys=next_pid:x=common_timestamp-$^both", msgVarNotUnique, syscall.EINVAL},
		{"hist:keys=next_pid:x=^12a", msgExpectNumber, syscall.EINVAL},
		{"hist:keys=next_pid:x=next_prio.^usecs2", msgFieldModifier, syscall.EINVAL},
		{"hist:keys=^next_comm.stacktrace", msgFieldModifier, syscall.EINVAL},
		{"hist:keys=next_pid:vals=^next_prio.log2", msgFieldModifier, syscall.EINVAL},
		{"hist:keys=next_pid:x=next_prio.^percent", msgFieldModifier, syscall.EINVAL},
		{"hist:keys=next_pid.^graph", msgFieldModifier, syscall.EINVAL},
		{"hist:keys=^comm", msgFieldNotFound, syscall.EINVAL},
		{"hist:keys=^$ts1", msgInvalidRefKey, syscall.EINVAL},
		{"hist:keys=^$ts1+1", msgInvalidRefKey, syscall.EINVAL},
		{"hist:keys=next_pid:x=1+^next_comm", msgStringOperand, syscall.EINVAL},
		{"hist:keys=next_pid:x=-(^next_comm)", msgStringOperand, syscall.EINVAL},
		{"hist:keys=next_pid:x=1-^(next_prio)", msgFieldNotFound, syscall.EINVAL},
		{"hist:keys=next_pid:x=-(next_prio-next_pid)", "", syscall.EINVAL},
		{"hist:keys=next_pid:x=^7:y=$x+1", msgFieldNotFound, syscall.EINVAL},
		{"hist:keys=next_pid:x=-next_prio(", "", syscall.EINVAL},

		{"hist:keys=next_pid:onmatch(^sched.sched_waking", msgNoClosingParen, syscall.EINVAL},
		{"hist:keys=next_pid:onmatch(^sched_waking).x($y)", msgSubsysNotFound, syscall.EINVAL},
		{"hist:keys=next_pid:onmax($x", "", syscall.EINVAL},
		{"^hist:keys=next_pid:onmax($x).save", msgActionNotFound, syscall.EINVAL},
		{"^hist:keys=next_pid:x=1:onmax($x).save(prev_pid):onchange($x).save(prev_prio)", msgTooManySaves, syscall.EEXIST},
		{"hist:keys=next_pid:x=1:onmax($x).save(^nofield)", msgFieldVarCreate, syscall.EINVAL},
		{"hist:keys=next_pid:^prev_prio=1:onmax($prev_prio).save(prev_prio)", msgFieldVarCreate, syscall.EINVAL},
		{"^hist:keys=next_pid:x=1:onmax($x).save(" + many(65, "pp") + ")", msgTooManyParams, syscall.EINVAL},
		{"hist:keys=next_pid:x=1:onmatch(sched.sched_waking).^save(next_pid)", msgActionMismatch, syscall.EINVAL},
		{"hist:keys=next_pid:x=1:onmatch(sched.sched_waking).^snapshot()", msgActionMismatch, syscall.EINVAL},
		{"hist:keys=next_pid:x=1:onmax($x).snapshot(^pid_t", msgNoClosingParen, syscall.EINVAL},
		{"^hist:keys=next_pid:__max=1:onmax($__max).save(next_prio)", msgOnxVarCreate, syscall.EINVAL},
		{"hist:keys=next_pid:onmatch(sched.sched_waking).lat($^nope,next_pid)", msgParamNotFound, syscall.EINVAL},
		{"hist:keys=next_pid:onmatch(sched.sched_waking).lat($ts1,sched.x)", "", syscall.EINVAL},
		{"hist:keys=next_pid:onmatch(sched.sched_waking).lat($ts1,sched.nope.^prio)", msgEventNotFound, syscall.EINVAL},
		{"hist:keys=next_comm:onmatch(sched.sched_waking).lat($ts1,sched.sched_waking.^prio)", msgHistNotFound, syscall.EINVAL},
		{"hist:keys=next_pid:onmatch(sched.sched_waking).lat($ts1,sched.sched_waking.^nope)", msgHistCreate, syscall.EINVAL},

		{"^hist:keys=prev_pid", msgTriggerExists, syscall.EEXIST},
		{"^hist:keys=prev_prio:clear", msgNothingToClear, syscall.ENOENT},
		{"hist:^name=foo:keys=prev_prio", msgNamedMismatch, syscall.EINVAL},
		{"hist:keys=common_timestamp:clock=^bogus", msgSetClock, syscall.EINVAL},
	} {
		l := newLab(t)
		l.define("lat", u64Field, pidField)
		l.must(events.SchedWaking.Type, "hist:keys=pid:ts1=common_timestamp:both=1", "hist:name=foo:keys=pid")
		l.must(events.SchedWakeup.Type, "hist:keys=pid:both=2")
		l.must(events.SchedSwitch.Type, "hist:keys=prev_pid")
		l.noClock = true
		before := l.enabled
		text := strings.Replace(c.text, "^", "", 1)
		err := l.write(events.SchedSwitch.Type, text)
		if got := tracefile.Errno(err); err == nil || got != c.errno {
			t.Errorf("%s: %v, want %v", text, err, c.errno)
		}
		if l.enabled != before || len(l.i.File(events.SchedSwitch.Type).triggers) != 1 {
			t.Errorf("%s: it left triggers behind", text)
		}
		column := strings.Index(c.text, "^")
		if column < 0 {
			if len(l.log) > 0 {
				t.Errorf("%s: error_log has\n%s", text, l.log)
			}
			continue
		}
		want := "[TIME] hist:sched:sched_switch: error: " + c.msg + "\n  Command: " + text + "\n" + strings.Repeat(" ", 11+column) + "^\n"
		if !slices.Contains(l.log, want) {
			t.Errorf("%s: error_log has\n%swant\n%s", text, strings.Join(l.log, ""), want)
		}
	}
}

// Modifiers of what has no operand to modify are accepted.
func TestModifierOfNothing(t *testing.T) {
	l := newLab(t)
	l.must(events.SchedSwitch.Type, "hist:keys=common_stacktrace.log2,hitcount.log2")
	l.switching(1, 5, 1, "a")
	if got, want := l.lines(events.SchedSwitch.Type), "hist:keys=common_stacktrace,.log2:vals=hitcount:sort=hitcount:size=2048 [active]\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	l.wantEntries(events.SchedSwitch.Type, "{ common_stacktrace:", "Hits: 1")
}

// A variable may have an empty name, but only one of an event may.
func TestVariableWithoutName(t *testing.T) {
	l := newLab(t)
	l.must(events.SchedSwitch.Type, "hist:keys=next_pid:=next_prio")
	if err := l.write(events.SchedSwitch.Type, "hist:keys=prev_pid:=next_prio"); tracefile.Errno(err) != syscall.EINVAL {
		t.Errorf("another: %v, want EINVAL", err)
	}
	if got, want := l.lines(events.SchedSwitch.Type), "hist:keys=next_pid:vals=hitcount:=next_prio:sort=hitcount:size=2048 [active]\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
