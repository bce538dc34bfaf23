package hist

import (
	"bytes"
	"strings"
	"testing"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// FuzzCommand checks that no command panics, that what is refused leaves nothing
// behind, that what is accepted counts and shows, and that it is gone when it is
// removed as it was written, or else with all.
func FuzzCommand(f *testing.F) {
	for _, text := range []string{
		"keys=next_pid.hex,next_comm,common_cpu:vals=prev_prio.percent,prev_pid.graph:sort=next_comm.descending,prev_prio:size=128:nohitcount if next_pid > 3",
		"keys=common_pid.execname,stacktrace:x=-(next_prio),y=$x*3/2-1:onmax($y).save(prev_comm,cpu):onchange($x).snapshot()",
		"keys=next_pid:l=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).trace(lat,$l,next_pid,sched.sched_waking.comm)",
		"keys=next_pid:l=sched.sched_waking.$st:onmatch(sched.sched_waking).lat($ts0,pid,comm)",
		"name=foo:key=next_prio.log2,prev_prio.buckets=5:pause:clock=global:val=hitcount",
		"keys=prev_state.sym-offset:x=10/3+next_prio,st=common_stacktrace,c=prev_comm",
		"keys=common_stacktrace.log2,hitcount.buckets=3:sort=common_stacktrace", "keys=hitcount.log2,prev_comm.log2:vals=prev_comm.hex,prev_comm",
		"keys=cpu.usecs,next_comm.buckets=7,common_pid.syscall:vals=prev_prio.usecs,common_timestamp.usecs:x=common_cpu-(1)",
		"keys=next_pid:a=1,b=$a,c=-(next_prio/0x7),d=$c:onchange($d).trace(lat,$a,prev_pid,next_comm):onmax($c).lat($a,sched.sched_switch.prev_pid,sched.sched_waking.comm)",
		"keys=next_pid:clear", "keys=next_pid:x=$ts0", "keys=next_pid:cont if", "keys=sched.sched_switch.next_pid:vals=$ts0",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 || strings.ContainsAny(text, "\x00") {
			return
		}
		l := newLab(t)
		l.define("lat", u64Field, pidField, commField)
		l.must(events.SchedWaking.Type, "hist:keys=pid:ts0=common_timestamp.usecs,st=stacktrace")
		enabled, absolute := l.enabled, l.absolute
		left := func() bool {
			return l.enabled != enabled || l.absolute != absolute || l.armed != 0 || l.synths["lat"].held != 0 || len(l.i.vars) != 1
		}
		switching := events.SchedSwitch.Type
		if l.i.Command(switching, text, false) != nil {
			if left() {
				t.Fatalf("%q was refused and left something", text)
			}
			return
		}
		if len(l.log) > 0 && l.lines(switching) == "" {
			t.Fatalf("%q was accepted, but there is no trigger", text)
		}
		l.waking(1, 5, 3, "ping")
		l.switching(2, 5, 3, "ping")
		if shown := string(l.i.File(switching).Show()); !strings.Contains(shown, "Totals:") {
			t.Fatalf("%q shows as\n%s", text, shown)
		}
		// With it a variable's name may not be unique any more.
		if l.i.Command(switching, text, true) != nil {
			l.i.File(switching).RemoveAll()
		}
		if left() || l.lines(switching) != "" {
			t.Fatalf("%q is not gone:\n%s", text, l.lines(switching))
		}
	})
}

// FuzzRecord checks that no record panics, whatever its location words say.
func FuzzRecord(f *testing.F) {
	data := make([]byte, 56)
	copy(data[16:], "in place")
	copy(data[8:], []byte{40, 0, 6, 0}) // "abc" and NULs
	copy(data[40:], "abc")
	copy(data[12:], []byte{40, 0, 16, 0}) // a stack of one word
	copy(data[32:], []byte{1, 2, 3, 4})
	f.Add(data)
	f.Add(data[:13])
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 64))
	f.Fuzz(func(t *testing.T, data []byte) {
		typ, err := event.NewType(2000, "synthetic", "all", "", []event.Field{
			{Name: "text", Decl: "__data_loc char[] text", Offset: 8, Size: 4},
			{Name: "st", Decl: "__data_loc unsigned long[] st", Offset: 12, Size: 4},
			{Name: "name", Decl: "char name[16]", Offset: 16, Size: 16},
			{Name: "num", Decl: "s32 num", Offset: 32, Size: 4, Signed: true},
			{Name: "ptr", Decl: "char * ptr", Offset: 36, Size: 8},
		})
		if err != nil {
			t.Fatal(err)
		}
		l := newLab(t)
		l.types = append(l.types, typ)
		l.must(typ, "hist:keys=st.stacktrace,name:vals=num,ptr:v=num,x=text,y=st:onchange($v).save(name,text,st,ptr)", "hist:keys=text,num.log2,name.buckets=3:vals=text.hex")
		l.happen(typ, 1, data)
		l.happen(typ, 2, data)
		if l.i.File(typ).Show(); !strings.Contains(l.entries(typ), "Hits: 2") {
			t.Errorf("the file reads\n%s", l.entries(typ))
		}
	})
}
