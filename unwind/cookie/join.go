package cookie

// Join gives user stacks to the events that asked for them. The caller feeds it
// the records of all CPUs in the order of time, because a task may be on
// another CPU when it returns to user space than when the event happened.
//
// Only the cookie decides. If events were lost, the records of a return to user
// space and of the next entry may be among them; then the next stack of the same
// task belongs to another stay, and events from before the loss have none.
//
// Kernel: the rule of perf, __callchain_deferred in tools/perf/util/session.c.
type Join[T any] struct {
	// Deliver gets each event once: with its stack, which is valid during the
	// call, or without a stack and with found false. Events of one task come in
	// the order of Add.
	Deliver func(event T, stack []uint64, found bool)
	// Limit is how many events may wait; the oldest is delivered without its
	// stack when there are more. 0 is 65536.
	Limit int

	waiting []waiting[T]
	perTask map[int32]int // how many of them
}

type waiting[T any] struct {
	task   int32
	cookie ID
	event  T
}

// Add lets an event wait for the stack that cookie names. An event with cookie
// 0 waits for no stack and is delivered after the events of its task that do.
func (j *Join[T]) Add(task int32, cookie ID, event T) {
	limit := j.Limit
	if limit <= 0 {
		limit = 1 << 16
	}
	if cookie == 0 && j.perTask[task] == 0 {
		j.Deliver(event, nil, false)
		return
	}
	if len(j.waiting) >= limit {
		j.dropOldest()
	}
	if j.perTask == nil {
		j.perTask = make(map[int32]int)
	}
	j.perTask[task]++
	j.waiting = append(j.waiting, waiting[T]{task, cookie, event})
}

func (j *Join[T]) dropOldest() {
	w := j.waiting[0]
	j.waiting[0] = waiting[T]{}
	j.waiting = j.waiting[1:]
	if j.perTask[w.task]--; j.perTask[w.task] == 0 {
		delete(j.perTask, w.task)
	}
	j.Deliver(w.event, nil, false)
}

// Stack delivers the waiting events of task: those with this cookie get the
// stack, and the others get none.
func (j *Join[T]) Stack(task int32, cookie ID, stack []uint64) {
	if j.perTask[task] == 0 {
		return
	}
	delete(j.perTask, task)
	kept := j.waiting[:0]
	for _, w := range j.waiting {
		switch {
		case w.task != task:
			kept = append(kept, w)
		case cookie != 0 && w.cookie == cookie:
			j.Deliver(w.event, stack, true)
		default:
			j.Deliver(w.event, nil, false)
		}
	}
	clear(j.waiting[len(kept):])
	j.waiting = kept
}

// Waiting is the number of events that wait.
func (j *Join[T]) Waiting() int { return len(j.waiting) }

// Flush delivers the events that still wait, without stacks.
func (j *Join[T]) Flush() {
	for _, w := range j.waiting {
		j.Deliver(w.event, nil, false)
	}
	clear(j.waiting)
	clear(j.perTask)
	j.waiting = j.waiting[:0]
}
