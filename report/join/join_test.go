package join

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/record"
	"ftracelab/unwind/cookie"
)

// at is a record of a made-up trace with what the truth is about it: the stay that a cookie
// belongs to.
type at struct {
	rec  record.Record
	stay int // of a cookie: the number of its stay over all tasks; 0: none
}

// made is a trace that is read from memory.
type made struct {
	records []at
	n       int
}

func (m *made) Next(r *record.Record) error {
	if m.n == len(m.records) {
		return io.EOF
	}
	*r = m.records[m.n].rec
	m.n++
	return nil
}

// exitType stands for sched:sched_process_exit, plainType for another event that happens only
// in tasks with a user space, and workType for one that happens in all.
var (
	exitType  = mustType("sched", "sched_process_exit", 2001)
	plainType = mustType("raw_syscalls", "sys_enter", 2002)
	workType  = mustType("sched", "sched_wakeup", 2005)
)

func mustType(system, name string, id int) *event.Type {
	t, err := event.NewType(id, system, name, `""`, nil)
	if err != nil {
		panic(err)
	}
	return t
}

// kthread is a kernel thread, and compat a 32-bit program; neither has a cookie.
const (
	kthread = 2
	compat  = 3
)

// truth is what really happened.
type truth struct {
	trace  []at
	stacks map[int][]uint64 // by stay
	kept   map[int]bool     // the record of the stay's stack was not lost
	task   map[int]int32
	exited map[int32]bool
	inside map[int]bool
	empty  map[int]bool
}

// simulate makes a trace of some tasks on some CPUs: they enter the kernel, sleep and go on
// elsewhere, return, exit; and now and then a CPU loses a run of records. Cookies are made
// as the kernel makes them, from a counter of each CPU; with wrap they repeat soon, so that
// two tasks have the same cookie.
func simulate(seed uint64, wrap bool) *truth {
	rnd := rand.New(rand.NewPCG(seed, 15))
	const cpus, tasks, steps = 3, 6, 300
	tr := &truth{
		stacks: map[int][]uint64{}, kept: map[int]bool{}, task: map[int]int32{}, exited: map[int32]bool{}, inside: map[int]bool{}, empty: map[int]bool{},
	}
	type state struct {
		cpu, stay int
		cookie    cookie.ID
	}
	var counts [cpus]uint32
	var losing [cpus]int
	now := [tasks]state{}
	stays := 0
	var clock uint64
	emit := func(cpu int, r record.Record, stay int) bool {
		clock++
		r.CPU, r.Time = cpu, clock
		if losing[cpu] > 0 {
			if losing[cpu]--; losing[cpu] == 0 {
				tr.trace = append(tr.trace, at{record.Record{Kind: record.Lost, CPU: cpu, Time: clock, Count: record.LostUnknown}, 0})
			}
			return false
		}
		tr.trace = append(tr.trace, at{r, stay})
		return true
	}
	for range steps {
		if rnd.IntN(20) == 0 {
			emit(rnd.IntN(cpus), record.Record{Common: event.Common{PID: kthread}, Type: workType}, 0)
		}
		if rnd.IntN(40) == 0 {
			emit(rnd.IntN(cpus), record.Record{Common: event.Common{PID: compat}, Type: plainType}, 0)
		}
		n := rnd.IntN(tasks)
		pid, s := int32(100+n), &now[n]
		if tr.exited[pid] {
			continue
		}
		if s.stay == 0 {
			s.cpu = rnd.IntN(cpus)
			stays++
			s.stay = stays
			tr.task[stays] = pid
			counts[s.cpu] = 1 | (counts[s.cpu] + 2)
			if wrap && counts[s.cpu] > 9 {
				counts[s.cpu] = 1
			}
			cpu := s.cpu
			if wrap {
				cpu = 0 // the counters of two CPUs cannot be told apart
			}
			s.cookie = cookie.New(cpu, counts[s.cpu])
			depth := rnd.IntN(9)
			for d := range depth {
				tr.stacks[stays] = append(tr.stacks[stays], uint64(stays)<<16|uint64(d))
			}
			tr.empty[stays], tr.inside[stays] = depth == 0, true
		}
		if rnd.IntN(4) == 0 {
			s.cpu = rnd.IntN(cpus) // it has slept
		}
		if rnd.IntN(25) == 0 {
			losing[rnd.IntN(cpus)] += 1 + rnd.IntN(8)
		}
		switch rnd.IntN(3) {
		default:
			emit(s.cpu, record.Record{Common: event.Common{PID: pid}, Type: plainType}, 0)
			emit(s.cpu, waits(pid, s.cookie), s.stay)
		case 2:
			exits := rnd.IntN(12) == 0
			if exits {
				emit(s.cpu, record.Record{Common: event.Common{PID: pid}, Type: exitType}, 0)
				tr.exited[pid] = true
			}
			if !exits || rnd.IntN(2) == 0 { // a task that exits may leave no stack
				tr.kept[s.stay] = emit(s.cpu, walked(pid, s.cookie, tr.stacks[s.stay]), 0)
				delete(tr.inside, s.stay)
			}
			*s = state{}
		}
	}
	for cpu, n := range losing {
		if n > 0 {
			tr.trace = append(tr.trace, at{record.Record{Kind: record.Lost, CPU: cpu, Time: clock + 1, Count: record.LostUnknown}, 0})
		}
	}
	return tr
}

