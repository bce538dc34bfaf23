package shell

import (
	"context"
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

// job is a background job.
type job struct {
	name    string
	text    string          // what was typed; "" if it is no job that is told of
	killed  bool            // it did not end by itself
	ctx     context.Context // ends when the job is killed
	cancel  context.CancelFunc
	script  context.Context // that of the script which began it
	blocked int             // how many of its processes wait for time or for other jobs
	calls   int             // commands since it waited last
}

// over is a job that has ended, or never was.
var over = func() *job {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return &job{ctx: ctx, cancel: cancel, script: ctx}
}()

// job gives the job of that name that runs; over if none does.
func (tl *timeline) job(name string) *job {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	if j, ok := tl.jobs[name]; ok {
		return j
	}
	return over
}

// jobOf gives the background job that env belongs to, and nil for the foreground.
func (tl *timeline) jobOf(env expand.Environ) *job {
	name := env.Get(jobName).String()
	for { // a shell within a job is part of it
		at := strings.LastIndexAny(name, "/:")
		if at < 0 || name[at] == '/' {
			break
		}
		name = name[:at]
	}
	if name == "" {
		return nil
	}
	return tl.job(name)
}

// begin notes that a job begins.
func (tl *timeline) begin(ctx context.Context, name, text string) {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	j := &job{name: name, text: text, script: ctx}
	j.ctx, j.cancel = context.WithCancel(context.Background())
	tl.jobs[name] = j
}

// end notes that a job has ended.
func (tl *timeline) end(j *job) {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	j.killed = j.ctx.Err() != nil
	j.cancel()
	if tl.jobs[j.name] == j {
		delete(tl.jobs, j.name)
		tl.ended = append(tl.ended[max(len(tl.ended)+1-maxEnded, 0):], j)
	}
	tl.tell()
}

// maxEnded is how many jobs that have ended are remembered.
const maxEnded = 64

// idle reports whether no job runs.
func (tl *timeline) idle() bool {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	return len(tl.jobs) == 0
}

// ofShell gives the jobs of the shell whose jobs' names begin with prefix: those that
// run, and those that have ended, of which nobody was told before.
func (tl *timeline) ofShell(prefix string) (run, ended []*job) {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	mine := func(j *job) bool {
		rest, below := strings.CutPrefix(j.name, prefix)
		return below && !strings.ContainsAny(rest, "/:") && j.text != ""
	}
	for _, j := range tl.jobs {
		if mine(j) && j.script.Err() == nil {
			run = append(run, j)
		}
	}
	tl.ended = slices.DeleteFunc(tl.ended, func(j *job) bool {
		if mine(j) {
			ended = append(ended, j)
			return true
		}
		return false
	})
	return run, ended
}
