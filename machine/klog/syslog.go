package klog

import (
	"fmt"
	"syscall"
)

// Actions of syslog(2).
//
// Kernel: include/linux/syslog.h.
const (
	actionClose        = 0
	actionOpen         = 1
	actionReadAll      = 3
	actionReadClear    = 4
	actionClear        = 5
	actionConsoleOff   = 6
	actionConsoleOn    = 7
	actionConsoleLevel = 8
	actionSize         = 10
)

// Syslog is syslog(2): it does something to the log, or returns the text of its last records,
// at most size bytes, or a number. size is the level for the action that sets it. Errors:
// EINVAL for actions and sizes that there are not.
//
// Departure: the actions 2 and 9, with which a daemon reads each message once, are EPERM.
//
// Kernel: do_syslog.
func (l *Log) Syslog(action, size int) (text []byte, n int, err error) {
	switch action {
	case actionClose, actionOpen:
	case actionReadAll, actionReadClear:
		if size < 0 {
			return nil, 0, fmt.Errorf("syslog: %d bytes: %w", size, syscall.EINVAL)
		}
		text = l.tail(size)
		if action == actionReadClear && size > 0 {
			l.Clear()
		}
		return text, len(text), nil
	case actionClear:
		l.Clear()
	case actionConsoleOff, actionConsoleOn:
		l.SetConsole(action == actionConsoleOn)
	case actionConsoleLevel:
		return nil, 0, l.SetConsoleLevel(size)
	case actionSize:
		return nil, dataSize, nil
	case 2, 9:
		return nil, 0, fmt.Errorf("syslog: action %d: %w", action, syscall.EPERM)
	default:
		return nil, 0, fmt.Errorf("syslog: no action %d: %w", action, syscall.EINVAL)
	}
	return nil, 0, nil
}

// tail gives as many of the last records that are not hidden as have room in size bytes.
//
// Kernel: syslog_print_all and find_first_fitting_seq.
func (l *Log) tail(size int) (text []byte) {
	var ends []int // of each record
	for seq := l.Cleared(); ; {
		r, ok := l.Next(seq)
		if !ok {
			break
		}
		seq = r.Seq + 1
		text = r.AppendSyslog(text)
		ends = append(ends, len(text))
	}
	skip := 0
	for _, end := range ends {
		if len(text)-skip <= size {
			break
		}
		skip = end
	}
	return text[skip:]
}
