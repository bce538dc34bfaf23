package unwind

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/unwind/cookie"
)

// variants are kernels and machines.
var variants = map[string]Config{
	"6.17":         {},
	"6.19":         {WalkCompat: true},
	"32 bits":      {Word32: true},
	"no NMI":       {NoNMI: true},
	"January 2025": {Cookies: cookie.January2025},
	"cache of 512": {Cache512: true},
	"late exec":    {ExecLate: true},
}

// What a variant is called on the command line is what its Config says, and what is no
// variant is refused by name.
func TestParseConfig(t *testing.T) {
	for text, want := range map[string]Config{
		"": {}, "compat=refuse,nmi=ask,cookies=counted,cache=page": {},
		"compat=walk": variants["6.19"], "nmi=refuse": variants["no NMI"],
		"cookies=january": variants["January 2025"], "cache=page,cache=512": variants["cache of 512"],
		"exec=late": variants["late exec"], "exec=walk": {},
		"compat=walk,cache=512": {WalkCompat: true, Cache512: true},
	} {
		if got, err := ParseConfig(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"compat", "compat=", "nmi=ask,", ",", "word=32", "cookies=February", "cache =512"} {
		bad := text[strings.LastIndex(text, ",")+1:]
		if _, err := ParseConfig(text); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", bad)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzParseConfig: whatever is written, there is a Config or an error.
func FuzzParseConfig(f *testing.F) {
	for _, text := range []string{"", "compat=walk", "nmi=refuse,cache=512", "cookies=january,,", "a=b=c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := ParseConfig(text); err != nil && !reflect.DeepEqual(c, Config{}) {
			t.Errorf("%q: %+v and %v", text, c, err)
		}
	})
}

// compatTask is a 32-bit program: two words of 4 bytes lie in one of 8.
func compatTask() *machine.Task {
	return &machine.Task{
		PID: 1, Compat: true, User: machine.UserRegs{IP: 0x8049000, SP: 0xff00, FP: 0xff10},
		Memory: words{0xff10: 0x08048111<<32 | 0xff20, 0xff20: 0x08048222 << 32},
	}
}

// Until 6.18 a 32-bit program on a 64-bit machine is refused; then its stack is walked with
// words of 4 bytes, as a 32-bit machine does.
func TestCompat(t *testing.T) {
	for name, cfg := range variants {
		cfg.CPUs = 1
		d := NewDeferred(cfg)
		var got []uint64
		w := &Work{Func: func(_ *Task, stack []uint64, _ cookie.ID) { got = append(got, stack...) }}
		if err := d.Init(w); err != nil {
			t.Fatal(err)
		}
		task := d.NewTask(compatTask())
		_, c, err := d.Request(task, 0, w)
		d.ReturnToUser(task)
		switch name {
		case "6.19", "32 bits":
			if want := []uint64{0x8049000, 0x8048111, 0x8048222}; err != nil || len(got) != 3 || got[1] != want[1] || got[2] != want[2] {
				t.Errorf("%s: %x, %v", name, got, err)
			}
		default:
			if !errors.Is(err, syscall.EINVAL) || c != 0 || got != nil {
				t.Errorf("%s: cookie %x, %x, %v", name, c, got, err)
			}
		}
	}
}

// A mask of 32 bits has room for 30 tracers, one of 64 bits for 62; the last one works as
// the others do, and the next one is refused until one is cancelled.
func TestMaxWorks(t *testing.T) {
	for name, cfg := range variants {
		cfg.CPUs = 1
		d, want := NewDeferred(cfg), 62
		if cfg.Word32 {
			want = 30
		}
		task := d.NewTask(userTask(1))
		var all []*tracer
		for range want {
			all = append(all, newTracer(t, d))
		}
		last := all[want-1]
		if n, _, err := d.Request(task, 0, &last.Work); n != Queued || err != nil {
			t.Errorf("%s: the last of %d: %d, %v", name, want, n, err)
		}
		if n, _, err := d.Request(task, 0, &last.Work); n != Already || err != nil {
			t.Errorf("%s: the last of %d: %d, %v", name, want, n, err)
		}
		more := &Work{Func: last.Func}
		if err := d.Init(more); !errors.Is(err, syscall.EBUSY) {
			t.Errorf("%s: tracer %d: %v", name, want+1, err)
		}
		d.ReturnToUser(task)
		if len(last.got) != 1 || len(all[0].got) != 0 || d.cfg.MaxWorks() != want {
			t.Errorf("%s: %d and %d calls, at most %d works", name, len(last.got), len(all[0].got), d.cfg.MaxWorks())
		}
		if err := errors.Join(d.Cancel(&all[3].Work), d.Init(more)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A page holds 510 addresses behind its header, and 1022 of 4 bytes; older revisions had 512.
func TestMaxEntries(t *testing.T) {
	for name, want := range map[string]int{"6.17": 510, "32 bits": 1022, "cache of 512": 512} {
		cfg := variants[name]
		cfg.CPUs = 1
		d, mem := NewDeferred(cfg), words{}
		for n := range uint64(2000) {
			at := 0x10000 + 16*n
			mem[at], mem[at+8] = at+16, 0x400000+n
			if cfg.Word32 {
				mem[at] = 0x400000<<32 | (at + 16)
			}
		}
		task := d.NewTask(&machine.Task{PID: 1, Memory: mem, User: machine.UserRegs{IP: 0x400000, SP: 0xfff8, FP: 0x10000}})
		tr := newTracer(t, d)
		if _, _, err := d.Request(task, 0, &tr.Work); err != nil {
			t.Fatal(err)
		}
		if d.ReturnToUser(task); tr.ips != want {
			t.Errorf("%s: %d addresses, want %d", name, tr.ips, want)
		}
	}
}

// Where an NMI must not use cmpxchg it gets no cookie, and changes nothing.
func TestNoNMI(t *testing.T) {
	d := NewDeferred(Config{CPUs: 1, NoNMI: true})
	task, tr := d.NewTask(userTask(1)), newTracer(t, d)
	if _, c, err := d.RequestNMI(task, 0, &tr.Work); !errors.Is(err, syscall.EINVAL) || c != 0 || task.mask != 0 || task.id != 0 || d.counts[0] != 0 {
		t.Errorf("cookie %x, %v; mask %x, id %x, count %d", c, err, task.mask, task.id, d.counts[0])
	}
	if _, c, err := d.Request(task, 0, &tr.Work); err != nil || c != cookie.New(0, 3) {
		t.Errorf("cookie %x, %v", c, err)
	}
}

// The layout of January 2025 is another name for the same stays. It is the one of
// cookie=7000000000009 in that series, as cookie=300000008 is of the later one.
func TestLayouts(t *testing.T) {
	d, old := NewDeferred(Config{CPUs: 8}), NewDeferred(Config{CPUs: 8, Cookies: cookie.January2025})
	task, same := d.NewTask(userTask(1)), old.NewTask(userTask(1))
	tr, trOld := newTracer(t, d), newTracer(t, old)
	for stay := range uint64(9) {
		for range 2 {
			_, c, err := d.Request(task, 7, &tr.Work)
			_, o, errOld := old.Request(same, 7, &trOld.Work)
			cpu, count := o.January()
			if err != nil || errOld != nil || cpu != c.CPU() || count != stay+1 || c.Count() != uint32(2*stay+3) {
				t.Fatalf("stay %d: cookies %x and %x, %v, %v", stay, c, o, err, errOld)
			}
			if stay == 0 && c != 0x300000008 || stay == 8 && o != 0x7000000000009 {
				t.Errorf("stay %d: cookies %x and %x", stay, c, o)
			}
		}
		d.ReturnToUser(task)
		old.ReturnToUser(same)
	}
}

// A child has nothing of what is kept with its parent.
func TestFork(t *testing.T) {
	for name, cfg := range variants {
		cfg.CPUs = 1
		d := NewDeferred(cfg)
		parent, tr := d.NewTask(userTask(1)), newTracer(t, d)
		_, first, err := d.Request(parent, 0, &tr.Work)
		if err != nil {
			t.Fatal(err)
		}
		child := d.NewTask(userTask(2))
		if d.ReturnToUser(child); len(tr.got) != 0 {
			t.Errorf("%s: the child delivers %x", name, tr.got)
		}
		n, second, err := d.Request(child, 0, &tr.Work)
		if n != Queued || err != nil || second == first {
			t.Errorf("%s: the child: %d, cookies %x and %x, %v", name, n, second, first, err)
		}
		d.ReturnToUser(child)
		d.Exit(parent)
		if len(tr.got) != 2 || tr.got[0] != second || tr.got[1] != first {
			t.Errorf("%s: delivered %x", name, tr.got)
		}
	}
}

// A stay in which another program begins: what was before has the old program's stack, and
// what is after has another cookie, and the stack with which the new program begins. In the
// kernel all of it has the new program's.
func TestExec(t *testing.T) {
	for name, cfg := range variants {
		cfg.CPUs = 1
		d := NewDeferred(cfg)
		var got []delivery
		w := &Work{Func: func(_ *Task, stack []uint64, c cookie.ID) { got = append(got, delivery{c, slices.Clone(stack)}) }}
		if err := d.Init(w); err != nil {
			t.Fatal(err)
		}
		task := d.NewTask(userTask(1))
		d.ReturnToUser(task)
		_, before, err := d.Request(task, 0, w)
		if err != nil {
			t.Fatal(err)
		}
		old := task.Machine.User.IP
		d.Exec(task)
		task.Machine.User, task.Machine.Memory = machine.UserRegs{IP: 0x401000, SP: 0x7ff0}, words{}
		n, after, err := d.Request(task, 0, w)
		d.ReturnToUser(task)
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case cfg.ExecLate:
			if want := []delivery{{before, []uint64{0x401000}}}; n != Already || after != before || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %d, cookies %x and %x, %x", name, n, before, after, got)
			}
		case n != Queued || after == before || len(got) != 2 || got[0].cookie != before || len(got[0].stack) < 2 || got[0].stack[0] != old ||
			!reflect.DeepEqual(got[1], delivery{after, []uint64{0x401000}}):
			t.Errorf("%s: %d, cookies %x and %x, %x", name, n, before, after, got)
		}
	}
}

// delivery is what a tracer gets.
type delivery struct {
	cookie cookie.ID
	stack  []uint64
}
