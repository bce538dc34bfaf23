package shell

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"ftracelab/internal/userland/tool"
)

// sleep lets simulated time pass: seconds, or microseconds as usleep.
func sleep(c *call) int {
	if len(c.Args) == 0 {
		return c.Usage("missing operand")
	}
	var total time.Duration
	for _, arg := range c.Args {
		d, ok := sleepTime(arg, c.Name == "usleep")
		if !ok {
			return c.Usage("invalid time interval '%s'", arg)
		}
		total += d
	}
	c.Stdout.Flush()
	if err := c.sh.timeline.sleepFor(c.Ctx, c.sh.timeline.jobOf(c.env), total); err != nil {
		if c.Ctx.Err() == nil {
			fmt.Fprintf(c.Stderr, "%s: %v\n", c.Name, err)
		}
		return 1
	}
	return 0
}

// sleepTime parses 1, .5, 2m.
func sleepTime(s string, micro bool) (time.Duration, bool) {
	unit := time.Second
	if micro {
		unit = time.Microsecond
	} else if s != "" {
		units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}
		if u, ok := units[s[len(s)-1]]; ok {
			unit, s = u, s[:len(s)-1]
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n >= 0) || n*float64(unit) > 1<<62 {
		return 0, false
	}
	return time.Duration(n * float64(unit)), true
}

// date is about simulated time.
func date(c *call) int {
	now := time.Unix(0, 0)
	if c.sh.cfg.Now != nil {
		now = c.sh.cfg.Now()
	}
	now = now.UTC()
	format := "+%a %b %e %H:%M:%S UTC %Y"
	for _, arg := range c.Args {
		switch {
		case strings.HasPrefix(arg, "+"):
			format = arg
		case arg != "-u":
			return c.Usage("%s is not in the lab", arg)
		}
	}
	var b strings.Builder
	for i := 1; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		text, ok := dateField(now, format[i])
		if !ok {
			return c.Usage("%%%c is not in the lab", format[i])
		}
		b.WriteString(text)
	}
	c.Printf("%s\n", b.String())
	return 0
}

func dateField(t time.Time, field byte) (string, bool) {
	layouts := map[byte]string{'Y': "2006", 'm': "01", 'd': "02", 'e': "_2", 'H': "15", 'M': "04", 'S': "05", 'a': "Mon", 'b': "Jan", 'T': "15:04:05", 'F': "2006-01-02", 'y': "06", 'j': "002", 'Z': "MST"}
	switch field {
	case 's':
		return fmt.Sprint(t.Unix()), true
	case 'N':
		return fmt.Sprintf("%09d", t.Nanosecond()), true
	case 'n':
		return "\n", true
	case '%':
		return "%", true
	}
	layout, ok := layouts[field]
	return t.Format(layout), ok
}

func uname(c *call) int {
	opts, _, ok := c.Options("amnrsvpio")
	if !ok {
		return 1
	}
	if len(opts) == 0 {
		opts = []tool.Option{{Flag: 's'}}
	}
	fields := []struct {
		flag byte
		text string
	}{{'s', "Linux"}, {'n', hostname}, {'r', kernelRelease}, {'v', "#1 SMP PREEMPT_DYNAMIC"}, {'m', "x86_64"}, {'o', "GNU/Linux"}}
	var parts []string
	for _, f := range fields {
		if slices.ContainsFunc(opts, func(o tool.Option) bool { return o.Flag == f.flag || o.Flag == 'a' }) {
			parts = append(parts, f.text)
		}
	}
	c.Printf("%s\n", strings.Join(parts, " "))
	return 0
}

func id(c *call) int {
	opts, _, ok := c.Options("ugnGr")
	if !ok {
		return 1
	}
	switch {
	case len(opts) == 0:
		c.Printf("uid=0(root) gid=0(root) groups=0(root)\n")
	case slices.ContainsFunc(opts, func(o tool.Option) bool { return o.Flag == 'n' }):
		c.Printf("root\n")
	default:
		c.Printf("0\n")
	}
	return 0
}

func nproc(c *call) int {
	c.Printf("%d\n", max(c.sh.cfg.CPUs, 1))
	return 0
}

func hostnameCommand(c *call) int {
	c.Printf("%s\n", hostname)
	return 0
}

func umask(c *call) int {
	if len(c.Args) == 0 {
		c.Printf("0022\n")
	}
	return 0
}

// random is $RANDOM; see rewrite.
func random(c *call) int {
	c.sh.mu.Lock()
	defer c.sh.mu.Unlock()
	c.Printf("%d\n", c.sh.random.IntN(32768))
	return 0
}

func envCommand(c *call) int {
	if len(c.Args) > 0 {
		return c.Usage("running a command with an environment is not in the lab: use VAR=value command")
	}
	for _, kv := range c.environ() {
		if !strings.HasPrefix(kv, jobName) && !strings.HasPrefix(kv, jobCount) {
			c.Printf("%s\n", kv)
		}
	}
	return 0
}

func basename(c *call) int {
	if len(c.Args) < 1 {
		return c.Usage("missing operand")
	}
	base := path.Base(c.Args[0])
	if len(c.Args) > 1 && base != c.Args[1] {
		base = strings.TrimSuffix(base, c.Args[1])
	}
	c.Printf("%s\n", base)
	return 0
}

func dirname(c *call) int {
	return c.eachName(c.Args, "", func(name string) error {
		c.Printf("%s\n", path.Dir(strings.TrimRight(name, "/")))
		return nil
	})
}

func realpath(c *call) int {
	_, names, ok := c.Options("fmesq")
	if !ok {
		return 1
	}
	return c.eachName(names, "", func(name string) error {
		c.Printf("%s\n", c.path(name))
		return nil
	})
}
