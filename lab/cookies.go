package lab

import (
	"fmt"
	"slices"

	"ftracelab/machine"
	"ftracelab/unwind"
	"ftracelab/unwind/cookie"
)

// StayState is a task that goes into the kernel and comes back, with what is recorded
// meanwhile.
type StayState struct {
	Happened []Happening
	Task     string // what the kernel keeps with the task
	Lost     int    // records of stacks for which there was no room
}

// A Happening is a row of the time line.
type Happening struct {
	Time   uint64
	CPU    int
	Task   int // its PID
	Kind   HappeningKind
	What   string
	Cookie cookie.ID // of an event or a stack; 0: none
	Stack  []uint64  // of a stack, and of an event whose stack has come
	Joined Joined    // of an event
}

// A HappeningKind says where a Happening belongs.
type HappeningKind string

// The kinds of happenings. Events and stacks are records of the trace.
const (
	InUser   HappeningKind = "user"   // the task runs in user space
	InKernel HappeningKind = "kernel" // it comes into the kernel, or moves there
	AnEvent  HappeningKind = "event"
	InNMI    HappeningKind = "nmi" // an event of an NMI
	AStack   HappeningKind = "stack"
)

// Joined says whether an event has got its user stack.
type Joined string

// What can become of an event.
const (
	Waits   Joined = "waits"    // for its stack
	Found   Joined = "found"    // the stack has come
	NoStack Joined = "no stack" // it has no cookie, or the stack will never come
)

// userStack is a user stack with frame pointers: the addresses of its functions.
type userStack map[uint64]uint64

func (s userStack) Load(addr uint64) (word uint64, ok bool) { word, ok = s[addr]; return }

// program makes the user side of a task with the functions main, read_all and read.
func program(t *machine.Task) {
	const sp = 0x7ffd_0000
	t.User = machine.UserRegs{IP: 0x401016, SP: sp, FP: sp}
	t.Memory = userStack{sp: sp + 32, sp + 8: 0x401120, sp + 32: 0, sp + 40: 0x401250}
}

var userNames = map[uint64]string{0x401016: "read", 0x401120: "read_all", 0x401250: "main"}

// stay plays the scenario cookies.
type stay struct {
	*player
	d        *unwind.Deferred
	work     *unwind.Work
	task     *unwind.Task
	cpu      int
	kernel   bool // the task is in the kernel, so that NMIs and migrations can come
	nmi      bool
	lose     bool // the next record of a stack finds no room
	lost     int
	time     uint64
	happened []Happening
}

const requestStack = "unwind_deferred_request"

var (
	sayEntry = sentence{
		"The task comes into the kernel. What it does there from now on is one stay. Its user stack does not change until it goes back, so one copy of it will do for all events.", "syscall_enter_from_user_mode",
	}
	sayCookie = sentence{
		"This is the first event of the stay that wants the user stack. The stay gets a cookie, made of a count and the CPU, and a walk is queued for the way back. The event takes 8 bytes of cookie with it, and no stack.", requestStack,
	}
	sayAgain = sentence{
		"The stay has a cookie already, and the walk is queued. The event takes the same cookie with it, and nothing else is to be done.", requestStack,
	}
	sayNMIAsks = sentence{
		"An NMI interrupts the task. It cannot read user memory, which may be swapped out. But asking is allowed in every context: its event gets the cookie of the stay.", requestStack,
	}
	sayMigrate = sentence{
		"The task sleeps and wakes up on the other CPU. Its stay goes on, and so the cookie stays the same, though the CPU in it is the one that made it. What comes now is in the ring of another CPU.", "set_task_cpu",
	}
	sayBack = sentence{
		"On the way back the user stack is walked, once for all events of the stay, where faults are allowed. It is recorded with the cookie. Then the cookie is forgotten: the next stay gets another one.", "unwind_deferred_task_work",
	}
	sayBackAlone = sentence{"Nobody has asked for the user stack in this stay, so there is nothing to do on the way back.", "unwind_reset_info"}
	sayBackLost  = sentence{
		"The stack was walked, but the ring had no room for its record. Its events have a cookie that no stack will ever have. A reader notices that when the next stack of this task comes with another cookie.", "unwind_deferred_task_work",
	}
	sayExit = sentence{
		"The task exits. It will not go back to user space, so a stack that was asked for is walked now, while the memory of the program still exists.", "unwind_deferred_task_exit",
	}
	sayGone = sentence{
		"The task is exiting and has no user memory any more. The request is refused, so the event has no cookie and will have no stack.", requestStack,
	}
	sayThread = sentence{"A kernel thread has no user stack. The request is refused, and the event has no cookie.", requestStack}
)

