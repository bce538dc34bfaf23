package tracer_test

import (
	"slices"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracer"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/unwind"
)

// linker is the inode of the dynamic linker, in which every program begins.
const linker = 901

// execStay is what the trace has of a stay in the kernel in which a program begins.
type execStay struct {
	before, after []uint64 // cookies of the events before sched_process_exec, and from it on
}

// execsOf traces the default scenario and returns the stays in which programs begin, and the
// deferred stacks by their cookies.
func execsOf(t *testing.T, cfg unwind.Config) (stays []*execStay, stacks map[uint64]events.UserUnwindStackRecord) {
	t.Helper()
	l := newLab(t, tracer.Config{BufferSizeKB: 16000, DeferredUnwind: true, Unwind: cfg})
	l.write("options/userstacktrace_delay", "1")
	l.write("set_event", "sched kmem raw_syscalls")
	l.ft.Run(2 * machine.Second)
	l.write("tracing_on", "0")
	stacks = map[uint64]events.UserUnwindStackRecord{}
	inside, last := map[int32]*execStay{}, map[int32]int{}
	for _, r := range l.records() {
		common := event.ParseCommon(r.data)
		pid := common.PID
		switch int(common.Type) {
		case events.SysEnter.ID:
			var enter events.SysEnterRecord
			if err := events.SysEnter.Decode(r.data, &enter); err != nil {
				t.Fatal(err)
			}
			if delete(inside, pid); enter.ID == 59 {
				inside[pid] = &execStay{}
			}
		case events.UserUnwindCookie.ID:
			var c events.UserUnwindCookieRecord
			if err := events.UserUnwindCookie.Decode(r.data, &c); err != nil {
				t.Fatal(err)
			}
			switch stay := inside[pid]; {
			case stay == nil:
			case last[pid] == events.SchedProcessExec.ID || len(stay.after) > 0:
				stay.after = append(stay.after, c.Cookie)
			default:
				stay.before = append(stay.before, c.Cookie)
			}
		case events.UserUnwindStack.ID:
			var s events.UserUnwindStackRecord
			if err := events.UserUnwindStack.Decode(r.data, &s); err != nil {
				t.Fatal(err)
			}
			if _, twice := stacks[s.Cookie]; twice {
				t.Errorf("two stacks for cookie %x", s.Cookie)
			}
			s.Stack, s.Inodes, s.Dev = slices.Clone(s.Stack), slices.Clone(s.Inodes), slices.Clone(s.Dev)
			stacks[s.Cookie] = s
			if stay := inside[pid]; stay != nil && len(stay.after) > 0 {
				delete(inside, pid) // it goes back to user space
			}
		}
		if last[pid] = int(common.Type); last[pid] == events.SchedProcessExec.ID && inside[pid] != nil {
			stays = append(stays, inside[pid])
		}
	}
	return stays, stacks
}

// A cookie of before an exec has the old program's stack, and one of after it the place in
// the dynamic linker where the new program begins.
func TestDeferredStacksOfExecs(t *testing.T) {
	stays, stacks := execsOf(t, unwind.Config{})
	joined := 0
	for _, stay := range stays {
		if len(stay.before) == 0 || len(stay.after) == 0 {
			t.Fatalf("%d events before and %d after the exec", len(stay.before), len(stay.after))
		}
		for _, c := range stay.before {
			s, ok := stacks[c]
			if slices.Contains(stay.after, c) || !ok || len(s.Stack) < 3 || slices.Contains(s.Inodes, linker) {
				t.Fatalf("before the exec, cookie %x has %+v", c, s)
			}
			joined++
		}
		for _, c := range stay.after {
			if s, ok := stacks[c]; !ok || !slices.Equal(s.Inodes, []uint64{linker}) {
				t.Fatalf("after the exec, cookie %x has %+v", c, s)
			}
			joined++
		}
	}
	t.Logf("%d execs, %d events in them with their stacks", len(stays), joined)
	if len(stays) < 5 {
		t.Errorf("%d execs", len(stays))
	}
}

// In the kernel, the events before an exec get the stack with which the new program begins.
func TestLateStacksOfExecs(t *testing.T) {
	stays, stacks := execsOf(t, unwind.Config{ExecLate: true})
	for _, stay := range stays {
		if cookies := slices.Concat(stay.before, stay.after); len(slices.Compact(cookies)) != 1 || !slices.Equal(stacks[cookies[0]].Inodes, []uint64{linker}) {
			t.Fatalf("cookies %x, stack %+v", cookies, stacks[cookies[0]])
		}
	}
	if len(stays) < 5 {
		t.Errorf("%d execs", len(stays))
	}
}

// Probes on events, filters and histograms see inode_cache, although no tracepoint of the
// machine fires it.
func TestInodeCacheIsSeen(t *testing.T) {
	l := newLab(t, tracer.Config{BufferSizeKB: 4000, DeferredUnwind: true})
	l.write("options/userstacktrace_delay", "1")
	l.write("dynamic_events", "e:files inode_cache.inode_cache ino=$inode")
	l.write("events/eprobes/files/enable", "1")
	l.write("events/inode_cache/inode_cache/trigger", "hist:keys=inode if inode == 900")
	l.write("set_event", "raw_syscalls eprobes")
	l.ft.Run(20 * machine.Millisecond)
	l.write("tracing_on", "0")
	if text := l.read("trace"); !strings.Contains(text, "files: (inode_cache.inode_cache) ino=0x384\n") {
		t.Errorf("no hit of the probe: %.500s", text)
	}
	if text := l.read("events/inode_cache/inode_cache/hist"); !strings.Contains(text, "{ inode:        900 } hitcount:          1\n") || !strings.Contains(text, "Entries: 1\n") {
		t.Errorf("the histogram: %s", text)
	}
}
