package shell

import (
	"fmt"
	"slices"
	"strings"

	"ftracelab/internal/userland/tool"

	"mvdan.cc/sh/v3/expand"
)

// The variables by which a command knows which background job it belongs to.
// A job's name is the way to it from the first shell: /2/1 is the first job of
// its second job. A shell that another one starts (sh -c) has a number of its own:
// /2:7/1 is the first job of the shell 7 in the job /2. The interpreter numbers the
// jobs of each shell the same way ($! is g1, g2 …) and has no other identity for them.
const (
	jobName  = "_ftracelab_job"
	jobCount = "_ftracelab_jobs"
)

// nextJob is the name of the job that a shell with env begins next, and lastJob that
// of the one which it began last.
func nextJob(env expand.Environ) string { return numberedJob(env, 1) }
func lastJob(env expand.Environ) string { return numberedJob(env, 0) }

func numberedJob(env expand.Environ, more int) string {
	return fmt.Sprintf("%s/%d", env.Get(jobName).String(), tool.ToInt(env.Get(jobCount).String())+more)
}

// jobsCommand tells of the background jobs of this shell: those that run, and once of
// each that has ended.
func jobsCommand(c *call) int {
	prefix := c.env.Get(jobName).String() + "/"
	run, ended := c.sh.timeline.ofShell(prefix)
	number := func(j *job) int { return tool.ToInt(strings.TrimPrefix(j.name, prefix)) }
	all := append(run, ended...)
	slices.SortFunc(all, func(a, b *job) int { return number(a) - number(b) })
	for _, j := range all {
		state := "Running"
		switch {
		case j.killed:
			state = "Terminated"
		case slices.Contains(ended, j):
			state = "Done"
		}
		c.Printf("[%d]  %-22s  %s\n", number(j), state, j.text)
	}
	return 0
}

// killed: was the job that env belongs to killed?
func (sh *Shell) killed(env expand.Environ) bool {
	j := sh.timeline.jobOf(env)
	return j != nil && j.ctx.Err() != nil
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
		c.sh.timeline.job(c.env.Get(jobName).String() + "/" + n).cancel()
	}
	return status
}
