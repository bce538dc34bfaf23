package shell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Task is a task of the machine, as ps shows it.
type Task struct {
	PID, PPID int
	Comm      string
	State     byte // R, S, D …
	Kernel    bool // it is a kernel thread
	CPU       int  // where it runs or last ran
	Runtime   time.Duration
	Started   time.Duration // since the machine started
	Scheduling
}

// stat is ps's column STAT.
func (t *Task) stat() string {
	s := string(t.State)
	switch {
	case t.Nice < 0:
		s += "<"
	case t.Nice > 0:
		s += "N"
	}
	return s
}

func (t *Task) command() string {
	if t.Kernel {
		return "[" + t.Comm + "]"
	}
	return t.Comm
}

func (t *Task) realTime() bool { return t.Policy == schedFIFO || t.Policy == schedRR }

// class is ps's column CLS.
func (t *Task) class() string {
	return []string{"TS", "FF", "RR", "B", "?", "IDL", "DLN"}[t.Policy]
}

// clock is time on a CPU as ps writes it.
func clock(d time.Duration) string {
	s := int(d / time.Second)
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}

// percent is how much of its life a task ran.
func (t *Task) percent(now time.Duration) float64 {
	if now <= t.Started {
		return 0
	}
	return 100 * float64(t.Runtime) / float64(now-t.Started)
}

// psColumn is what -o can ask for.
type psColumn struct {
	head  string
	width int // negative: left-justified
	text  func(t *Task, now time.Duration) string
}

var psColumns = map[string]psColumn{
	"pid":    {"PID", 7, func(t *Task, _ time.Duration) string { return strconv.Itoa(t.PID) }},
	"ppid":   {"PPID", 7, func(t *Task, _ time.Duration) string { return strconv.Itoa(t.PPID) }},
	"user":   {"USER", -8, func(*Task, time.Duration) string { return "root" }},
	"uid":    {"UID", -8, func(*Task, time.Duration) string { return "root" }},
	"tty":    {"TTY", -8, func(*Task, time.Duration) string { return "?" }},
	"stat":   {"STAT", -4, func(t *Task, _ time.Duration) string { return t.stat() }},
	"state":  {"S", 1, func(t *Task, _ time.Duration) string { return string(t.State) }},
	"psr":    {"PSR", 3, func(t *Task, _ time.Duration) string { return strconv.Itoa(t.CPU) }},
	"cls":    {"CLS", 3, func(t *Task, _ time.Duration) string { return t.class() }},
	"time":   {"TIME", 8, func(t *Task, _ time.Duration) string { return clock(t.Runtime) }},
	"%cpu":   {"%CPU", 4, func(t *Task, now time.Duration) string { return fmt.Sprintf("%.1f", t.percent(now)) }},
	"comm":   {"COMMAND", -15, func(t *Task, _ time.Duration) string { return t.Comm }},
	"args":   {"COMMAND", -15, func(t *Task, _ time.Duration) string { return t.command() }},
	"rtprio": {"RTPRIO", 6, func(t *Task, _ time.Duration) string { return orDash(t.realTime(), t.Priority) }},
	"ni":     {"NI", 3, func(t *Task, _ time.Duration) string { return orDash(t.Policy == 0 || t.Policy == 3, t.Nice) }},
}

// psNames are other names of the columns.
var psNames = map[string]string{
	"cmd": "args", "command": "args", "pcpu": "%cpu", "s": "state", "nice": "ni", "policy": "cls", "class": "cls", "cputime": "time", "tname": "tty", "cpuid": "psr", "ucmd": "comm", "tid": "pid", "lwp": "pid", "tgid": "pid",
}

func orDash(is bool, n int) string {
	if is {
		return strconv.Itoa(n)
	}
	return "-"
}

