package timeline

import (
	"errors"
	"fmt"
	"io"

	"ftracelab/capture"
	"ftracelab/tracer/record"
	"ftracelab/tracer/tracedat"
)

// source is a buffer that is being read.
type source struct {
	buffer int
	in     *capture.Capture
	next   record.Record // an event; its bytes are those of the page until the next one is read
	done   bool

	lost  map[int]int64 // by CPU: events that were lost since its last one; -1: not known how many
	begun bool          // there was an event
}

// advance goes to the next event of a buffer. After the last one, or at damage, the buffer is done.
func (s *source) advance() error {
	for {
		switch err := s.in.Next(&s.next); {
		case err != nil:
			s.done = true
			err = errors.Join(err, s.in.Close())
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case s.next.Kind == record.Lost:
			s.lose(s.next.CPU, s.next.Count)
		case s.next.Type != nil:
			s.begun = true
			return nil
		}
	}
}

// lose counts events that were lost on a CPU; a count of 0 is not known.
func (s *source) lose(cpu int, n uint64) {
	const most = 1 << 60 // what a damaged file claims beyond that is no count
	if was := s.lost[cpu]; n == 0 || n > most || was < 0 || was > most {
		s.lost[cpu] = -1
	} else {
		s.lost[cpu] = was + int64(n)
	}
}

// together are the buffers whose times can be compared with those of the first one that has
// pages, and what to say of those that are left out. A file of trace-cmd 2 does not say the
// clock of an instance; trace-cmd takes it to be that of the top buffer.
func together(file *tracedat.File) (buffers []int, notes []string) {
	for i := range file.Buffers {
		b := &file.Buffers[i]
		if len(b.CPUs) == 0 {
			continue
		}
		if len(buffers) > 0 {
			first := &file.Buffers[buffers[0]]
			if b.Clock != first.Clock && b.Clock != "" && first.Clock != "" {
				notes = append(notes, fmt.Sprintf("%s has the clock %q, and %s has %q: their times cannot be compared, so the events of the former are shown only alone",
					called(b), b.Clock, called(first), first.Clock))
				continue
			}
		}
		buffers = append(buffers, i)
	}
	return buffers, notes
}

// called is what a sentence calls a buffer.
func called(b *tracedat.Buffer) string {
	if b.Name == "" {
		return "the top buffer"
	}
	return fmt.Sprintf("the instance %q", b.Name)
}
