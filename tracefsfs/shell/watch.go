package shell

import (
	"fmt"
	"strings"
	"time"
)

// pictureTime is how long a picture of watch stays on a terminal at least, of real time:
// two simulated seconds can be over in less than one can see.
const pictureTime = 250 * time.Millisecond

// watch runs a command again and again.
func watch(c *call) int {
	args, every := c.Args, "2"
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch {
		case args[0] == "-n" && len(args) > 1:
			every, args = args[1], args[2:]
		case strings.HasPrefix(args[0], "-n"):
			every, args = args[0][2:], args[1:]
		case args[0] == "--":
			args = args[1:]
		default:
			return c.Usage("option %s is not in the lab", args[0])
		}
	}
	interval, ok := sleepTime(every, false)
	if !ok || interval < time.Millisecond {
		return c.Usage("-n wants seconds, .001 or more")
	}
	if len(args) == 0 {
		return c.Usage("usage: watch [-n seconds] command…")
	}
	text := strings.Join(args, " ")
	for {
		picture := time.NewTimer(pictureTime)
		clearScreen(c)
		fmt.Fprintf(c.Stdout.W, "Every %vs: %s\n\n", interval.Seconds(), text)
		c.shell(text, "sh", []string{"--"})
		if c.sh.drawsOn(c.Stdout.W) {
			select {
			case <-picture.C:
			case <-c.Ctx.Done():
			}
		}
		picture.Stop()
		if c.sh.timeline.sleepFor(c.Ctx, c.sh.timeline.jobOf(c.env), interval) != nil {
			return 1
		}
	}
}
