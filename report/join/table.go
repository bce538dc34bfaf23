package join

import (
	"fmt"

	"ftracelab/budget"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
	"ftracelab/unwind/cookie"
)

// Frame is an address of a user stack. Where a file is mapped, Addr is the offset in that
// file, and Inode and Dev name it.
type Frame struct {
	Addr  uint64
	Inode uint64 // NoInode: no mapping; 0: no file, or not known
	Dev   uint32 // major<<20 | minor
}

// NoInode is the Inode of an address at which nothing is mapped.
const NoInode = ^uint64(0)

// InFile reports whether Addr is an offset in a file.
func (f Frame) InFile() bool { return f.Inode != 0 && f.Inode != NoInode }

// Word is the frame as one address: as it is, or for an offset in a file with a hash of
// the file above it, so that the same offset in two files gives two addresses.
func (f Frame) Word() uint64 {
	if !f.InFile() {
		return f.Addr
	}
	h := (f.Inode ^ uint64(f.Dev)<<40) * 0x9e3779b97f4a7c15
	return f.Addr&(1<<fileShift-1) | h>>42<<fileShift&^(3<<62) | 1<<62
}

const fileShift = 40

// key names a stay.
type key struct {
	task   int32
	cookie cookie.ID
}

// stay is what is known about a stay.
type stay struct {
	stack   int32  // in stacks; -1: none
	last    bool   // no later stay of the task is known
	cookies uint64 // events that wait
	time    uint64 // of the last of them; the stack comes after it
}

// task is what is known about the events of a task.
type task struct {
	events, cookies uint64
	afterExit       uint64 // events at and after its exit
	exited          bool
	user            bool  // it has come from user space
	stay            *stay // the last one with a cookie
}

// Table is what the first reading of a trace gives. It keeps each different stack once.
type Table struct {
	memory *budget.Budget

	cookieType, stackType      *event.Type
	cookieField, stackCookie   *event.Field
	addresses, inodes, devices *event.Field

	stays   map[key]*stay
	tasks   map[int32]*task
	stacks  [][]Frame
	words   [][]uint64
	same    map[uint64][]int32 // by hash
	cpus    []cpuState
	lostTo  uint64 // the latest time before which something may have been lost
	atEnd   bool   // the newest events were dropped
	given   uint64 // user_unwind_stack records
	files   map[file]string
	inFiles map[uint64]Frame // the frames in files, by their words
	held    int64
}

type cpuState struct {
	seen, overrun, lost bool
}

// NewTable returns an empty table. Its memory is taken from the budget; nil is one of the
// default size.
func NewTable(memory *budget.Budget) *Table {
	return &Table{
		memory: budget.OrDefault(memory),
		stays:  map[key]*stay{}, tasks: map[int32]*task{}, same: map[uint64][]int32{},
	}
}

// Overrun says that the oldest events of a CPU were overwritten, or with newest that the
// newest were dropped. The pages of a capture do not tell it, its statistics do. It is
// called before See.
func (t *Table) Overrun(cpu int, newest bool) {
	if newest {
		t.atEnd = true
		return
	}
	t.cpu(cpu).overrun = true
}

func (t *Table) cpu(n int) *cpuState {
	for len(t.cpus) <= n {
		t.cpus = append(t.cpus, cpuState{})
	}
	return &t.cpus[n]
}

// chunk is in which portions memory is taken.
const chunk = 1 << 20

// hold counts memory that the table keeps, and fails if there is no more.
func (t *Table) hold(n int64) error {
	if t.held -= n; t.held >= 0 {
		return nil
	}
	if err := t.memory.Take(chunk+n, "user stacks to be joined"); err != nil {
		return fmt.Errorf("join: %w", err)
	}
	t.held += chunk + n
	return nil
}

// See takes the next record of the first reading. It fails if there is no memory left.
func (t *Table) See(r *record.Record) error {
	c := t.cpu(r.CPU)
	if r.Kind == record.Lost {
		c.lost = true
		return nil
	}
	if r.Kind != record.Event {
		return nil
	}
	if c.lost || c.overrun && !c.seen {
		t.lostTo = max(t.lostTo, r.Time)
	}
	c.lost, c.seen = false, true
	if r.Type == nil {
		return t.event(r)
	}
	t.learn(r.Type)
	switch r.Type {
	case t.cookieType:
		return t.wait(r)
	case t.stackType:
		return t.keep(r)
	}
	if r.Type.System == "ftrace" {
		return nil // functions and the like never have a user stack
	}
	if r.Type.Name == "inode_cache" {
		t.noteFile(r)
	}
	return t.event(r)
}

// learn finds the two types.
func (t *Table) learn(typ *event.Type) {
	if typ == t.cookieType || typ == t.stackType || typ.System != "ftrace" {
		return
	}
	switch typ.Name {
	case "user_unwind_cookie":
		if f := typ.Field("cookie"); f != nil {
			t.cookieType, t.cookieField = typ, f
		}
	case "user_unwind_stack":
		f, list := typ.Field("cookie"), typ.Field("stack")
		if f != nil && list != nil {
			t.stackType, t.stackCookie, t.addresses = typ, f, list
			t.inodes, t.devices = typ.Field("inodes"), typ.Field("dev")
		}
	}
}

func (t *Table) task(pid int32) (*task, error) {
	k := t.tasks[pid]
	if k == nil {
		if err := t.hold(96); err != nil {
			return nil, err
		}
		k = &task{}
		t.tasks[pid] = k
	}
	return k, nil
}

