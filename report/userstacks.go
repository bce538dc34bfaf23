package report

import (
	"ftracelab/report/join"
	"ftracelab/report/userstacks"
	"ftracelab/tracer/record"
)

// UserStacks says what each way to record the user stacks of the trace takes.
type UserStacks struct {
	Basis   Basis            `json:"basis"`
	Designs []userstacks.Row `json:"designs"`
	Law     userstacks.Law   `json:"law"`
	// Sentence is what the law says about this trace.
	Sentence string `json:"sentence"`
	// Joined says in words what became of stacks that were unwound later; empty: the trace
	// has none.
	Joined string `json:"joined,omitempty"`
}

// userAccount adds up the user stacks of a trace.
type userAccount struct {
	account *userstacks.Account
	last    []lastEvent // by CPU
	stacks  uint64
	stack   record.Stack
}

// lastEvent is what a user stack takes from its event.
type lastEvent struct{ newEntry, call bool }

func newUserAccount() *userAccount { return &userAccount{account: userstacks.New()} }

func (a *userAccount) consume(b *batch) error {
	for i := range b.records {
		r := &b.records[i]
		for len(a.last) <= r.CPU {
			a.last = append(a.last, lastEvent{})
		}
		switch r.Kind {
		case record.Event:
			a.last[r.CPU] = lastEvent{r.NewEntry, r.Call}
		case record.UserStack:
			a.stacks++
			a.stack = stackOf(r)
			a.stack.NewEntry, a.stack.Call = a.last[r.CPU].newEntry, a.last[r.CPU].call
			a.account.Add(&a.stack)
		}
	}
	return nil
}

// report is nil if the trace has no user stacks.
func (a *userAccount) report(joined *join.Counts) *UserStacks {
	if a.stacks == 0 {
		return nil
	}
	u := &UserStacks{Basis: Assumed}
	if joined != nil {
		a.account.Without(joined.Without())
		u.Joined = joined.String()
	}
	u.Designs, u.Law = a.account.Rows(), a.account.Law()
	u.Sentence = u.Law.Sentence()
	return u
}
