package report

import (
	"context"
	"errors"
	"testing"

	"ftracelab/tracer/record"
)

// endless gives the records of another source for ever, and ends a context on the way.
type endless struct {
	records []record.Record
	n, end  int // end the context at the end-th record
	cancel  func()
}

func (e *endless) Next(r *record.Record) error {
	if e.n++; e.n == e.end {
		e.cancel()
	}
	*r = e.records[e.n%len(e.records)]
	return nil
}

// TestEstimateEnds: a source that does not end is asked for no more than a batch of
// records once the context has ended.
func TestEstimateEnds(t *testing.T) {
	for _, end := range []int{1, 2, batchRecords, batchRecords + 1, 20*batchRecords + 7} {
		ctx, cancel := context.WithCancel(t.Context())
		s := &endless{records: small().records, end: end, cancel: cancel}
		if _, err := Estimate(ctx, s, Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("end at %d: %v", end, err)
		}
		if more := s.n - end; more > batchRecords {
			t.Errorf("end at %d: %d records more", end, more)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Estimate(ended, small(), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended before: %v", err)
	}
}
