package capture

import (
	"fmt"

	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// sampleSize is the size of a sample's record in bytes: the common header, an address
// and the period. No event of ftrace looks like that.
const sampleSize = event.CommonSize + 16

// samples makes the records of a sample: an event, then its kernel stack and its user
// stack if there are any. Each name of an event gets a type of its own.
type samples struct {
	b      *base
	system string
	byName map[string]*event.Type
	name   string // the one of the last sample
	typ    *event.Type
	data   [sampleSize]byte

	rec          record.Record // the record of the event; those of the stacks are made from it
	kernel, user []uint64      // stacks that were not given yet
}

func newSamples(b *base, system string) *samples {
	return &samples{b: b, system: system, byName: map[string]*event.Type{}}
}

// start makes r the event of a sample.
func (s *samples) start(r *record.Record, name string, cpu int, tid int32, time, period uint64, kernel, user []uint64) error {
	if name != s.name || s.typ == nil {
		if err := s.named(name); err != nil {
			return err
		}
	}
	ip := uint64(0)
	if len(kernel) > 0 {
		ip = kernel[0]
	} else if len(user) > 0 {
		ip = user[0]
	}
	s.rec = record.Record{CPU: cpu, Time: time, Common: event.Common{Type: uint16(s.typ.ID), PID: tid}}
	s.rec.Common.Put(s.data[:])
	putWord(s.data[event.CommonSize:], ip)
	putWord(s.data[event.CommonSize+8:], period)
	s.kernel, s.user = kernel, user
	*r = s.rec
	r.Type, r.Data = s.typ, s.data[:]
	return nil
}

// stack makes r the next stack of the sample.
func (s *samples) stack(r *record.Record) bool {
	switch {
	case len(s.kernel) > 0:
		*r = s.rec
		r.Kind, r.Stack, r.Common.Type = record.KernelStack, s.kernel, 0
		s.kernel = nil
	case len(s.user) > 0:
		*r = s.rec
		r.Kind, r.Stack, r.Common.Type = record.UserStack, s.user, 0
		s.user = nil
	default:
		return false
	}
	return true
}

// named makes the type for samples of that name the current one.
func (s *samples) named(name string) error {
	t := s.byName[name]
	if t == nil {
		var err error
		t, err = s.b.types.synthetic(s.system, name, word64("ip", 8), word64("period", 16))
		if err != nil {
			return err
		}
		s.byName[name] = t
	}
	s.name, s.typ = name, t
	return nil
}

func sizeCaveat() string {
	return fmt.Sprintf("samples are no ftrace events: the record of each is taken for %d bytes; "+
		"most events of Linux have 16 to 80", sampleSize)
}
