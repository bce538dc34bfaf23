package join

import (
	"ftracelab/tracer/record"
	"ftracelab/unwind/cookie"
)

// IsCookie reports whether a record is a cookie, which stands for a stack.
func (t *Table) IsCookie(r *record.Record) bool {
	t.learn(r.Type)
	return r.Type == t.cookieType
}

// IsStack reports whether a record is a stack that was unwound later.
func (t *Table) IsStack(r *record.Record) bool {
	t.learn(r.Type)
	return r.Type == t.stackType
}

// Joined is Stack for a record that is a cookie.
func (t *Table) Joined(r *record.Record) (stack []Frame, why Reason) {
	return t.Stack(r.Common.PID, cookie.ID(t.cookieField.Uint(r.Data)))
}

// source is the second reading.
type source struct {
	src record.Source
	t   *Table
}

// Source returns the records of src, which are those that t has seen, with a user stack in
// the place of each cookie that can be joined. The other cookies, and the records of the
// stacks, are left out. The stacks belong to t.
func (t *Table) Source(src record.Source) record.Source { return &source{src, t} }

func (s *source) Next(r *record.Record) error {
	for {
		if err := s.src.Next(r); err != nil {
			return err
		}
		if r.Kind != record.Event || r.Type == nil || r.Type.System != "ftrace" {
			return nil
		}
		s.t.learn(r.Type) // a source may make its types anew
		switch r.Type {
		case s.t.cookieType:
			if s.join(r) {
				return nil
			}
		case s.t.stackType:
		default:
			return nil
		}
	}
}

// join turns a cookie into its stack.
func (s *source) join(r *record.Record) bool {
	id := cookie.ID(s.t.cookieField.Uint(r.Data))
	st := s.t.stays[key{r.Common.PID, id}]
	if st == nil || s.t.why(r.Common.PID, st) != Joined {
		return false
	}
	r.Kind, r.Type, r.Data = record.UserStack, nil, nil
	r.Stack, r.Stay = s.t.words[st.stack], uint64(id)
	return true
}

// Caveats are those of the trace, see report.Caveater.
func (s *source) Caveats() []string {
	if of, ok := s.src.(interface{ Caveats() []string }); ok {
		return of.Caveats()
	}
	return nil
}

// NamesCPUs is that of the trace, see report.CPUNamer.
func (s *source) NamesCPUs() bool {
	of, ok := s.src.(interface{ NamesCPUs() bool })
	return !ok || of.NamesCPUs()
}

// Condition is that of the trace, see report.Conditioner.
func (s *source) Condition() string {
	if of, ok := s.src.(interface{ Condition() string }); ok {
		return of.Condition()
	}
	return ""
}
