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
//	timeline PATH BUFFER               opens a trace.dat and says what it holds; BUFFER is -1 or an index of Info.Buffers
//	columns                            the events as columns
//	rows FROM N                        the texts of events
//	search TEXT FROM BACK FILTER       the next event with a text, or with BACK "true" the one before
//	filter FILTER                      the events that a filter keeps
//	periods PID                        when a task ran and waited
//
// FILTER is the JSON of a timeline.Filter.
func (s *plots) calls() map[string]answer.Call {
	return map[string]answer.Call{
		"timeline": words(2, s.openTimeline), "columns": s.opened(0, s.columns), "rows": s.opened(2, s.rows),
		"search": s.opened(4, s.search), "filter": s.opened(1, s.filter), "periods": s.opened(1, s.periods),
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

// openTimeline reads a trace.dat for the other questions, and says what it holds. If it
// cannot, the one before stays open.
func (s *plots) openTimeline(args []string) (any, error) {
	buffer, err := strconv.Atoi(args[1])
	if err != nil {
		return nil, err
	}
	open := timeline.Open
	if buffer >= 0 {
		open = func(path string, memory *budget.Budget) (*timeline.Timeline, error) {
			return timeline.OpenBuffer(path, buffer, memory)
		}
	}
	t, err := open(args[0], budget.New(memory))
	if err != nil {
		return nil, err
	}
	if s.line != nil {
		err = s.line.Close()
	}
	s.line = t
	return t.Info(), err
}

// memory is what a file may take of the 4 GiB that a program in a page can have.
const memory = 1 << 30

func (s *plots) columns([]string) (any, error) { return answer.Bytes(s.line.Columns()), nil }

func (s *plots) rows(args []string) (any, error) {
	from, err1 := strconv.Atoi(args[0])
	n, err2 := strconv.Atoi(args[1])
	if err := errors.Join(err1, err2); err != nil {
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
	kept, err := s.line.Filter(f)
	return answer.Bytes(timeline.Pack(kept)), err
}

func (s *plots) periods(args []string) (any, error) {
	pid, err := strconv.ParseInt(args[0], 10, 32)
	if err != nil {
		return nil, err
	}
	return s.line.Periods(int32(pid)), nil
}
