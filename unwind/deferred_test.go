package unwind

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/unwind/cookie"
	"ftracelab/unwind/user"

	"pgregory.net/rapid"
)

// words is a user stack.
type words map[uint64]uint64

func (w words) Load(addr uint64) (uint64, bool) {
	v, ok := w[addr]
	return v, ok
}

func userTask(pid int) *machine.Task {
	return &machine.Task{
		PID: pid, User: machine.UserRegs{IP: 0x3fffff, SP: 0x6ff0, FP: 0x7000},
		Memory: words{0x7000: 0x7040, 0x7008: 0x400000, 0x7040: 0, 0x7048: 0x400001},
	}
}

// tracer counts what its work was given.
type tracer struct {
	Work
	got []cookie.ID
	ips int
}

func newTracer(t testing.TB, d *Deferred) *tracer {
	tr := &tracer{}
	tr.Func = func(_ *Task, stack []uint64, c cookie.ID) {
		tr.got = append(tr.got, c)
		tr.ips = len(stack)
	}
	if err := d.Init(&tr.Work); err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestCookies(t *testing.T) {
	d := NewDeferred(Config{CPUs: 8})
	task, tr := d.NewTask(userTask(1)), newTracer(t, d)
	for _, want := range []uint64{0x3_0000_0008, 0x5_0000_0008, 0x7_0000_0008} {
		_, c, err := d.Request(task, 7, &tr.Work)
		if err != nil || uint64(c) != want || c.CPU() != 7 {
			t.Fatalf("cookie %#x (%v), want %#x", c, err, want)
		}
		d.ReturnToUser(task)
	}
	if c := cookie.New(7, 3); c.BigEndian() != 0x8_0000_0003 {
		t.Errorf("big endian %#x", c.BigEndian())
	}
	d.counts[0] = 0xffffffff
	if _, c, _ := d.Request(task, 0, &tr.Work); c.Count() != 1 {
		t.Errorf("count %d after the wrap", c.Count())
	}
}

func TestRequest(t *testing.T) {
	d := NewDeferred(Config{CPUs: 2})
	task := d.NewTask(userTask(1))
	a, b := newTracer(t, d), newTracer(t, d)
	ask := func(tr *tracer, want int) cookie.ID {
		t.Helper()
		got, c, err := d.Request(task, 0, &tr.Work)
		if err != nil || got != want {
			t.Fatalf("answer %d, %v; want %d", got, err, want)
		}
		return c
	}
	first := ask(a, Queued)
	ask(a, Already)
	if c := ask(b, Queued); c != first {
		t.Errorf("cookies %#x and %#x in one stay", first, c)
	}
	d.ReturnToUser(task)
	if len(a.got) != 1 || len(b.got) != 1 || a.ips != 3 || task.walks.Total() != 1 {
		t.Errorf("%d and %d callbacks, %d entries, %d walks", len(a.got), len(b.got), a.ips, task.walks.Total())
	}
	if c := ask(a, Queued); c == first {
		t.Error("the same cookie in the next stay")
	}
}

// TestLateRequest asks for a second tracer after the first has been served and
// before the task has left: the stack comes from the cache.
func TestLateRequest(t *testing.T) {
	d := NewDeferred(Config{CPUs: 1})
	task := d.NewTask(userTask(1))
	b := newTracer(t, d)
	a := &Work{}
	a.Func = func(*Task, []uint64, cookie.ID) {
		if got, _, _ := d.Request(task, 0, &b.Work); got != Queued {
			t.Errorf("answer %d", got)
		}
		if got, _, _ := d.Request(task, 0, a); got != Already {
			t.Errorf("answer %d to a tracer that is being served", got)
		}
	}
	if err := d.Init(a); err != nil {
		t.Fatal(err)
	}
	_, cookie, _ := d.Request(task, 0, a)
	d.ReturnToUser(task)
	if len(b.got) != 1 || b.got[0] != cookie || task.walks.Total() != 1 || b.ips != 3 {
		t.Errorf("got %x after %d walks", b.got, task.walks.Total())
	}
}

func TestRefused(t *testing.T) {
	d := NewDeferred(Config{CPUs: 1})
	tr := newTracer(t, d)
	kernel := d.NewTask(&machine.Task{PID: 2, Kernel: true})
	exiting := d.NewTask(userTask(3))
	d.Exit(exiting)
	cancelled := newTracer(t, d)
	for _, w := range []*Work{&cancelled.Work, &cancelled.Work, nil} {
		if err := d.Cancel(w); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		task *Task
		work *Work
	}{
		{"kernel thread", kernel, &tr.Work},
		{"exiting", exiting, &tr.Work},
		{"cancelled", d.NewTask(userTask(4)), &cancelled.Work},
	} {
		if _, cookie, err := d.Request(c.task, 0, c.work); !errors.Is(err, syscall.EINVAL) || cookie != 0 {
			t.Errorf("%s: cookie %#x, %v", c.name, cookie, err)
		}
	}
	for range d.cfg.MaxWorks() - 1 {
		newTracer(t, d)
	}
	if err := d.Init(&Work{Func: tr.Func}); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("too many works: %v", err)
	}
}

