package shell

import (
	"context"
	"fmt"
	"strings"

	"ftracelab/internal/userland/tool"

	"mvdan.cc/sh/v3/expand"
)

// The variables by which a command knows which background job it belongs to.
// A job's name is the way to it from the first shell: /2/1 is the first job of
// its second job. The interpreter numbers the jobs of each shell the same way
// ($! is g1, g2 …) and has no other identity for them.
const (
	jobName  = "_ftracelab_job"
	jobCount = "_ftracelab_jobs"
)

// job is a background job. It is made when first named, be it by kill or by one
// of its own commands.
type job struct {
	ctx    context.Context
	cancel context.CancelFunc
}

func (sh *Shell) job(name string) *job {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	j, ok := sh.jobs[name]
	if !ok {
		j = &job{}
		j.ctx, j.cancel = context.WithCancel(context.Background())
		sh.jobs[name] = j
	}
	return j
}

// jobContext is ctx, ending also when the command's job is killed.
func (sh *Shell) jobContext(ctx context.Context, env expand.Environ) (context.Context, func()) {
	name := env.Get(jobName).String()
	if name == "" {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(sh.job(name).ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// killed: was the job that env belongs to killed?
func (sh *Shell) killed(env expand.Environ) bool {
	name := env.Get(jobName).String()
	return name != "" && sh.job(name).ctx.Err() != nil
}

// kill is the command: it ends background jobs of this shell.
func kill(c *call) int {
	args := c.Args
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "--" {
		if args[0] == "-l" || args[0] == "-0" {
			return c.Usage("%s is not in the lab", args[0])
		}
		if args[0] == "-s" && len(args) > 1 {
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return c.Usage("usage: kill JOB…, where JOB is $! or %%N")
	}
	status := 0
	for _, arg := range args {
		n := strings.TrimLeft(arg, "g%")
		count := tool.ToInt(c.env.Get(jobCount).String())
		if n == arg || tool.ToInt(n) < 1 || tool.ToInt(n) > count {
			fmt.Fprintf(c.Stderr, "kill: %s: no such job of this shell\n", arg)
			status = 1
			continue
		}
		c.sh.job(c.env.Get(jobName).String() + "/" + n).cancel()
	}
	return status
}