func waits(pid int32, id cookie.ID) record.Record {
	h := event.Common{Type: uint16(events.UserUnwindCookie.ID), PID: pid}
	data := events.UserUnwindCookie.Append(nil, h, &events.UserUnwindCookieRecord{Cookie: uint64(id)})
	return record.Record{Common: h, Type: events.UserUnwindCookie.Type, Data: data}
}

func walked(pid int32, id cookie.ID, ips []uint64) record.Record {
	h := event.Common{Type: uint16(events.UserUnwindStack.ID), PID: pid}
	data := events.UserUnwindStack.Append(nil, h, &events.UserUnwindStackRecord{Cookie: uint64(id), Stack: ips, Inodes: make([]uint64, len(ips)), Dev: make([]uint32, len(ips))})
	return record.Record{Common: h, Type: events.UserUnwindStack.Type, Data: data}
}

// joinAll reads a trace twice.
func joinAll(t *testing.T, trace []at) (*Table, []record.Record) {
	t.Helper()
	table := NewTable(nil)
	src := &made{records: trace}
	var r record.Record
	for src.Next(&r) == nil {
		if err := table.See(&r); err != nil {
			t.Fatal(err)
		}
	}
	src.n = 0
	var out []record.Record
	for joined := table.Source(src); joined.Next(&r) == nil; {
		out = append(out, r)
	}
	return table, out
}

// TestOracle joins the traces of 1,000 seeds, in which events are lost and tasks migrate,
// and compares each joined stack with that of the stay in which the event really happened.
func TestOracle(t *testing.T) {
	var sum Counts
	migrated := 0
	for seed := range uint64(1000) {
		tr := simulate(seed, false)
		table, out := joinAll(t, tr.trace)
		counts := table.Counts()
		wrong := check(t, fmt.Sprintf("seed %d", seed), tr, table, out)
		if wrong > 0 {
			t.Fatalf("seed %d: %d wrong joins", seed, wrong)
		}
		for r := range Reasons {
			sum.Events[r] += counts.Events[r]
		}
		sum.Cookies += counts.Cookies
		sum.Stacks += counts.Stacks
		migrated += migrations(tr)
	}
	t.Logf("%v; %d stays had events on several CPUs", &sum, migrated)
	for _, r := range []Reason{Joined, NoFrames, Lost, Exited, Inside, KernelThread, Refused} {
		if sum.Events[r] < 100 {
			t.Errorf("%v: %d events of all seeds", r, sum.Events[r])
		}
	}
	if migrated < 1000 {
		t.Errorf("%d stays had events on several CPUs", migrated)
	}
	if n := sum.Events[Missing]; n > 0 {
		t.Errorf("%d events have no stack without a reason", n)
	}
}

// check compares what became of each cookie with the truth.
func check(t *testing.T, name string, tr *truth, table *Table, out []record.Record) (wrong int) {
	t.Helper()
	for _, a := range tr.trace {
		if a.stay == 0 {
			continue
		}
		var stack []record.Record
		if len(out) > 0 {
			// The source has what the trace has, without what was left out.
			for len(out) > 0 && out[0].Time < a.rec.Time {
				out = out[1:]
			}
			if len(out) > 0 && out[0].Time == a.rec.Time && out[0].Kind == record.UserStack {
				stack = out[:1]
			}
		}
		_, why := table.Joined(&a.rec)
		if (why == Joined) != (len(stack) == 1) {
			t.Fatalf("%s: time %d: %v, and the source has %d stacks", name, a.rec.Time, why, len(stack))
		}
		if len(stack) == 1 && (!slices.Equal(stack[0].Stack, tr.stacks[a.stay]) || stack[0].Common.PID != tr.task[a.stay]) {
			wrong++
		}
		want := Lost
		switch pid := tr.task[a.stay]; {
		case tr.kept[a.stay] && !tr.empty[a.stay]:
			want = Joined
		case tr.kept[a.stay]:
			want = NoFrames
		case tr.inside[a.stay] && tr.exited[pid]:
			want = Exited
		case tr.inside[a.stay]:
			want = Inside
		}
		// After a loss nobody can tell what else kept the stack away.
		if why != want && !(why == Lost && (want == Exited || want == Inside)) {
			// The record of the exit may be lost as well.
			if want == Exited && why == Inside {
				continue
			}
			t.Fatalf("%s: time %d: %v, want %v", name, a.rec.Time, why, want)
		}
	}
	return wrong
}