// TestUnreadable still calls back when the stack cannot be read.
func TestUnreadable(t *testing.T) {
	d := NewDeferred(Config{CPUs: 1})
	tr := newTracer(t, d)
	task := d.NewTask(&machine.Task{PID: 1})
	d.Request(task, 0, &tr.Work)
	d.ReturnToUser(task)
	if len(tr.got) != 1 || tr.ips != 0 {
		t.Errorf("%d callbacks with %d entries", len(tr.got), tr.ips)
	}
}

// TestNMI has a request by an NMI arrive at each point of another one, on a
// stay's first request and on a later one: same cookie, one callback each.
func TestNMI(t *testing.T) {
	for at := pointCookieChecked; at <= pointMaskSet; at++ {
		for _, same := range []bool{true, false} {
			t.Run(fmt.Sprintf("point %d, same work %v", at, same), func(t *testing.T) {
				d := NewDeferred(Config{CPUs: 4})
				task := d.NewTask(userTask(1))
				a, b := newTracer(t, d), newTracer(t, d)
				nmi := &b.Work
				if same {
					nmi = &a.Work
				}
				var inner cookie.ID
				queued := 0
				d.at = func(p point) {
					if p != at {
						return
					}
					d.at = nil
					var n int
					if n, inner, _ = d.Request(task, 2, nmi); n == Queued {
						queued++
					}
				}
				n, outer, _ := d.Request(task, 2, &a.Work)
				if n == Queued {
					queued++
				}
				if inner != outer || outer == 0 {
					t.Fatalf("cookies %#x and %#x", outer, inner)
				}
				d.ReturnToUser(task)
				if got := len(a.got) + len(b.got); got != queued {
					t.Errorf("%d callbacks, %d requests answered with Queued", got, queued)
				}
				want := 2
				if same {
					want = 1
				}
				if queued != want {
					t.Errorf("%d requests answered with Queued, want %d", queued, want)
				}
				if _, next, _ := d.Request(task, 2, &a.Work); next.Count() != outer.Count()+2 {
					t.Errorf("count %d after %d", next.Count(), outer.Count())
				}
			})
		}
	}
}

func TestRequestNoAllocs(t *testing.T) {
	d := NewDeferred(Config{CPUs: 1})
	task, tr := d.NewTask(userTask(1)), newTracer(t, d)
	tr.Func = func(*Task, []uint64, cookie.ID) {}
	d.Request(task, 0, &tr.Work)
	d.ReturnToUser(task)
	if n := testing.AllocsPerRun(100, func() {
		d.Request(task, 0, &tr.Work)
		d.ReturnToUser(task)
	}); n != 0 {
		t.Errorf("%v allocations per stay", n)
	}
	kernel := d.NewTask(&machine.Task{Kernel: true})
	if n := testing.AllocsPerRun(100, func() { d.Request(kernel, 0, &tr.Work) }); n != 0 {
		t.Errorf("%v allocations per refused request", n)
	}
}