// ps lists the tasks of the machine. Without -e or the like, that is the shell's own.
//
// Departure: a task's memory is not known, so %MEM, VSZ and RSS are missing.
func ps(c *call) int {
	columns := []string{"pid", "tty", "time", "comm"}
	all, heads, chosen := false, true, false
	var pids []int
	var comms []string
	args := c.Args
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		value := func() (v string) {
			if len(args) > 0 {
				v, args = args[0], args[1:]
			}
			return v
		}
		switch {
		case arg == "-o" || arg == "-eo" || arg == "-Ao" || arg == "o":
			all = all || arg[1:] == "eo" || arg[1:] == "Ao"
			columns, heads, chosen = columns[:0], false, true
			for _, name := range strings.FieldsFunc(value(), func(r rune) bool { return r == ',' || r == ' ' }) {
				name, head, renamed := strings.Cut(name, "=")
				if to, ok := psNames[name]; ok {
					name = to
				}
				if _, ok := psColumns[name]; !ok {
					return c.Usage("unknown user-defined format specifier \"%s\"", name)
				}
				columns = append(columns, name)
				heads = heads || !renamed || head != ""
			}
		case arg == "-p" || arg == "p" || arg == "--pid":
			for _, word := range strings.FieldsFunc(value(), func(r rune) bool { return r == ',' || r == ' ' }) {
				pid, err := strconv.Atoi(word)
				if err != nil {
					return c.Usage("process ID list syntax error")
				}
				pids, all = append(pids, pid), true
			}
		case arg == "-C":
			comms, all = append(comms, value()), true
		case strings.Trim(arg, "-eAdfFlLjH") == "" && strings.HasPrefix(arg, "-"):
			all = all || strings.ContainsAny(arg, "eAd")
			if strings.ContainsAny(arg, "fFl") {
				columns = []string{"uid", "pid", "ppid", "psr", "tty", "time", "args"}
			}
		case strings.Trim(strings.TrimPrefix(arg, "-"), "auxwf") == "":
			all = true
			if strings.Contains(arg, "u") {
				chosen = true // its heading is COMMAND
				columns = []string{"user", "pid", "%cpu", "tty", "stat", "time", "args"}
			}
		default:
			return c.Usage("option %s is not in the lab", arg)
		}
	}
	tasks := c.tasks()
	if !all {
		tasks = tasks[:1]
	}
	slices.SortFunc(tasks, func(a, b Task) int { return a.PID - b.PID })
	shown := 0
	now := c.sh.timeline.time()
	if heads {
		c.Printf("%s\n", psRow(columns, func(p psColumn) string {
			if p.head == "COMMAND" && !chosen {
				return "CMD"
			}
			return p.head
		}))
	}
	for _, t := range tasks {
		if len(pids) > 0 && !slices.Contains(pids, t.PID) || len(comms) > 0 && !slices.Contains(comms, t.Comm) {
			continue
		}
		shown++
		c.Printf("%s\n", psRow(columns, func(p psColumn) string { return p.text(&t, now) }))
	}
	if shown == 0 {
		return 1
	}
	return 0
}

func psRow(columns []string, text func(psColumn) string) string {
	var b strings.Builder
	for n, name := range columns {
		p := psColumns[name]
		if n > 0 {
			b.WriteByte(' ')
		}
		if n == len(columns)-1 && p.width < 0 {
			b.WriteString(text(p))
			break
		}
		fmt.Fprintf(&b, "%*s", p.width, text(p))
	}
	return b.String()
}

// tasks gives the shell itself and the tasks of the machine.
func (c *call) tasks() []Task {
	list := []Task{{PID: PID, PPID: 1, Comm: "sh", State: 'S'}}
	if m := c.sh.cfg.Machine; m != nil {
		list = append(list, m.Tasks()...)
	}
	return list
}

// top shows once what top -b -n 1 does: the tasks that ran longest come first.
func top(c *call) int {
	tasks, now := c.tasks(), c.sh.timeline.time()
	slices.SortStableFunc(tasks, func(a, b Task) int { return int(b.Runtime - a.Runtime) })
	states := map[byte]int{}
	for _, t := range tasks {
		states[t.State]++
	}
	c.Printf("top - up %s, %d CPUs\n", now.Truncate(time.Millisecond), max(c.sh.cfg.CPUs, 1))
	c.Printf("Tasks: %3d total, %3d running, %3d sleeping\n\n", len(tasks), states['R'], len(tasks)-states['R'])
	c.Printf("%7s %-8s %3s %3s %s  %%CPU     TIME+ COMMAND\n", "PID", "USER", "PR", "NI", "S")
	for _, t := range tasks {
		prio := strconv.Itoa(20 + t.Nice)
		switch {
		case t.realTime() && t.Priority == 99:
			prio = "rt"
		case t.realTime():
			prio = strconv.Itoa(-1 - t.Priority)
		}
		hundredths := int(t.Runtime / (10 * time.Millisecond))
		c.Printf("%7d %-8s %3s %3d %c %5.1f %3d:%02d.%02d %s\n", t.PID, "root", prio, t.Nice, t.State, t.percent(now),
			hundredths/6000, hundredths/100%60, hundredths%100, t.Comm)
	}
	return 0
}

// pgrep gives the pids of the tasks whose comm contains a text.
func pgrep(c *call) int {
	opts, words, ok := c.Options("xlf")
	if !ok || len(words) != 1 {
		return 2
	}
	exact, long := false, false
	for _, o := range opts {
		exact, long = exact || o.Flag == 'x', long || o.Flag == 'l'
	}
	status := 1
	for _, t := range c.tasks() {
		switch {
		case exact && t.Comm != words[0] || !strings.Contains(t.Comm, words[0]):
			continue
		case long:
			c.Printf("%d %s\n", t.PID, t.Comm)
		default:
			c.Printf("%d\n", t.PID)
		}
		status = 0
	}
	return status
}
