package tracecmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// comms are the names of tasks: of saved_cmdlines, and of records of scheduling.
//
// Up to the first look-up of a task that is not idle a name is only noted, and one pid
// may get several; which of them it has then is what halving the sorted list hits.
// After it the first name stays.
type comms struct {
	noted []comm // nil after the first look-up
	byPID map[int32]string
}

type comm struct {
	pid  int32
	name string
}

// parse reads saved_cmdlines up to the first line that is none.
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

// maxComms bounds the names that are learned from events.
//
// Departure: trace-cmd has no bound.
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

// settle sorts what is noted, the latest first among equals.
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