// TestCancelInside: a callback cannot cancel a work, not even its own, and all of them go on.
func TestCancelInside(t *testing.T) {
	d := NewDeferred(Config{CPUs: 1})
	task := d.NewTask(userTask(1))
	first, last := newTracer(t, d), newTracer(t, d) // the newest is called first
	called := 0
	last.Func = func(*Task, []uint64, cookie.ID) {
		called++
		for _, w := range []*Work{&first.Work, &last.Work} {
			if err := d.Cancel(w); !errors.Is(err, syscall.EDEADLK) {
				t.Errorf("cancelled in a callback: %v", err)
			}
		}
	}
	for stay := range 2 {
		for _, tr := range []*tracer{first, last} {
			if n, _, err := d.Request(task, 0, &tr.Work); n != Queued || err != nil {
				t.Fatal(n, err)
			}
		}
		d.ReturnToUser(task)
		if called != stay+1 || len(first.got) != stay+1 {
			t.Fatalf("stay %d: %d and %d callbacks", stay, called, len(first.got))
		}
	}
	if err := d.Cancel(&last.Work); err != nil {
		t.Error(err)
	}
}

// TestCancelledBit: a work that gets the bit of one that was cancelled in the same stay has
// had nothing of that stay yet.
func TestCancelledBit(t *testing.T) {
	d := NewDeferred(Config{CPUs: 1})
	task := d.NewTask(userTask(1))
	old := newTracer(t, d)
	if _, _, err := d.Request(task, 0, &old.Work); err != nil {
		t.Fatal(err)
	}
	task.queued = false
	d.process(task) // the task work runs, and the stay goes on
	if err := d.Cancel(&old.Work); err != nil || len(old.got) != 1 {
		t.Fatal(err, old.got)
	}
	young := newTracer(t, d)
	if n, _, err := d.Request(task, 0, &young.Work); n != Queued || err != nil {
		t.Fatal(n, err)
	}
	d.ReturnToUser(task)
	if len(young.got) != 1 || young.got[0] != old.got[0] {
		t.Errorf("%v, want the cookie of %v", young.got, old.got)
	}
}

// TestDeferredModel plays requests, returns, exits and cancellations on several
// tasks and CPUs and checks what the callbacks may and must be.
func TestDeferredModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := variants[rapid.SampledFrom(slices.Sorted(maps.Keys(variants))).Draw(t, "variant")]
		cfg.CPUs = 3
		d := NewDeferred(cfg)
		type stay struct {
			cookie cookie.ID
			owed   map[*tracer]bool // answered with Queued, not called yet
			asked  map[*tracer]bool
		}
		seen := map[cookie.ID]int{} // which stay used it
		stays := 0
		var tasks []*Task
		open := map[*Task]*stay{}
		var tracers []*tracer
		newTask := func() {
			task := d.NewTask(userTask(len(tasks)))
			task.Machine.Compat = len(tasks)%3 == 2
			tasks = append(tasks, task)
			open[task] = &stay{owed: map[*tracer]bool{}, asked: map[*tracer]bool{}}
		}
		newTask()
		pick := func(t *rapid.T) *Task { return tasks[rapid.IntRange(0, len(tasks)-1).Draw(t, "task")] }
		finish := func(t *rapid.T, task *Task, leave func()) {
			s := open[task]
			before := map[*tracer]int{}
			for _, tr := range tracers {
				before[tr] = len(tr.got)
			}
			leave()
			for _, tr := range tracers {
				want := 0
				if s.owed[tr] {
					want = 1
				}
				if n := len(tr.got) - before[tr]; n != want {
					t.Fatalf("%d callbacks, want %d", n, want)
				}
				if want == 1 && tr.got[len(tr.got)-1] != s.cookie {
					t.Fatalf("callback with cookie %#x, want %#x", tr.got[len(tr.got)-1], s.cookie)
				}
			}
			stays++
			open[task] = &stay{owed: map[*tracer]bool{}, asked: map[*tracer]bool{}}
		}
		t.Repeat(map[string]func(*rapid.T){
			"init": func(t *rapid.T) {
				if len(tracers) < 5 {
					tr := &tracer{}
					tr.Func = func(_ *Task, _ []uint64, c cookie.ID) { tr.got = append(tr.got, c) }
					if err := d.Init(&tr.Work); err != nil {
						t.Fatal(err)
					}
					tracers = append(tracers, tr)
				}
			},
			"cancel": func(t *rapid.T) {
				if len(tracers) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(tracers)-1).Draw(t, "tracer")
				if err := d.Cancel(&tracers[i].Work); err != nil {
					t.Fatal(err)
				}
				tracers[i].Func = func(*Task, []uint64, cookie.ID) { t.Fatal("callback after cancel") }
				tracers = append(tracers[:i:i], tracers[i+1:]...)
			},
			"fork": func(*rapid.T) { newTask() },
			"request": func(t *rapid.T) {
				if len(tracers) == 0 {
					t.Skip()
				}
				task := pick(t)
				tr := tracers[rapid.IntRange(0, len(tracers)-1).Draw(t, "tracer")]
				request, nmi := d.Request, rapid.Bool().Draw(t, "in an NMI")
				if nmi {
					request = d.RequestNMI
				}
				n, c, err := request(task, rapid.IntRange(0, 2).Draw(t, "cpu"), &tr.Work)
				s := open[task]
				switch {
				case task.Exiting || nmi && cfg.NoNMI || task.Machine.Compat && !cfg.WalkCompat && !cfg.Word32:
					if err == nil || c != 0 {
						t.Fatalf("answered %d with cookie %#x; exiting %v", n, c, task.Exiting)
					}
					return
				case err != nil:
					t.Fatal(err)
				case s.cookie == 0:
					if _, used := seen[c]; used {
						t.Fatalf("cookie %#x was used before", c)
					}
					seen[c], s.cookie = stays, c
				case c != s.cookie:
					t.Fatalf("cookies %#x and %#x in one stay", s.cookie, c)
				}
				if want := s.asked[tr]; (n == Already) != want {
					t.Fatalf("answer %d, asked before: %v", n, want)
				}
				s.asked[tr], s.owed[tr] = true, true
			},
			"return": func(t *rapid.T) {
				task := pick(t)
				finish(t, task, func() { d.ReturnToUser(task) })
			},
			"exit": func(t *rapid.T) {
				task := pick(t)
				if task.Exiting {
					t.Skip()
				}
				finish(t, task, func() { d.Exit(task) })
			},
		})
	})
}

