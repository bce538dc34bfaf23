package shell

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"ftracelab/internal/userland/awk"
	"ftracelab/internal/userland/sed"
	"ftracelab/internal/userland/tool"
)

// sedCommand is sed's command line.
func sedCommand(c *call) int {
	opts, files, ok := c.Options("nEre:f:suz")
	if !ok {
		return 1
	}
	var o sed.Options
	var scripts []string
	for _, opt := range opts {
		switch opt.Flag {
		case 'n':
			o.Quiet = true
		case 'E', 'r':
			o.Extended = true
		case 'e':
			scripts = append(scripts, opt.Arg)
		case 'f':
			if c.EachLine([]string{opt.Arg}, func(l string) bool { scripts = append(scripts, l); return true }) != 0 {
				return 1
			}
		case 's', 'z':
			return c.Usage("option -%c is not in the lab", opt.Flag)
		}
	}
	if len(scripts) == 0 {
		if len(files) == 0 {
			return c.Usage("usage: sed [-nE] script [file…]")
		}
		scripts, files = files[:1], files[1:]
	}
	program, err := sed.Parse(scripts, o)
	if err != nil {
		fmt.Fprintln(c.Stderr, err)
		return 1
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	status := 0
	var inputs []io.Reader
	for _, name := range files {
		f, err := c.Open(name)
		if err != nil {
			fmt.Fprintf(c.Stderr, "sed: can't read %s: %s\n", name, tool.Reason(err))
			status = 2
			continue
		}
		defer f.Close()
		inputs = append(inputs, c.Waiting(f))
	}
	code, err := program.Run(c.Ctx, sed.Config{Inputs: inputs, Stdout: c.Stdout})
	if err != nil && !c.Stopped() {
		fmt.Fprintf(c.Stderr, "sed: %s\n", tool.Reason(err))
		return 4
	}
	return max(code, status)
}

// awkCommand is awk's command line.
func awkCommand(c *call) int {
	args := c.Args
	cfg := awk.Config{Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Wait: c.Stdout.FlushForReader}
	program, given := "", false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		flag, value := args[0][1], args[0][2:]
		args = args[1:]
		if flag == '-' {
			break
		}
		if value == "" {
			if len(args) == 0 {
				return c.Usage("option -%c wants an argument", flag)
			}
			value, args = args[0], args[1:]
		}
		switch flag {
		case 'F':
			cfg.FS = value
		case 'v':
			name, v, ok := strings.Cut(value, "=")
			if !ok {
				return c.Usage("-v wants var=value")
			}
			cfg.Assign = append(cfg.Assign, [2]string{name, v})
		case 'f':
			text, err := c.sh.readFile(c.Ctx, c.path(value))
			if err != nil {
				c.Fail(value, err)
				return 2
			}
			program, given = program+text+"\n", true
		default:
			return c.Usage("option -%c is not in the lab", flag)
		}
	}
	if !given {
		if len(args) == 0 {
			return c.Usage("usage: awk [-F fs] [-v var=value] program [file…]")
		}
		program, args = args[0], args[1:]
	}
	prog, err := awk.Parse(program)
	if err != nil {
		fmt.Fprintln(c.Stderr, err)
		return 2
	}
	cfg.Args = args
	cfg.Open = func(name string) (io.ReadCloser, error) {
		f, err := c.Open(name)
		if err != nil {
			return nil, errors.New(tool.Reason(err))
		}
		return f, nil
	}
	cfg.Environ = map[string]string{}
	for _, kv := range c.environ() {
		name, v, _ := strings.Cut(kv, "=")
		cfg.Environ[name] = v
	}
	status, err := prog.Run(c.Ctx, cfg)
	if err != nil && !c.Stopped() {
		fmt.Fprintln(c.Stderr, err)
		return 2
	}
	return status
}
