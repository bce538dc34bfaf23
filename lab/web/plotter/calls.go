package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"ftracelab/budget"
	"ftracelab/lab/timeline"
	"ftracelab/lab/web/answer"
)

// plots is the program's state: the trace.dat that is open.
type plots struct{ line *timeline.Timeline }

// calls are the questions of the page, by their names:
//
//	timeline PATH BUFFER N             opens a trace.dat, reads the first N events and says what it holds; BUFFER is an index of Info.Buffers, or -1: all
//	more N                             reads N events more, and says what there is then
//	columns FROM                       the events as columns
//	rows FROM N                        the texts of events
//	search TEXT FROM BACK FILTER       the next event with a text, or with BACK "true" the one before
//	filter FILTER FROM TO              the events between two indices that a filter keeps
//	periods PID                        when a task ran and waited
//
// FILTER is the JSON of a timeline.Filter.
func (s *plots) calls() map[string]answer.Call {
	return map[string]answer.Call{
		"timeline": words(3, s.openTimeline), "more": s.opened(1, s.more), "columns": s.opened(1, s.columns), "rows": s.opened(2, s.rows),
		"search": s.opened(4, s.search), "filter": s.opened(3, s.filter), "periods": s.opened(1, s.periods),
	}
}

// words checks how many arguments there are.
func words(n int, call answer.Call) answer.Call {
	return func(args []string) (any, error) {
		if len(args) != n {
			return nil, fmt.Errorf("plotter: %d arguments, not %d", len(args), n)
		}
		return call(args)
	}
}

// opened also checks that a file is open.
func (s *plots) opened(n int, call answer.Call) answer.Call {
	return words(n, func(args []string) (any, error) {
		if s.line == nil {
			return nil, errors.New("no trace.dat is open")
		}
		return call(args)
	})
}

// openTimeline opens a trace.dat for the other questions, reads its first events, and says
// what it holds. If it cannot, the one before stays open.
func (s *plots) openTimeline(args []string) (any, error) {
	buffer, n, err := numbers(args[1], args[2])
	if err != nil {
		return nil, err
	}
	t, err := timeline.Begin(args[0], buffer, budget.New(memory))
	if err != nil {
		return nil, err
	}
	if _, err := t.More(n); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	if s.line != nil {
		err = s.line.Close()
	}
	s.line = t
	return t.Info(), err
}

// numbers are two arguments that are numbers.
func numbers(a, b string) (int, int, error) {
	x, err1 := strconv.Atoi(a)
	y, err2 := strconv.Atoi(b)
	return x, y, errors.Join(err1, err2)
}

func (s *plots) more(args []string) (any, error) {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return nil, err
	}
	if _, err := s.line.More(n); err != nil {
		return nil, err
	}
	return s.line.Info(), nil
}

// memory is what a file may take of the 4 GiB that a program in a page can have.
const memory = 1 << 30

func (s *plots) columns(args []string) (any, error) {
	from, err := strconv.Atoi(args[0])
	if err != nil {
		return nil, err
	}
	return answer.Bytes(s.line.Columns(from)), nil
}

func (s *plots) rows(args []string) (any, error) {
	from, n, err := numbers(args[0], args[1])
	if err != nil {
		return nil, err
	}
	return s.line.Rows(from, n)
}

func (s *plots) search(args []string) (any, error) {
	from, err := strconv.Atoi(args[1])
	if err != nil {
		return nil, err
	}
	var f timeline.Filter
	if err := json.Unmarshal([]byte(args[3]), &f); err != nil {
		return nil, err
	}
	return s.line.Find(args[0], from, args[2] == "true", f)
}

func (s *plots) filter(args []string) (any, error) {
	var f timeline.Filter
	if err := json.Unmarshal([]byte(args[0]), &f); err != nil {
		return nil, err
	}
	from, to, err := numbers(args[1], args[2])
	if err != nil {
		return nil, err
	}
	kept, err := s.line.Filter(f, from, to)
	return answer.Bytes(timeline.Pack(kept)), err
}

func (s *plots) periods(args []string) (any, error) {
	pid, err := strconv.ParseInt(args[0], 10, 32)
	if err != nil {
		return nil, err
	}
	return s.line.Periods(int32(pid)), nil
}