// What is kept with a task ends with what its last walk found, and why it stopped.
func TestStateSaysWhyTheWalkStopped(t *testing.T) {
	d := NewDeferred(Config{CPUs: 1})
	tr := newTracer(t, d)
	whole, torn := d.NewTask(userTask(1)), d.NewTask(userTask(2))
	torn.Machine.Memory = words{0x7000: 0x7040, 0x7008: 0x400000}
	for _, c := range []struct {
		task *Task
		want string
	}{
		{whole, "mask 0x0, completed 0x0, cookie 0, walk not queued; 1 walk: 1 outermost frame; the last one: 3 addresses, outermost frame\n"},
		{torn, "mask 0x0, completed 0x0, cookie 0, walk not queued; 1 walk: 1 fault; the last one: 2 addresses, fault\n"},
	} {
		if got, want := string(c.task.AppendState(nil)), "mask 0x0, completed 0x0, cookie 0, walk not queued\n"; got != want {
			t.Errorf("before: %q, want %q", got, want)
		}
		if _, _, err := d.Request(c.task, 0, &tr.Work); err != nil {
			t.Fatal(err)
		}
		d.ReturnToUser(c.task)
		if got := string(c.task.AppendState(nil)); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// swapped is a stack that has to be paged in before it can be read.
type swapped struct {
	words
	out bool
}

func (s *swapped) Load(addr uint64) (uint64, bool) {
	if s.out {
		return 0, false
	}
	return s.words.Load(addr)
}

func (s *swapped) PageIn() { s.out = false }

// A stack that is swapped out can be walked later, on the way back to user space, and not
// where the event happens.
func TestSwappedOut(t *testing.T) {
	d := NewDeferred(Config{CPUs: 1})
	tr, task := newTracer(t, d), d.NewTask(userTask(1))
	memory := &swapped{task.Machine.Memory.(words), true}
	task.Machine.Memory = memory
	if _, _, err := d.Request(task, 0, &tr.Work); err != nil {
		t.Fatal(err)
	}
	var w user.Walker
	if got, stop := w.Walk(nil, user.Regs{UserRegs: task.Machine.User}, memory, 10); len(got) != 1 || stop != user.Fault {
		t.Errorf("at the event: %x, %v", got, stop)
	}
	if d.ReturnToUser(task); tr.ips != 3 {
		t.Errorf("later: %d addresses", tr.ips)
	}
}
