package main

import (
	"encoding/json"
	"errors"
	"strconv"

	"ftracelab/budget"
	"ftracelab/lab/timeline"
	"ftracelab/lab/web/answer"
)

// openTimeline reads a trace.dat for the other questions, and says what it holds.
func (s *pageServer) openTimeline(args []string) (any, error) {
	if s.line != nil {
		if err := s.line.Close(); err != nil {
			return nil, err
		}
		s.line = nil
	}
	t, err := timeline.Open(args[0], budget.New(pageMemory))
	if err != nil {
		return nil, err
	}
	s.line = t
	return t.Info(), nil
}

// pageMemory is what a file may take of the 4 GiB that a program in a page can have.
const pageMemory = 1 << 30

var errNoTimeline = errors.New("no trace.dat is open")

func (s *pageServer) columns([]string) (any, error) {
	if s.line == nil {
		return nil, errNoTimeline
	}
	return answer.Bytes(s.line.Columns()), nil
}

func (s *pageServer) rows(args []string) (any, error) {
	if s.line == nil {
		return nil, errNoTimeline
	}
	from, err1 := strconv.Atoi(args[0])
	n, err2 := strconv.Atoi(args[1])
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return s.line.Rows(from, n)
}

func (s *pageServer) search(args []string) (any, error) {
	if s.line == nil {
		return nil, errNoTimeline
	}
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

func (s *pageServer) filter(args []string) (any, error) {
	if s.line == nil {
		return nil, errNoTimeline
	}
	var f timeline.Filter
	if err := json.Unmarshal([]byte(args[0]), &f); err != nil {
		return nil, err
	}
	kept, err := s.line.Filter(f)
	return answer.Bytes(timeline.Pack(kept)), err
}

func (s *pageServer) periods(args []string) (any, error) {
	if s.line == nil {
		return nil, errNoTimeline
	}
	pid, err := strconv.ParseInt(args[0], 10, 32)
	if err != nil {
		return nil, err
	}
	return s.line.Periods(int32(pid)), nil
}
