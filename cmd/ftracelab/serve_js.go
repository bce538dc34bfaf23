package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall/js"
	"time"

	"github.com/spf13/cobra"

	"ftracelab/lab/lessons"
	"ftracelab/lab/timeline"
	"ftracelab/lab/web/answer"
	"ftracelab/tracefsfs/shell"
)

// serveCommand answers the page in whose worker this program runs.
func serveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "serve", Hidden: true, Args: usageArgs(cobra.NoArgs),
		Run: func(cmd *cobra.Command, _ []string) {
			s := &pageServer{ctx: cmd.Context()}
			calls := answer.Calls()
			for name, call := range map[string]answer.Call{
				"lessons": s.lessons, "lesson": s.lesson, "judge": s.judge, "run": s.run,
				"shell": s.shell, "type": s.typed, "resize": s.resize,
				"timeline": s.openTimeline, "columns": s.columns, "rows": s.rows, "search": s.search, "filter": s.filter, "periods": s.periods,
			} {
				calls[name] = call
			}
			answer.Serve(calls)
		},
	}
}

// pageServer is what the page can ask of the whole program.
type pageServer struct {
	ctx    context.Context
	screen *pageScreen
	line   *timeline.Timeline
}

// say tells the page something of its own accord.
func say(kind, text string) { js.Global().Call("ftracelabSay", kind, text) }

func (s *pageServer) lessons([]string) (any, error) {
	type row struct {
		Number  int    `json:"number"`
		Title   string `json:"title"`
		Minutes int    `json:"minutes"`
		Goal    string `json:"goal"`
	}
	var all []row
	for _, l := range lessons.All() {
		all = append(all, row{l.Number, l.Title, l.Minutes, l.Goal})
	}
	return all, nil
}

func findLesson(args []string) (*lessons.Lesson, error) {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return nil, fmt.Errorf("%q is not the number of a lesson", args[0])
	}
	return lessons.Find(n)
}

func (s *pageServer) lesson(args []string) (any, error) {
	l, err := findLesson(args)
	if err != nil {
		return nil, err
	}
	return l.Page(s.ctx, bootLesson)
}

func (s *pageServer) judge(args []string) (any, error) {
	l, err := findLesson(args)
	if err != nil {
		return nil, err
	}
	return l.Judge(s.ctx, bootLesson, args[1], args[2])
}

// run runs a command line, and gives what it printed and the files that its flags named
// below /tmp, as the page has no other way to them.
func (s *pageServer) run(args []string) (any, error) {
	var stdout bytes.Buffer
	var stderr tellingBuffer
	status := run(s.ctx, args, strings.NewReader(""), &stdout, &stderr)
	r := struct {
		Status int               `json:"status"`
		Stdout string            `json:"stdout"`
		Stderr string            `json:"stderr"`
		Files  map[string]string `json:"files"`
	}{status, stdout.String(), stderr.String(), map[string]string{}}
	for _, a := range args {
		if text, err := os.ReadFile(a); err == nil && strings.HasSuffix(a, ".html") {
			r.Files[a] = string(text)
			_ = os.Remove(a)
		}
	}
	return r, nil
}

// tellingBuffer keeps what is written, and tells the page at once.
type tellingBuffer struct{ bytes.Buffer }

func (b *tellingBuffer) Write(p []byte) (int, error) {
	say("stderr", string(p))
	return b.Buffer.Write(p)
}

// shell is an interactive session on the page's terminal: columns, lines, and the lines
// of earlier sessions. It answers with the status of the shell.
func (s *pageServer) shell(args []string) (any, error) {
	if s.screen != nil {
		return nil, errors.New("there is a shell already")
	}
	s.screen = newPageScreen()
	if _, err := s.resize(args[:2]); err != nil {
		return nil, err
	}
	f := shellFlags{memory: shell.DefaultMemory}
	f.lab = labFlags{cpus: defaultCPUs, seed: 1, preset: "documented", fprobe: "6.12", own: true, console: s.screen, wait: shell.WaitForTime}
	l, err := f.lab.build("")
	if err != nil {
		return nil, err
	}
	cfg := l.shellConfig(f.lab.cpus)
	cfg.Screen, cfg.Stdin, cfg.Stdout, cfg.Stderr, cfg.Terminal = s.screen, s.screen, s.screen, s.screen, s.screen
	cfg.Seed = f.lab.seed
	cfg.History = strings.Split(strings.TrimSpace(args[2]), "\n")
	cfg.Keep = func(line string) { say("history", line) }
	last := time.Now()
	cfg.Command = func([]string) {
		// While Go runs, the browser cannot tell what was typed.
		if time.Since(last) > 100*time.Millisecond {
			time.Sleep(time.Millisecond)
			last = time.Now()
		}
	}
	sh, err := shell.New(cfg)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(s.screen, "seed %d, %d CPUs; help lists the commands, explain says what a thing is\n", f.lab.seed, f.lab.cpus)
	return sh.Interactive(s.ctx)
}

func (s *pageServer) typed(args []string) (any, error) {
	if s.screen != nil {
		s.screen.typed(args[0])
	}
	return nil, nil
}

func (s *pageServer) resize(args []string) (any, error) {
	w, err1 := strconv.Atoi(args[0])
	h, err2 := strconv.Atoi(args[1])
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if s.screen != nil {
		s.screen.width, s.screen.height = w, h
	}
	return nil, nil
}