// cookies lets a task go into the kernel a few times, with events on the way.
func (p *player) cookies() {
	s := &stay{player: p, d: unwind.NewDeferred(unwind.Config{CPUs: 2}), time: 1000}
	s.work = &unwind.Work{Func: func(_ *unwind.Task, stack []uint64, id cookie.ID) {
		if s.lose {
			s.lose = false
			s.lost++
			return
		}
		s.note(Happening{Kind: AStack, What: "user stack", Cookie: id, Stack: slices.Clone(stack)})
	}}
	if p.err = s.d.Init(s.work); p.err != nil {
		return
	}
	t := &machine.Task{PID: 100, TGID: 100, Comm: "cat"}
	program(t)
	s.task = s.d.NewTask(t)
	p.values = map[string]func() uint64{
		"lost":    func() uint64 { return uint64(s.lost) },
		"records": func() uint64 { return uint64(len(s.happened)) },
	}
	p.copy, p.can, p.do = s.moment, s.acts, s.act
	s.note(Happening{Kind: InUser, What: "cat runs"})
	p.begin("The task cat runs in user space on cpu 0. Two events of the kernel are on, and the options userstacktrace and userstacktrace_delay: each event wants the user stack, but takes only a cookie.")

	s.enter("read()")
	s.event("kmem_cache_alloc")
	s.event("sched_waking")
	s.back()

	s.enter("read()")
	s.event("kmem_cache_alloc")
	s.migrate()
	s.event("sched_waking")
	s.back()

	s.enter("read()")
	s.event("kmem_cache_alloc")
	s.lose = true
	s.back()
	s.enter("read()")
	s.event("kmem_cache_alloc")
	s.back()

	s.enter("exit()")
	s.event("kmem_cache_free")
	s.exit()
	s.event("sched_process_exit")
	s.kernel = false
	kworker := s.d.NewTask(&machine.Task{PID: 7, Comm: "kworker/0:1", Kernel: true})
	s.request(kworker, AnEvent, "workqueue_execute_start of kworker", "kworker", "", sayThread)
}

func (s *stay) moment(m *Moment) {
	m.Stay = &StayState{Happened: joined(s.happened), Lost: s.lost, Task: string(s.task.AppendState(nil))}
}

func (s *stay) acts() []Act {
	if !s.kernel || s.nmi {
		return nil
	}
	return []Act{NMI, Migrate}
}

func (s *stay) act(a Act) {
	if a == Migrate {
		s.migrate()
		return
	}
	s.nmi = true
	s.request(s.task, InNMI, "event of an NMI", "nmi", " in an NMI", sayNMIAsks)
	s.nmi = false
}

func (s *stay) note(h Happening) {
	s.time += 100
	h.Time, h.CPU = s.time, s.cpu
	if h.Task == 0 {
		h.Task = s.task.Machine.PID
	}
	s.happened = append(s.happened, h)
}

func (s *stay) enter(call string) {
	if s.err != nil {
		return
	}
	s.kernel = true
	s.note(Happening{Kind: InKernel, What: call})
	s.step("task", "comes into the kernel: "+call, 0, sayEntry)
}

func (s *stay) event(name string) {
	s.request(s.task, AnEvent, name, "task", "", sayAgain)
}

func (s *stay) request(t *unwind.Task, kind HappeningKind, name, who, where string, say sentence) {
	if s.err != nil {
		return
	}
	result, id, err := s.d.Request(t, s.cpu, s.work)
	s.note(Happening{Task: t.Machine.PID, Kind: kind, What: name, Cookie: id})
	what, k := fmt.Sprintf("records %s with cookie %s%s", name, cookieText(id), where), Kind(0)
	switch {
	case err != nil:
		what = fmt.Sprintf("records %s without a cookie%s", name, where)
		if t.Exiting {
			say = sayGone
		}
	case result == unwind.Queued:
		k = Cookie
		if kind == AnEvent {
			say = sayCookie
		}
	}
	if kind == InNMI {
		k |= Nested
	}
	s.step(who, what, k, say)
}

func (s *stay) migrate() {
	if s.err != nil {
		return
	}
	s.cpu = 1 - s.cpu
	s.note(Happening{Kind: InKernel, What: "goes on here"})
	s.step("task", fmt.Sprintf("moves to cpu %d", s.cpu), 0, sayMigrate)
}

func (s *stay) back() {
	if s.err != nil {
		return
	}
	s.kernel = false
	records, lost := len(s.happened), s.lost
	s.d.ReturnToUser(s.task)
	recorded := len(s.happened) > records
	s.note(Happening{Kind: InUser, What: "cat runs"})
	switch {
	case recorded:
		s.step("task", "returns to user space, and its stack is recorded", Join, sayBack)
	case s.lost > lost:
		s.step("task", "returns to user space, and the record of its stack is lost", Lost, sayBackLost)
	default:
		s.step("task", "returns to user space", 0, sayBackAlone)
	}
}

func (s *stay) exit() {
	if s.err != nil {
		return
	}
	s.d.Exit(s.task)
	s.step("task", "exits, and its stack is recorded", Join, sayExit)
}

// joined are the happenings with what a reader makes of them: each event with its stack,
// once that has come.
func joined(happened []Happening) []Happening {
	happened = slices.Clone(happened)
	j := cookie.Join[int]{Deliver: func(i int, stack []uint64, found bool) {
		happened[i].Joined = NoStack
		if found {
			happened[i].Joined, happened[i].Stack = Found, slices.Clone(stack)
		}
	}}
	for i := range happened {
		switch h := &happened[i]; h.Kind {
		case AnEvent, InNMI:
			h.Joined = Waits
			j.Add(int32(h.Task), h.Cookie, i)
		case AStack:
			j.Stack(int32(h.Task), h.Cookie, h.Stack)
		}
	}
	return happened
}

// cookieText is a cookie as its count and the CPU that made it.
func cookieText(id cookie.ID) string {
	if id == 0 {
		return "none"
	}
	return fmt.Sprintf("%d/cpu%d", id.Count(), id.CPU())
}
