package shell

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Commands that run another command in a way of their own. The lab's shell is root's
// already, and has no terminal that could hang up.

// su is su and sudo: whoever asks becomes root, who they are.
func su(c *call) int {
	args := c.Args
	for len(args) > 0 {
		switch {
		case c.Name == "su" && args[0] == "-c" && len(args) > 1:
			return c.onward([]string{"sh", "-c", args[1]})
		case c.Name == "su" && (args[0] == "-" || args[0] == "root"),
			strings.HasPrefix(args[0], "-") && args[0] != "-u":
			args = args[1:]
		case args[0] == "-u" && len(args) > 1 && args[1] == "root":
			args = args[2:]
		case args[0] == "-u" || c.Name == "su":
			return c.Usage("there is no user but root in the lab")
		case strings.Contains(args[0], "=") && !strings.HasPrefix(args[0], "/"):
			return c.Usage("running a command with an environment is not in the lab: use VAR=value command")
		default:
			return c.onward(args)
		}
	}
	return 0 // a new shell of root would be like the old one
}

// nohup runs a command, which gets no SIGHUP here in any case.
func nohup(c *call) int {
	if len(c.Args) == 0 {
		return c.Usage("missing operand")
	}
	return c.onward(c.Args)
}

// timeout runs a command, and ends it when so much simulated time is over.
//
// Departure: the command ends when it next waits for time; it gets no signal.
func timeout(c *call) int {
	args := c.Args
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		takes := args[0] == "-s" || args[0] == "-k"
		if takes && len(args) > 1 {
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) < 2 {
		return c.Usage("want a duration and a command")
	}
	d, ok := sleepTime(args[0], false)
	if !ok {
		return c.Usage("invalid time interval '%s'", args[0])
	}
	limited := *c
	if d > 0 { // timeout 0 is none
		var done func()
		limited.Ctx, done = c.sh.timeline.alarm(c.Ctx, d)
		defer done()
	}
	status := limited.onward(args[1:])
	if limited.Ctx.Err() != nil && c.Ctx.Err() == nil {
		return 124
	}
	return status
}

// alarm gives a context that ends when so much time is over. done takes it back.
func (tl *timeline) alarm(ctx context.Context, d time.Duration) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	tl.mu.Lock()
	defer tl.mu.Unlock()
	a := &alarm{at: tl.now() + d, ring: cancel}
	tl.alarms[a] = true
	return ctx, func() {
		tl.mu.Lock()
		defer tl.mu.Unlock()
		delete(tl.alarms, a)
		cancel()
	}
}

// alarm is something that happens at a time.
type alarm struct {
	at   time.Duration
	ring func()
}

// sysctl reads and writes files below /proc/sys.
func sysctl(c *call) int {
	values, write, quiet := false, false, false
	var names []string
	for _, arg := range c.Args {
		switch arg {
		case "-n":
			values = true
		case "-w":
			write = true
		case "-q":
			quiet = true
		case "-a":
			return c.Usage("-a is not in the lab: ls /proc/sys/kernel /proc/sys/debug")
		default:
			names = append(names, arg)
		}
	}
	if len(names) == 0 {
		return c.Usage("want -w, a name and =VALUE, or a name")
	}
	status := 0
	for _, arg := range names {
		name, value, assigns := strings.Cut(arg, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		file := "/proc/sys/" + strings.ReplaceAll(name, ".", "/")
		var err error
		switch {
		case assigns:
			err = c.writeFile(file, value+"\n")
		case write:
			return c.Usage("\"%s\" must be of the form name=value", arg)
		default:
			value, err = c.sh.readFile(c.Ctx, file)
			value = strings.TrimRight(value, "\n")
		}
		switch {
		case err != nil:
			c.Fail(fmt.Sprintf("cannot stat %s", file), err)
			status = 1
		case values && !assigns:
			c.Printf("%s\n", value)
		case !quiet:
			c.Printf("%s = %s\n", name, value)
		}
	}
	return status
}

// writeFile writes a file in one write.
func (c *call) writeFile(name, text string) error {
	f, err := c.Create(name, false)
	if err != nil {
		return err
	}
	if _, err := f.Write([]byte(text)); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
