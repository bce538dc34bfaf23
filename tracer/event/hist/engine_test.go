package hist

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/event/filter"
)

func comm(name string) (c [16]byte) { copy(c[:], name); return c }

// waking and switching let a task be woken and switched to.
func (l *lab) waking(us uint64, pid, prio int32, name string) {
	l.happen(events.SchedWaking.Type, us, events.SchedWaking.Append(nil, event.Common{}, &events.SchedWakeupRecord{Comm: comm(name), PID: pid, Prio: prio}))
}

func (l *lab) switching(us uint64, pid, prio int32, name string) {
	l.happen(events.SchedSwitch.Type, us, events.SchedSwitch.Append(nil, event.Common{},
		&events.SchedSwitchRecord{NextComm: comm(name), NextPID: pid, NextPrio: prio, PrevPID: 7, PrevPrio: 120, PrevComm: comm("other")}))
}

func (l *lab) happen(t *event.Type, us uint64, data []byte) {
	m := &Moment{Rec: data, Time: 1000 * us, CPU: 1, PID: 7, Comm: "other", Stack: func(dst []uint64) []uint64 { return append(dst, 0xffffffff81000000, us) }}
	l.i.File(t).Happen(m, filter.Context{CPU: 1, Comm: "other"})
}

// entries are the entries of the event's hists.
func (l *lab) entries(t *event.Type) string {
	var lines []string
	for line := range strings.Lines(string(l.i.File(t).Show())) {
		if strings.HasPrefix(line, "{") || strings.HasPrefix(line, "\t") || strings.Contains(line, "Hits") {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(lines, "\n")
}

func (l *lab) wantEntries(t *event.Type, want ...string) {
	l.t.Helper()
	if got := l.entries(t); got != strings.Join(want, "\n") {
		l.t.Errorf("%s has\n%s\nwant\n%s", t, got, strings.Join(want, "\n"))
	}
}

func (l *lab) wantGenerated(want ...string) {
	l.t.Helper()
	if !slices.Equal(l.generated, want) {
		l.t.Errorf("generated %q, want %q", l.generated, want)
	}
	l.generated = nil
}

// Constants are folded when the command is read, fields are computed with when
// the event happens.
//
// The first are test.d/trigger/trigger-hist-expressions.tc's.
func TestExpressions(t *testing.T) {
	for _, c := range []struct {
		expr string
		line string // what the trigger's line shows
		want uint64 // the sum after one event with next_prio 100, prev_prio 120, next_pid 5
	}{
		{"123", "123", 123},
		{"16-8-4-2", "2", 2},
		{"64/8/4/2", "1", 1},
		{"16-8+4+2", "14", 14},
		{"4*3/2*2", "12", 12},
		{"4+3*2-2", "8", 8},
		{"4+6/2-2", "5", 5},
		{"0x10+010", "24", 24},
		{"1-2", "18446744073709551615", 1<<64 - 1},
		{"100/7", "15", 15}, // multiplied and shifted, it comes out 1 too big
		{"2097154/1048577", "2", 2},
		{"-(1)", "-(1)", 1<<64 - 1},

		{"next_prio+prev_prio", "next_prio+prev_prio", 220},
		{"next_prio-prev_prio", "next_prio-prev_prio", 1<<64 - 20},
		{"next_prio-prev_prio-next_pid", "next_prio-prev_prio-next_pid", 1<<64 - 25},
		{"next_prio*next_pid+1", "next_prio*next_pid+1", 501},
		{"prev_prio/8", "prev_prio/8", 15},
		{"prev_prio/7", "prev_prio/7", 18},
		{"prev_prio/2000000", "prev_prio/2000000", 0},
		{"prev_prio/next_pid", "prev_prio/next_pid", 24},
		{"prev_prio/prev_state", "prev_prio/prev_state", 1<<64 - 1},
		{"-(next_prio)", "-(next_prio)", 1<<64 - 100},
		{"-(next_prio+next_pid)", "-(next_prio+next_pid)", 1<<64 - 105},
		{"common_cpu*10", "common_cpu*10", 10},
		{"common_timestamp", "common_timestamp", 50_000},
		{"common_timestamp.usecs", "common_timestamp.usecs", 50},
		{"common_timestamp+1", "common_timestamp+1", 50_001},
	} {
		l := newLab(t)
		l.must(events.SchedSwitch.Type, "hist:keys=next_pid:x="+c.expr)
		if line := l.lines(events.SchedSwitch.Type); !strings.Contains(line, ":x="+c.line+":sort") {
			t.Errorf("%s shows as %s", c.expr, line)
		}
		l.switching(50, 5, 100, "a")
		h := l.i.File(events.SchedSwitch.Type).triggers[0].hist
		e := h.m.Lookup([]byte{5, 0, 0, 0, 0, 0, 0, 0})
		if e == nil || !e.Set[0] || e.Vars[0].N != c.want {
			t.Errorf("%s is %+v, want %d", c.expr, e, c.want)
		}
	}
}

// A variable that was an expression is its first field to those after it.
func TestVariableOfSameCommand(t *testing.T) {
	for command, want := range map[string]string{
		"x=next_prio:y=$x":                 "x=next_prio,y=next_prio",
		"x=next_prio+1:y=$x":               "x=next_prio+1,y=next_prio",
		"x=next_prio+$x":                   "x=next_prio+next_prio",
		"x=next_prio:y=$x+next_pid":        "x=next_prio,y=next_prio+next_pid",
		"x=sched.sched_switch.next_prio":   "x=next_prio",
		"x=next_prio,y=next_pid:z=$x-$y":   "x=next_prio,y=next_pid,z=next_prio-next_pid",
		"x=common_pid.execname":            "x=common_pid.execname",
		"st=stacktrace,s2=prev_comm,c=cpu": "st=common_stacktrace,s2=prev_comm,c=common_cpu",
	} {
		l := newLab(t)
		l.must(events.SchedSwitch.Type, "hist:keys=next_pid:"+command)
		if line := l.lines(events.SchedSwitch.Type); !strings.Contains(line, ":vals=hitcount:"+want+":sort=") {
			t.Errorf("%s shows as %s, want %s", command, line, want)
		}
	}
}

// The latency from a wakeup to the switch, as Documentation/trace/histogram.rst
// has it: what the switch reads is gone, without it the switch does not count.
func TestWakeupLatency(t *testing.T) {
	l := newLab(t)
	l.define("lat", u64Field, pidField, commField)
	l.must(events.SchedWaking.Type, "hist:keys=pid:ts0=common_timestamp.usecs if comm==\"ping\"")
	l.must(events.SchedSwitch.Type, "hist:keys=next_pid:l=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).lat($l,next_pid,next_comm)")
	if l.absolute != 2 || l.enabled != 2 || l.clock != "global" || !l.i.HasVariables() {
		t.Errorf("%d want absolute stamps, %d events enabled, clock %s", l.absolute, l.enabled, l.clock)
	}
	l.switching(10, 5, 100, "ping") // nobody woke it
	l.waking(20, 5, 100, "ping")
	l.switching(35, 5, 100, "ping")
	l.switching(40, 5, 100, "ping") // read once
	l.waking(50, 6, 100, "cat")     // not ping
	l.switching(60, 6, 100, "cat")
	l.wantGenerated(`lat 15 5 "ping"`)
	l.wantEntries(events.SchedSwitch.Type, "{ next_pid: 5 } hitcount: 1", "Hits: 1")
	l.wantEntries(events.SchedWaking.Type, "{ pid: 5 } hitcount: 1", "Hits: 1")
	l.waking(70, 5, 100, "ping")
	l.switching(71, 5, 100, "ping")
	l.wantGenerated(`lat 1 5 "ping"`)

	if err := l.write(events.SchedWaking.Type, "!hist:keys=pid:ts0=common_timestamp.usecs if comm==\"ping\""); tracefile.Errno(err) != syscall.EBUSY {
		t.Errorf("removing what is read: %v", err)
	}
	if l.i.File(events.SchedWaking.Type).RemoveAll(); l.lines(events.SchedWaking.Type) == "" {
		t.Error("what is read went with all triggers")
	}
	if l.synths["lat"].held != 1 {
		t.Errorf("%d triggers hold lat", l.synths["lat"].held)
	}
	l.must(events.SchedSwitch.Type, "!hist:keys=next_pid:l=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).lat($l,next_pid,next_comm)")
	l.must(events.SchedWaking.Type, "!hist:keys=pid:ts0=common_timestamp.usecs if comm==\"ping\"")
	if l.absolute != 0 || l.enabled != 0 || l.i.HasVariables() || l.synths["lat"].held != 0 {
		t.Errorf("left: %d absolute, %d enabled, variables %v, %d hold lat", l.absolute, l.enabled, l.i.HasVariables(), l.synths["lat"].held)
	}
}

// Hists take no more memory than there is for all of them, and give it back.
func TestMapsMax(t *testing.T) {
	l := newLab(t)
	waking, wakeup := events.SchedWaking.Type, events.SchedWakeup.Type
	fill := func() int {
		for n := 0; ; n++ {
			for _, typ := range []*event.Type{waking, wakeup} { // triggers of a name share a map
				err := l.write(typ, fmt.Sprintf("hist:name=%d:keys=pid:size=131072:a%[1]d=comm,b%[1]d=comm,c%[1]d=comm,d%[1]d=comm", n))
				if tracefile.Errno(err) == syscall.ENOMEM {
					return n
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	first := fill()
	l.i.File(waking).RemoveAll()
	l.i.File(wakeup).RemoveAll()
	if again := fill(); first < 3 || again != first {
		t.Errorf("%d hists, then %d", first, again)
	}
	l.i.File(wakeup).RemoveAll()
	l.i.File(waking).RemoveAll()
	if l.i.registry.bytes != 0 || l.i.HasVariables() || l.enabled != 0 {
		t.Errorf("left: %d bytes, variables %v, %d enabled", l.i.registry.bytes, l.i.HasVariables(), l.enabled)
	}
}

// A field of the event that matches gets a trigger of its own there, which goes
// with the action.
//
// test.d/trigger/inter-event/trigger-field-variable-support.tc
func TestFieldVariable(t *testing.T) {
	l := newLab(t)
	l.define("lat", u64Field, pidField, SynthField{Type: "int", Size: 4, Signed: true}, commField)
	l.must(events.SchedWaking.Type, `hist:keys=pid:ts0=common_timestamp.usecs if comm=="ping"`)
	command := `hist:keys=next_pid:l=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).lat($l,next_pid,sched.sched_waking.prio,comm) if next_comm=="ping"`
	l.must(events.SchedSwitch.Type, command)
	want := `hist:keys=pid:vals=hitcount:ts0=common_timestamp.usecs:sort=hitcount:size=2048:clock=global if comm=="ping" [active]
hist:keys=pid:vals=hitcount:synthetic_prio=prio:sort=hitcount:size=2048 if comm=="ping" [active]
hist:keys=pid:vals=hitcount:synthetic_comm=comm:sort=hitcount:size=2048 if comm=="ping" [active]
`
	if got := l.lines(events.SchedWaking.Type); got != want {
		t.Errorf("the triggers are\n%swant\n%s", got, want)
	}
	l.waking(20, 5, 44, "ping")
	l.switching(35, 5, 100, "ping")
	l.wantGenerated(`lat 15 5 44 "ping"`)
	l.must(events.SchedSwitch.Type, "!"+command)
	if got := l.lines(events.SchedWaking.Type); strings.Contains(got, "synthetic_") || strings.Count(got, "\n") != 1 {
		t.Errorf("afterwards the triggers are\n%s", got)
	}
	// What fails after the trigger was made takes it away again.
	if err := l.write(events.SchedSwitch.Type, strings.Replace(command, ",comm)", ",nofield)", 1)); tracefile.Errno(err) != syscall.EINVAL {
		t.Errorf("a field that is not there: %v", err)
	}
	if got := l.lines(events.SchedWaking.Type); strings.Contains(got, "synthetic_") || l.enabled != 1 {
		t.Errorf("after a fault the triggers are\n%s", got)
	}
}

// test.d/trigger/inter-event/trigger-multi-actions-accept.tc
func TestQualifiedVariable(t *testing.T) {
	l := newLab(t)
	l.define("lat", u64Field, pidField)
	l.must(events.SchedWaking.Type, `hist:keys=pid:ts0=common_timestamp.usecs if comm=="cyclictest"`)
	l.must(events.SchedSwitch.Type,
		`hist:keys=next_pid:l=common_timestamp.usecs-$ts0 if next_comm=="cyclictest"`,
		`hist:keys=next_pid:onmatch(sched.sched_waking).lat(sched.sched_switch.$l,next_pid) if next_comm=="cyclictest"`,
		`hist:keys=next_pid:onmatch(sched.sched_waking).lat(sched.sched_switch.$l,prev_pid) if next_comm=="cyclictest"`,
		`hist:keys=next_pid if next_comm=="cyclictest"`)
	l.waking(1, 5, 1, "cyclictest")
	l.switching(4, 5, 1, "cyclictest")
	l.wantGenerated("lat 3 5", "lat 3 7")
}

// onmax keeps the biggest, onchange the latest; save() keeps what was then.
func TestTrack(t *testing.T) {
	l := newLab(t)
	l.define("prios", pidField, commField)
	l.must(events.SchedWaking.Type,
		"hist:keys=pid:p=prio:onmax($p).save(comm,target_cpu,cpu):onchange($p).trace(prios,$p,comm)")
	if line := l.lines(events.SchedWaking.Type); !strings.Contains(line, ":onmax($p).save(comm,target_cpu,cpu):onchange($p).trace(prios,$p,comm) [active]") {
		t.Errorf("the line is %s", line)
	}
	l.waking(1, 5, 0, "zero") // nothing is bigger than 0, or other
	l.wantGenerated()
	l.wantEntries(events.SchedWaking.Type, "{ pid: 5 } hitcount: 1",
		"max: 0 comm: (null) target_cpu: 0 cpu: 0", "changed: 0 comm: (null) target_cpu: 0 cpu: 0", "Hits: 1")
	l.waking(2, 5, 20, "a")
	l.waking(3, 5, 30, "b")
	l.waking(4, 5, 30, "c")
	l.waking(5, 5, 10, "d")
	l.wantGenerated(`prios 20 "a"`, `prios 30 "b"`, `prios 10 "d"`)
	l.wantEntries(events.SchedWaking.Type, "{ pid: 5 } hitcount: 5",
		"max: 30 comm: b target_cpu: 0 cpu: 1", "changed: 10 comm: b target_cpu: 0 cpu: 1", "Hits: 5")
}

// A snapshot is taken for what surpasses all that came before, whatever the key.
func TestSnapshotAction(t *testing.T) {
	l := newLab(t)
	command := "hist:keys=comm:p=prio:onmax($p).save(prio):onmax($p).snapshot()"
	l.must(events.SchedWaking.Type, command)
	if err := l.write(events.SchedSwitch.Type, "hist:keys=next_comm:p=next_prio:onchange($p).snapshot()"); tracefile.Errno(err) != syscall.EBUSY {
		t.Errorf("a second one: %v", err)
	}
	if got := string(l.i.File(events.SchedWaking.Type).Show()); strings.Contains(got, "Snapshot") {
		t.Errorf("before a snapshot it shows\n%s", got)
	}
	l.waking(1, 5, 20, "a")
	l.waking(1, 6, 10, "b")
	l.waking(1, 7, 30, "c")
	l.waking(1, 7, 25, "a")
	if l.snapshots != 2 || l.armed != 1 {
		t.Errorf("%d snapshots, armed %d", l.snapshots, l.armed)
	}
	want := fmt.Sprintf("\nSnapshot taken (see tracing/snapshot).  Details:\n\ttriggering value { onmax($p) }: %10d\ttriggered by event with key: { comm: %-50s }\n\nTotals:\n", 30, "c")
	if got := string(l.i.File(events.SchedWaking.Type).Show()); !strings.Contains(got, want) {
		t.Errorf("it shows\n%s\nwant\n%s", got, want)
	}
	l.must(events.SchedWaking.Type, "!"+command)
	if l.armed != 0 || l.i.snapshot != nil {
		t.Error("the snapshot stays armed")
	}
	l.must(events.SchedSwitch.Type, "hist:keys=next_comm:p=next_prio:onchange($p).snapshot()")
}

// Text and stacks are kept in the element and passed on by other variables.
//
// test.d/trigger/inter-event/trigger-synthetic-event-stack.tc and -dynstring.tc
func TestTextAndStackVariables(t *testing.T) {
	l := newLab(t)
	l.define("wake", pidField, textField, stkField, textField)
	l.must(events.SchedWaking.Type, "hist:keys=pid:txt=comm:st=common_stacktrace,who=common_pid.execname")
	l.must(events.SchedSwitch.Type, "hist:keys=next_pid:s=$st,n=$txt:onmatch(sched.sched_waking).trace(wake,next_pid,$n,$s,$who)")
	l.waking(258, 5, 1, "a long name of 16+")
	l.switching(2, 5, 1, "x")
	l.wantGenerated(`wake 5 "a long name of " "\x00\x00\x00\x81\xff\xff\xff\xff\x02\x01\x00\x00\x00\x00\x00\x00" "other"`)
}

// Names: a reference without an event means a variable of the events that
// onmatch names before others.
func TestMatchVariable(t *testing.T) {
	l := newLab(t)
	l.define("lat", pidField)
	l.must(events.SchedWaking.Type, "hist:keys=pid:v=prio")
	l.must(events.SchedWakeup.Type, "hist:keys=pid:v=pid")
	l.must(events.SchedSwitch.Type, "hist:keys=next_pid:x=$v+1:onmatch(sched.sched_waking).lat($x)",
		"hist:keys=next_pid:y=sched.sched_wakeup.$v:onmatch(sched.sched_wakeup).lat($y)")
	l.waking(1, 5, 40, "a")
	l.switching(2, 5, 1, "a")
	l.wantGenerated("lat 41")
	if line := l.lines(events.SchedSwitch.Type); !strings.Contains(line, "x=$v+1:") || !strings.Contains(line, "y=sched.sched_wakeup.$v:") {
		t.Errorf("the lines are\n%s", line)
	}
}

// Triggers of one name count into one map.
func TestNamed(t *testing.T) {
	l := newLab(t)
	l.must(events.SchedWaking.Type, "hist:name=foo:keys=pid")
	l.must(events.SchedWakeup.Type, "hist:name=foo:keys=pid")
	l.waking(1, 5, 40, "a")
	for _, typ := range []*event.Type{events.SchedWaking.Type, events.SchedWakeup.Type} {
		l.wantEntries(typ, "{ pid: 5 } hitcount: 1", "Hits: 1")
	}
	l.must(events.SchedWaking.Type, "!hist:name=foo:keys=pid")
	l.wantEntries(events.SchedWakeup.Type, "{ pid: 5 } hitcount: 1", "Hits: 1")
	l.must(events.SchedWakeup.Type, "!hist:name=foo:keys=pid")
	if l.enabled != 0 {
		t.Errorf("%d events are enabled", l.enabled)
	}
}

// An event that is counted under two keys with a value and a variable, and one
// that reads the variable, allocate nothing.
func TestNoAllocation(t *testing.T) {
	l, m, n := benchLab(t)
	if allocs := testing.AllocsPerRun(100, func() { l.step(m, n) }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func benchLab(tb testing.TB) (l *lab, waking, switching *Moment) {
	l = newLab(tb)
	l.must(events.SchedWaking.Type, "hist:keys=pid,comm:vals=prio:ts0=common_timestamp.usecs,n=comm")
	l.must(events.SchedSwitch.Type, "hist:keys=next_pid,next_comm:vals=prev_prio:lat=common_timestamp.usecs-$ts0:onmax($lat).save(prev_comm,prev_pid)")
	l.waking(1, 5, 40, "a")
	l.switching(2, 5, 40, "a")
	return l, &Moment{Time: 10, Comm: "x", PID: 3, Rec: events.SchedWaking.Append(nil, event.Common{}, &events.SchedWakeupRecord{Comm: comm("a"), PID: 5, Prio: 9})},
		&Moment{Time: 20, Comm: "x", PID: 3, Rec: events.SchedSwitch.Append(nil, event.Common{}, &events.SchedSwitchRecord{NextComm: comm("a"), NextPID: 5, PrevPrio: 9})}
}

func (l *lab) step(waking, switching *Moment) {
	l.i.File(events.SchedWaking.Type).Happen(waking, filter.Context{})
	switching.Time += 1000
	l.i.File(events.SchedSwitch.Type).Happen(switching, filter.Context{})
}

func BenchmarkEvent(b *testing.B) {
	b.Run("2 keys, value, 2 variables", func(b *testing.B) {
		l, m, _ := benchLab(b)
		f := l.i.File(events.SchedWaking.Type)
		b.ReportAllocs()
		for b.Loop() {
			f.Happen(m, filter.Context{})
		}
	})
	b.Run("and one that reads it, onmax, save", func(b *testing.B) {
		l, m, n := benchLab(b)
		b.ReportAllocs()
		for b.Loop() {
			l.step(m, n)
		}
	})
}

// A constant of another event counts as one: it is folded, and divided by quickly.
// Folding a division by one that is no power of 2 gives 0, in the kernel too.
func TestConstantOfAnotherEvent(t *testing.T) {
	l := newLab(t)
	l.must(events.SchedWaking.Type, "hist:keys=pid:seven=7,eight=8")
	l.must(events.SchedSwitch.Type,
		"hist:keys=next_pid:a=$seven*$eight,b=100/$eight,c=100/$seven,d=next_prio/$seven,e=next_prio/$eight,f=$seven")
	if line := l.lines(events.SchedSwitch.Type); !strings.Contains(line, ":a=56,b=12,c=0,d=next_prio/$seven,e=next_prio/$eight,f=$seven:") {
		t.Errorf("the line is %s", line)
	}
	l.switching(1, 5, 100, "a") // it reads variables, even where they are folded
	l.waking(2, 5, 1, "a")
	l.switching(3, 5, 100, "a")
	l.wantEntries(events.SchedSwitch.Type, "{ next_pid: 5 } hitcount: 1", "Hits: 1")
	e := l.i.File(events.SchedSwitch.Type).triggers[0].hist.m.Lookup([]byte{5, 0, 0, 0, 0, 0, 0, 0})
	for n, want := range []uint64{56, 12, 0, 15, 12, 7} {
		if e.Vars[n].N != want {
			t.Errorf("variable %d is %d, want %d", n, e.Vars[n].N, want)
		}
	}
}
