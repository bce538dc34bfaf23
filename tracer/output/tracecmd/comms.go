package tracecmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// comms are the names of tasks, from saved_cmdlines and from the records of scheduler
// events.
//
// Until the first look-up of a task other than the idle task, names are only noted, so
// a pid may have several. At that look-up, a binary search in the sorted list decides
// which name a pid gets. Later names are taken only for pids that have none.
type comms struct {
	noted []comm // the names before the first look-up; then nil
	byPID map[int32]string
}

type comm struct {
	pid  int32
	name string
}

// parse reads saved_cmdlines up to the first line that does not fit.
func (c *comms) parse(text []byte) {
	for line := range strings.Lines(string(text)) {
		number, name, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		var pid int32
		if _, err := fmt.Sscan(number, &pid); err != nil || name == "" {
			return
		}
		c.add(pid, name)
	}
}

// maxComms is how many names are kept at most.
//
// Departure: trace-cmd has no such limit.
const maxComms = 1 << 18

func (c *comms) add(pid int32, name string) {
	if c.byPID == nil {
		c.noted = append(c.noted, comm{pid, name})
	} else if _, known := c.byPID[pid]; !known && len(c.byPID) < maxComms {
		c.byPID[pid] = name
	}
}

func (c *comms) name(pid int32) string {
	if pid == 0 {
		return "<idle>"
	}
	if c.byPID == nil {
		c.settle()
	}
	if name, ok := c.byPID[pid]; ok {
		return name
	}
	return "<...>"
}

// settle gives each pid its name. It sorts what was noted, the latest first for each
// pid.
func (c *comms) settle() {
	list := c.noted
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b comm) int { return cmp.Compare(a.pid, b.pid) })
	c.byPID = map[int32]string{}
	for _, e := range list {
		low, high := 0, len(list)
		for {
			mid := (low + high) / 2
			if list[mid].pid == e.pid {
				c.byPID[e.pid] = list[mid].name
				break
			}
			if e.pid < list[mid].pid {
				high = mid
			} else {
				low = mid + 1
			}
		}
	}
	c.noted = nil
}