// migrations counts the stays with events on several CPUs.
func migrations(tr *truth) (n int) {
	cpus := map[int]int{}
	for _, a := range tr.trace {
		if a.stay == 0 {
			continue
		}
		if first, ok := cpus[a.stay]; !ok {
			cpus[a.stay] = a.rec.CPU
		} else if first >= 0 && first != a.rec.CPU {
			cpus[a.stay] = -1
			n++
		}
	}
	return n
}

// TestOracleFinds shows that the oracle finds the two joins that are wrong: by the task
// alone, which joins across a loss, and by the cookie alone, which joins to another task
// once cookies repeat.
func TestOracleFinds(t *testing.T) {
	for _, bug := range []struct {
		name string
		wrap bool
		join func(task, other int32, id, otherID cookie.ID) bool
	}{
		{"across a loss", false, func(task, other int32, _, _ cookie.ID) bool { return task == other }},
		{"to another task", true, func(_, _ int32, id, other cookie.ID) bool { return id == other }},
	} {
		wrong := 0
		for seed := range uint64(50) {
			tr := simulate(seed, bug.wrap)
			for i, a := range tr.trace {
				if a.stay == 0 {
					continue
				}
				for _, b := range tr.trace[i:] {
					if b.rec.Type != events.UserUnwindStack.Type {
						continue
					}
					id, other := cookieOf(&a.rec), cookieOf(&b.rec)
					if !bug.join(a.rec.Common.PID, b.rec.Common.PID, id, other) {
						continue
					}
					list := events.UserUnwindStack.Type.Field("stack").Bytes(b.rec.Data)
					if len(list) > 0 && word(list, 8)>>16 != uint64(a.stay) {
						wrong++
					}
					break
				}
			}
		}
		if wrong == 0 {
			t.Errorf("a join %s is not found", bug.name)
		}
	}
}

func cookieOf(r *record.Record) cookie.ID {
	return cookie.ID(r.Type.Field("cookie").Uint(r.Data))
}

// TestOtherTask joins nothing to another task, also where cookies repeat.
func TestOtherTask(t *testing.T) {
	for seed := range uint64(100) {
		tr := simulate(seed, true)
		_, out := joinAll(t, tr.trace)
		for _, r := range out {
			if r.Kind != record.UserStack {
				continue
			}
			if stay := int(r.Stack[0] >> 16); tr.task[stay] != r.Common.PID {
				t.Fatalf("seed %d: task %d has the stack of task %d", seed, r.Common.PID, tr.task[stay])
			}
		}
	}
}

// TestFiles names the frames in files.
func TestFiles(t *testing.T) {
	inode, err := event.NewType(2003, "inode_cache", "inode_cache", `""`, []event.Field{
		{Name: "inode", Decl: "unsigned long inode", Offset: 8, Size: 8},
		{Name: "dev", Decl: "dev_t dev", Offset: 16, Size: 4},
		{Name: "path", Decl: "char path[16]", Offset: 20, Size: 16},
	})
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 36)
	data[8], data[18], data[19] = 7, 0xe0, 0x0f // 254:0
	copy(data[20:], "/usr/bin/bash")
	h := event.Common{PID: 5}
	stack := events.UserUnwindStack.Append(nil, h, &events.UserUnwindStackRecord{
		Cookie: 0x300000001, Stack: []uint64{0xaf581, 0xaf581, 0x7fff1234}, Inodes: []uint64{7, 8, NoInode}, Dev: []uint32{254 << 20, 254<<20 | 3, 0},
	})
	table, out := joinAll(t, []at{
		{rec: record.Record{Common: h, Type: inode, Data: data, Time: 1}},
		{rec: waits(5, 0x300000001)},
		{rec: record.Record{Common: h, Type: events.UserUnwindStack.Type, Data: stack, Time: 2}},
	})
	if len(out) != 2 || out[1].Kind != record.UserStack || out[1].Stay != 0x300000001 {
		t.Fatalf("%+v", out)
	}
	for i, want := range []string{"/usr/bin/bash[+0xaf581]", "inode 8 on 254:3[+0xaf581]"} {
		name, _, _, _, ok := table.Symbols(nil).Lookup(out[1].Stack[i])
		if !ok || name != want {
			t.Errorf("frame %d is %q, want %q", i, name, want)
		}
	}
	if out[1].Stack[0] == out[1].Stack[1] {
		t.Error("the same offset in two files is one address")
	}
	frames, _ := table.Stack(5, 0x300000001)
	if got := string(table.AppendFrame(nil, frames[2], nil)); got != "0x7fff1234" {
		t.Errorf("an address without a file is %q", got)
	}
}
