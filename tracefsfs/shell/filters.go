package shell

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"ftracelab/internal/userland/awk"
	"ftracelab/internal/userland/sed"
)

// sedCommand is sed's command line.
func sedCommand(c *call) int {
	opts, files, ok := c.options("nEre:f:suz")
	if !ok {
		return 1
	}
	var o sed.Options
	var scripts []string
	for _, opt := range opts {
		switch opt.flag {
		case 'n':
			o.Quiet = true
		case 'E', 'r':
			o.Extended = true
		case 'e':
			scripts = append(scripts, opt.arg)
		case 'f':
			if c.eachLine([]string{opt.arg}, func(l string) bool { scripts = append(scripts, l); return true }) != 0 {
				return 1
			}
		case 's', 'z':
			return c.usage("option -%c is not in the lab", opt.flag)
		}
	}
	if len(scripts) == 0 {
		if len(files) == 0 {
			return c.usage("usage: sed [-nE] script [file…]")
		}
		scripts, files = files[:1], files[1:]
	}
	program, err := sed.Parse(scripts, o)
	if err != nil {
		fmt.Fprintln(c.stderr, err)
		return 1
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	status := 0
	var inputs []io.Reader
	for _, name := range files {
		f, err := c.open(name)
		if err != nil {
			fmt.Fprintf(c.stderr, "sed: can't read %s: %s\n", name, reason(err))
			status = 2
			continue
		}
		defer f.Close()
		inputs = append(inputs, c.waiting(f))
	}
	code, err := program.Run(c.ctx, sed.Config{Inputs: inputs, Stdout: c.stdout})
	if err != nil && !c.stopped() {
		fmt.Fprintf(c.stderr, "sed: %s\n", reason(err))
		return 4
	}
	return max(code, status)
}

// awkCommand is awk's command line.
func awkCommand(c *call) int {
	args := c.args
	cfg := awk.Config{Stdin: c.stdin, Stdout: c.stdout, Stderr: c.stderr, Wait: c.stdout.flushForReader}
	program, given := "", false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		flag, value := args[0][1], args[0][2:]
		args = args[1:]
		if flag == '-' {
			break
		}
		if value == "" {
			if len(args) == 0 {
				return c.usage("option -%c wants an argument", flag)
			}
			value, args = args[0], args[1:]
		}
		switch flag {
		case 'F':
			cfg.FS = value
		case 'v':
			name, v, ok := strings.Cut(value, "=")
			if !ok {
				return c.usage("-v wants var=value")
			}
			cfg.Assign = append(cfg.Assign, [2]string{name, v})
		case 'f':
			text, err := c.sh.readFile(c.ctx, c.path(value))
			if err != nil {
				c.fail(value, err)
				return 2
			}
			program, given = program+text+"\n", true
		default:
			return c.usage("option -%c is not in the lab", flag)
		}
	}
	if !given {
		if len(args) == 0 {
			return c.usage("usage: awk [-F fs] [-v var=value] program [file…]")
		}
		program, args = args[0], args[1:]
	}
	prog, err := awk.Parse(program)
	if err != nil {
		fmt.Fprintln(c.stderr, err)
		return 2
	}
	cfg.Args = args
	cfg.Open = func(name string) (io.ReadCloser, error) {
		f, err := c.open(name)
		if err != nil {
			return nil, errors.New(reason(err))
		}
		return f, nil
	}
	cfg.Environ = map[string]string{}
	for _, kv := range c.environ() {
		name, v, _ := strings.Cut(kv, "=")
		cfg.Environ[name] = v
	}
	status, err := prog.Run(c.ctx, cfg)
	if err != nil && !c.stopped() {
		fmt.Fprintln(c.stderr, err)
		return 2
	}
	return status
}