// event counts an event, which may be one without a cookie.
func (t *Table) event(r *record.Record) error {
	k, err := t.task(r.Common.PID)
	if err != nil {
		return err
	}
	k.events++
	k.user = k.user || r.Type != nil && fromUser(r.Type)
	if r.Type != nil && r.Type.Name == "sched_process_exit" {
		k.exited = true
	}
	if k.exited {
		k.afterExit++
	}
	return nil
}

// fromUser reports whether an event happens only in tasks that have been in user space.
func fromUser(typ *event.Type) bool {
	return typ.System == "raw_syscalls" || typ.System == "syscalls" || typ.Name == "page_fault_user"
}

// wait notes that an event has a cookie.
func (t *Table) wait(r *record.Record) error {
	k, err := t.task(r.Common.PID)
	if err != nil {
		return err
	}
	s, err := t.stay(r, t.cookieField)
	if err != nil || s == nil {
		return err
	}
	k.cookies++
	s.cookies++
	s.time = max(s.time, r.Time)
	if k.stay != s {
		if k.stay != nil {
			k.stay.last = false
		}
		s.last, k.stay = true, s
	}
	return nil
}

// stay finds the stay that a record names; it is nil if the record is too short or its
// cookie is 0.
func (t *Table) stay(r *record.Record, f *event.Field) (*stay, error) {
	id := cookie.ID(f.Uint(r.Data))
	if len(r.Data) < f.Offset+f.Size || id == 0 {
		return nil, nil
	}
	at := key{r.Common.PID, id}
	s := t.stays[at]
	if s == nil {
		if err := t.hold(112); err != nil {
			return nil, err
		}
		s = &stay{stack: -1}
		t.stays[at] = s
	}
	return s, nil
}

// keep notes the stack of a stay. If there are two, the first is kept.
func (t *Table) keep(r *record.Record) error {
	t.given++
	s, err := t.stay(r, t.stackCookie)
	if err != nil || s == nil || s.stack >= 0 {
		return err
	}
	s.stack, err = t.intern(t.frames(r.Data))
	return err
}

// frames reads the three arrays of a record, which may have no inodes and devices.
func (t *Table) frames(data []byte) []Frame {
	ips := t.addresses.Bytes(data)
	var inodes, devs []byte
	if t.inodes != nil && t.devices != nil {
		inodes, devs = t.inodes.Bytes(data), t.devices.Bytes(data)
	}
	out := make([]Frame, len(ips)/8)
	for i := range out {
		out[i] = Frame{Addr: word(ips[8*i:], 8), Inode: NoInode}
		if len(inodes) >= 8*i+8 && len(devs) >= 4*i+4 {
			out[i].Inode, out[i].Dev = word(inodes[8*i:], 8), uint32(word(devs[4*i:], 4))
		}
	}
	return out
}

// word reads a little-endian number of n bytes.
func word(b []byte, n int) (v uint64) {
	for i := range n {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}

// intern keeps a stack once.
func (t *Table) intern(frames []Frame) (int32, error) {
	h := uint64(len(frames))
	words := make([]uint64, len(frames))
	for i, f := range frames {
		words[i] = f.Word()
		h = (h ^ words[i]) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
next:
	for _, n := range t.same[h] {
		if len(t.stacks[n]) != len(frames) {
			continue
		}
		for i, f := range t.stacks[n] {
			if f != frames[i] {
				continue next
			}
		}
		return n, nil
	}
	if err := t.hold(int64(32*len(frames)) + 96); err != nil {
		return -1, err
	}
	n := int32(len(t.stacks))
	t.stacks, t.words = append(t.stacks, frames), append(t.words, words)
	t.same[h] = append(t.same[h], n)
	for i, f := range frames {
		if _, ok := t.inFiles[words[i]]; !ok && f.InFile() {
			if err := t.hold(64); err != nil {
				return -1, err
			}
			if t.inFiles == nil {
				t.inFiles = map[uint64]Frame{}
			}
			t.inFiles[words[i]] = f
		}
	}
	return n, nil
}

// Stack gives the stack of the stay that a task's cookie names, innermost frame first. It
// belongs to the table. Unless why is [Joined], there is none. Stack is called after the
// last See.
func (t *Table) Stack(pid int32, id cookie.ID) (stack []Frame, why Reason) {
	s := t.stays[key{pid, id}]
	if s == nil {
		return nil, NoCookie
	}
	if why = t.why(pid, s); why != Joined {
		return nil, why
	}
	return t.stacks[s.stack], Joined
}

func (t *Table) why(pid int32, s *stay) Reason {
	k := t.tasks[pid]
	switch {
	case s.stack >= 0 && len(t.stacks[s.stack]) > 0:
		return Joined
	case s.stack >= 0:
		return NoFrames
	case t.atEnd || s.time < t.lostTo || t.lostAtEnd():
		return Lost
	case k != nil && k.exited && s.last:
		return Exited
	case s.last:
		return Inside
	}
	return Missing
}

// lostAtEnd reports whether the trace ends with a loss.
func (t *Table) lostAtEnd() bool {
	for _, c := range t.cpus {
		if c.lost {
			return true
		}
	}
	return false
}

// Counts returns what became of the events. It is called after the last See.
func (t *Table) Counts() Counts {
	c := Counts{Stacks: t.given}
	for k, s := range t.stays {
		c.Cookies += s.cookies
		c.Events[t.why(k.task, s)] += s.cookies
	}
	for _, k := range t.tasks {
		without := k.events - min(k.events, k.cookies)
		ended := min(without, k.afterExit)
		c.Events[Exited] += ended
		switch {
		case k.cookies > 0:
			c.Events[NoCookie] += without - ended
		case k.user:
			c.Events[Refused] += without - ended
		default:
			c.Events[KernelThread] += without - ended
		}
	}
	return c
}
